"""Measures one system: its rankings, scores, times and sizes as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bakeoff.config.modes import Hybrid
from bakeoff.config.plan import PluginSpec, System
from bakeoff.measures.conventions import Conventions
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import Measure, parse
from bakeoff.pipeline.chunk import ChunkedCorpus
from bakeoff.pipeline.embed import ChunkVectors
from bakeoff.pipeline.loops.latency_check import LatencyCheck
from bakeoff.pipeline.query_executor import QueryExecutor
from bakeoff.pipeline.query_pipeline import StepResult, SystemAnswers
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.scoring.assume_placed import assume_placed
from bakeoff.pipeline.scoring.inputs import ScoringInputs
from bakeoff.pipeline.scoring.losses import losses_table, stage_candidates
from bakeoff.pipeline.scoring.score import judged_values, score_table
from bakeoff.pipeline.scoring.score_queries import score_queries
from bakeoff.pipeline.scoring.ties import ties_table
from bakeoff.pipeline.shared_artifacts import SharedArtifacts
from bakeoff.pipeline.system_tables import (
    CELL,
    PLACEMENTS,
    SystemResult,
    SystemSizes,
    choices_table,
    empty_searches_table,
    passages_table,
    placements_table,
    rankings_table,
    system_row,
)
from bakeoff.pipeline.timing import (
    ELSEWHERE,
    INGEST,
    REFERENCE,
    PhaseTime,
    Row,
    ingest_row,
    latency_rows,
    latency_table,
    phase_row,
    phase_time,
    speed_row,
    start_row,
)
from bakeoff.pipeline.tuning import WeightTuner
from bakeoff.runtime.scheduler import WorkerPool
from bakeoff.storage.schemas import TIMINGS
from bakeoff.truth.clusters import query_clusters
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.resolve import Truth
from bakeoff.types import FULL_FORM, Status

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from bakeoff.truth.units import IdOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemTask:
    """The inputs for measuring one system; `tuner` chooses the weights of a tuned mode."""

    run: str
    system: System
    queries: QuerySet
    truth: Truth
    measures: tuple[str, ...]
    conventions: Conventions
    tuner: WeightTuner | None = None


def make_system_task(
    artifacts: SharedArtifacts,
    *,
    run: str,
    system: System,
    queries: QuerySet,
    truth: Truth,
    measures: tuple[str, ...],
    conventions: Conventions,
    seed: int,
) -> SystemTask:
    """Collect the inputs for measuring a system, before its first query."""
    task = SystemTask(
        run=run,
        system=artifacts.with_stand_in_label(system),
        queries=queries,
        truth=truth,
        measures=measures,
        conventions=conventions,
    )
    params, primary = system.mode.params, parse(measures[0])
    if not isinstance(params, Hybrid) or not params.tuned:
        return task

    def score(ranking: StepResult) -> np.ndarray:
        return judged_values(scoring_inputs(_first(task, len(ranking.hits)), artifacts, ranking), primary)

    tuner = WeightTuner(
        params,
        artifacts.ranking_depth(system),
        score,
        [query.category for query in queries.queries],
        seed,
        higher_is_better=primary.definition.higher_is_better,
        clusters=query_clusters(queries.queries, truth.judgments, corpus=artifacts.corpus.documents.num_rows),
    )
    return replace(task, tuner=tuner)


def measure_system(
    task: SystemTask,
    executor: QueryExecutor,
    answers: SystemAnswers,
    *,
    check: LatencyCheck | None = None,
    workers: WorkerPool | None = None,
    on_progress: Callable[[int], None] = lambda _count: None,
    status: Status = Status.DONE,
    reason: str = "",
) -> SystemResult:
    """Build a system's tables from its answers; workers score if there are any."""
    run, system, artifacts = task.run, task.system, executor.artifacts
    ids = [query.id for query in task.queries.queries]
    measures = [parse(name) for name in task.measures]
    placed = _assume_placed(task, artifacts, answers.ranking, measures[0])
    chunking = artifacts.chunking(system.chunker)
    scored = scoring_inputs(task, artifacts, answers.ranking, lambda: _neighbours(system, answers, executor))
    steps = stage_candidates(system, answers, executor, measures[0], placed)
    scores = score_queries(scored, measures, steps, workers, on_progress)
    times = [*_phases(run, system, artifacts), *latency_rows(run, system.label, answers)]
    times += check.rows(run, system.label) if check is not None else []
    if unknown := executor.unknown_reference(system):
        times.append((run, system.label, REFERENCE, "queries", None, 0, unknown))
    return SystemResult(
        systems=system_row(run, system, status, reason, _sizes(system, artifacts, chunking)),
        scores=score_table(run, system.label, scored, scores.columns, measures),
        timings=TIMINGS.table_of_rows(times),
        latencies=latency_table(run, system.label, ids, answers),
        rankings=rankings_table(run, system.label, ids, answers, artifacts.corpus, chunking),
        passages=passages_table(answers.ranking, artifacts.corpus, chunking),
        losses=losses_table(run, system.label, ids, scores.reachable),
        ties=ties_table(run, system.label, scores.tied),
        choices=choices_table(run, system.label, ids, task.tuner.choice if task.tuner else None),
        empty_searches=empty_searches_table(run, system, ids, answers),
        placements=_placements(task, artifacts, placed, measures[0]),
    )


def _assume_placed(
    task: SystemTask, artifacts: SharedArtifacts, ranking: StepResult, primary: Measure
) -> StepResult | None:
    """A retriever's ranking as if every result outside the corpus were right; None for other systems."""
    part = task.system.retriever
    if part is None:
        return None
    passages = artifacts.retrievers.passages(part)
    passages.require_placed()
    return assume_placed(ranking, passages, task.truth.judgments, primary.unit, task.conventions)


def _placements(
    task: SystemTask, artifacts: SharedArtifacts, placed: StepResult | None, primary: Measure
) -> pa.Table:
    """How a retriever's results were placed in the corpus; empty for other systems."""
    part = task.system.retriever
    if part is None or placed is None:
        return PLACEMENTS.arrow().empty_table()
    judged = primary.needs is RequiredInput.JUDGMENTS
    high = judged_values(scoring_inputs(task, artifacts, placed), primary) if judged else None
    ids = [query.id for query in task.queries.queries]
    return placements_table(
        task.run, task.system.label, ids, artifacts.retrievers.passages(part).answers, high
    )


def partial_result(task: SystemTask, executor: QueryExecutor, reason: str) -> SystemResult:
    """Return what a system measured before it failed: its first queries, or its ingestion; the rest is never
    zero."""
    answers = executor.partial_answers(task.system, task.tuner)
    if answers is None:
        phases = _phases(task.run, task.system, executor.artifacts)
        return failed_result(task.run, task.system, reason, phases)
    total, rounds = len(task.queries.queries), len(answers.ranking.milliseconds)
    reason = f"{reason} ({answers.count} of {total} queries were answered in {rounds} rounds)"
    first = _first(task, answers.count)
    return measure_system(first, executor, answers, status=Status.PARTIAL, reason=reason)


def failed_result(run: str, system: System, reason: str, phases: Sequence[Row] = ()) -> SystemResult:
    """The row of a failed system, with the phases it completed; unknown values stay null, not zero."""
    empty = {schema.name: schema.arrow().empty_table() for schema in CELL}
    row = system_row(run, system, Status.FAILED, reason)
    return SystemResult(**{**empty, "systems": row, "timings": TIMINGS.table_of_rows(phases)})


def scoring_inputs(
    task: SystemTask,
    artifacts: SharedArtifacts,
    ranking: StepResult,
    neighbours: Callable[[], tuple[StepResult, StepResult] | None] = lambda: None,
) -> ScoringInputs:
    """Collect what a ranking of a system's queries is scored with."""
    chunker = task.system.chunker
    return ScoringInputs(
        ranking=ranking,
        chunking=artifacts.chunking(chunker),
        queries=task.queries,
        truth=task.truth,
        conventions=task.conventions,
        tokens=lambda: artifacts.tokens(chunker),
        neighbours=neighbours,
        depth=artifacts.ranking_depth(task.system),
        ids=_id_order(artifacts, chunker) if task.conventions.order == "score_id" else None,
    )


def _id_order(artifacts: SharedArtifacts, chunker: PluginSpec) -> IdOrder:
    """Positions of document and chunk ids in sorted order."""
    from bakeoff.truth.units import IdOrder

    chunks = artifacts.chunking(chunker).chunks
    return IdOrder(_places(artifacts.corpus.documents["id"]), _places(chunks["id"]))


def _places(ids: pa.ChunkedArray) -> np.ndarray:
    import numpy as np
    import pyarrow.compute as pc

    places = np.empty(len(ids), np.int64)
    places[pc.sort_indices(ids).to_numpy()] = np.arange(len(ids))
    return places


def _neighbours(
    system: System, answers: SystemAnswers, executor: QueryExecutor
) -> tuple[StepResult, StepResult] | None:
    """Results of the index and of exact search; None if unknown or if the store fuses its own searches."""
    exact = executor.reference(system) if system.has_reference else None
    return (answers.searches[0], exact.first(answers.count)) if exact is not None else None


def _first(task: SystemTask, count: int) -> SystemTask:
    """The task restricted to its first queries."""
    import pyarrow.compute as pc

    queries, truth = task.queries, task.truth
    if count >= len(queries.queries):
        return task
    fewer = replace(queries, queries=queries.queries[:count], rules=queries.rules[:count])
    judgments = truth.judgments.filter(pc.less(truth.judgments["query"], count))
    return replace(task, queries=fewer, truth=replace(truth, judgments=judgments))


def _sizes(system: System, artifacts: SharedArtifacts, chunking: ChunkedCorpus) -> SystemSizes:
    info = artifacts.models.model(system.embedder, system.chunker).info if system.embedder else None
    dense = (
        info.dims if info is not None and system.embedder and system.embedder.kind == "embedders" else None
    )
    parts = [index.bytes for index in artifacts.indexes(system)]
    stored_bytes = artifacts.kept_bytes(system)
    total = None if None in parts or not parts else sum(part or 0 for part in parts) + stored_bytes
    chunks = chunking.chunks.num_rows if chunking.whole else None
    return SystemSizes(
        chunks,
        (system.form.dims or info.dims) if info else None,
        total,
        info.stand_in if info else False,
        system.form.vector_bytes(dense) if dense else None,
        FULL_FORM.vector_bytes(dense) if dense else None,
    )


def _phases(run: str, system: System, artifacts: SharedArtifacts) -> list[Row]:
    """Seconds of each completed ingestion phase and of the whole; phases from earlier runs are dated."""
    if system.retriever is not None or (system.store is not None and system.store.existing is not None):
        return [(run, system.label, INGEST, "seconds", None, 0, ELSEWHERE)]
    timings = artifacts.ingestion_timings(system)
    stages: dict[str, tuple[ReadCorpus | ChunkedCorpus | ChunkVectors | None, ...]] = {
        "read": (timings.corpus,),
        "chunk": (timings.chunking,),
        "embed_chunks": (timings.vectors, *timings.encoded),
    }
    parts_by_phase = {phase: [part for part in parts if part is not None] for phase, parts in stages.items()}
    rows = [
        phase_row(run, system.label, phase, phase_time(*parts))
        for phase, parts in parts_by_phase.items()
        if parts
    ]
    if timings.vectors is not None:
        rows.append(start_row(run, system.label, timings.model_start))
        rows.append(speed_row(run, system.label, timings.vectors))
    indexes = [index for index in timings.indexes if index is not None]
    if timings.chunking is None or len(indexes) < len(timings.indexes):
        return rows
    count = timings.chunking.chunks.num_rows
    for phase in ("insert", "index", "ready"):
        seconds = [getattr(index, f"{phase}_seconds") for index in indexes]
        total = sum(seconds) if all(one is not None for one in seconds) else None
        source = next((index.measured for index in indexes if index.measured), "")
        rows.append(phase_row(run, system.label, phase, PhaseTime(total, count, source=source)))
    return [*rows, ingest_row(run, system.label, rows, timings.seconds, count)]
