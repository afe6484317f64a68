"""One system, measured: its rankings, scores, times and sizes as the tables of a cell."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bakeoff.config.modes import MODES, Hybrid
from bakeoff.config.plan import PluginSpec, System
from bakeoff.measures.conventions import Conventions
from bakeoff.measures.names import parse
from bakeoff.pipeline.chunk import ChunkedCorpus
from bakeoff.pipeline.empty_searches import empty_searches_table
from bakeoff.pipeline.loops.latency_check import LatencyCheck
from bakeoff.pipeline.query_executor import QueryExecutor
from bakeoff.pipeline.query_pipeline import SystemAnswers
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.retrieve import StepResult
from bakeoff.pipeline.scoring.inputs import ScoringInputs
from bakeoff.pipeline.scoring.losses import losses_table, stage_candidates
from bakeoff.pipeline.scoring.score import judged_values, score_table
from bakeoff.pipeline.scoring.score_queries import score_queries
from bakeoff.pipeline.scoring.ties import ties_table
from bakeoff.pipeline.system_tables import CELL, CHOICES, PASSAGES, SystemResult
from bakeoff.pipeline.timing import (
    PhaseTime,
    Row,
    ingest_row,
    latency_rows,
    latency_table,
    phase_row,
    phase_time,
    speed_row,
    timings_table,
)
from bakeoff.pipeline.tuning import WeightTuner
from bakeoff.runtime.worker_pool import WorkerPool
from bakeoff.truth.clusters import query_clusters
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.resolve import Truth
from bakeoff.types import RANKINGS, SYSTEMS, Status

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from bakeoff.truth.units import IdOrder

PASSAGE_DEPTH = 10


@dataclass(frozen=True, slots=True)
class SystemTask:
    """What one system is measured with; `tuner` chooses a tuned mode's weights."""

    run: str
    system: System
    queries: QuerySet
    truth: Truth
    measures: tuple[str, ...]
    conventions: Conventions
    tuner: WeightTuner | None = None


def make_system_task(
    run: str,
    system: System,
    queries: QuerySet,
    truth: Truth,
    measures: tuple[str, ...],
    conventions: Conventions,
    query_executor: QueryExecutor,
    seed: int,
) -> SystemTask:
    """What a system is measured with, ready before it is asked anything."""
    task = SystemTask(run, query_executor.shown(system), queries, truth, measures, conventions)
    params, primary = system.mode.params, parse(measures[0])
    if not isinstance(params, Hybrid) or not params.tuned:
        return task

    def value(ranking: StepResult) -> np.ndarray:
        some = _first(task, len(ranking.hits))
        return judged_values(scoring_inputs(some, query_executor, ranking, lambda: None), primary)

    tuner = WeightTuner(
        params,
        query_executor.depth(system),
        value,
        [query.category for query in queries.queries],
        seed,
        higher_is_better=primary.definition.higher_is_better,
        clusters=query_clusters(queries.queries, truth.judgments),
    )
    return replace(task, tuner=tuner)


def measure_system(
    task: SystemTask,
    query_executor: QueryExecutor,
    workers: WorkerPool | None = None,
    told: Callable[[int], None] = lambda _count: None,
    check: LatencyCheck | None = None,
) -> SystemResult:
    """Retrieve, score and time one system; workers score where there are some, and `told` hears of their queries."""
    answers = query_executor.answers(task.system, weigh=task.tuner)
    return _cell(task, query_executor, answers, Status.DONE, "", workers, told, check)


def partial_result(task: SystemTask, query_executor: QueryExecutor, reason: str) -> SystemResult:
    """What a system that failed had measured before: its first queries, or its ingestion; never a zero for the rest."""
    answers = query_executor.partial(task.system, task.tuner)
    if answers is None:
        return failed_result(task.run, task.system, reason, _phases(task.run, task.system, query_executor))
    total = len(task.queries.queries)
    said = f"{reason} ({answers.count} of {total} queries were answered in {len(answers.ranking.milliseconds)} rounds)"
    return _cell(_first(task, answers.count), query_executor, answers, Status.PARTIAL, said)


def failed_result(run: str, system: System, reason: str, phases: Sequence[Row] = ()) -> SystemResult:
    """The row of a system that failed and the phases it went through: no zero stands for unknown."""
    empty = {schema.name: schema.arrow().empty_table() for schema in CELL}
    row = system_row(run, system, Status.FAILED, reason)
    return SystemResult(**{**empty, "systems": row, "timings": timings_table(phases)})


def _cell(
    task: SystemTask,
    query_executor: QueryExecutor,
    answers: SystemAnswers,
    status: Status,
    reason: str,
    workers: WorkerPool | None = None,
    told: Callable[[int], None] = lambda _count: None,
    check: LatencyCheck | None = None,
) -> SystemResult:
    run, system = task.run, task.system
    chunking = query_executor.chunking(system.chunker)
    ids = [query.id for query in task.queries.queries]
    scored = scoring_inputs(
        task, query_executor, answers.ranking, lambda: _neighbours(system, answers, query_executor)
    )
    measures = [parse(name) for name in task.measures]
    steps = stage_candidates(system, answers, query_executor, measures[0])
    marks = score_queries(scored, measures, steps, workers, told)
    times = [*_phases(run, system, query_executor), *latency_rows(run, system.label, answers)]
    times += check.rows(run, system.label) if check is not None else []
    return SystemResult(
        systems=system_row(run, system, status, reason, _sizes(system, query_executor, chunking)),
        scores=score_table(run, system.label, scored, marks.columns, measures),
        timings=timings_table(times),
        latencies=latency_table(run, system.label, ids, answers),
        rankings=_rankings(run, system.label, ids, answers, query_executor.corpus, chunking),
        passages=_passages(answers.ranking, query_executor.corpus, chunking),
        losses=losses_table(run, system.label, ids, marks.reachable),
        ties=ties_table(run, system.label, marks.tied),
        choices=_choices(run, system.label, ids, task.tuner),
        empty_searches=empty_searches_table(run, system, task.queries, answers),
    )


def scoring_inputs(
    task: SystemTask,
    query_executor: QueryExecutor,
    ranking: StepResult,
    neighbours: Callable[[], tuple[StepResult, StepResult] | None],
) -> ScoringInputs:
    """What a ranking of a system's queries is scored with."""
    chunker = task.system.chunker
    return ScoringInputs(
        ranking,
        query_executor.chunking(chunker),
        task.queries,
        task.truth,
        task.conventions,
        lambda: query_executor.tokens(chunker),
        neighbours,
        query_executor.depth(task.system),
        _ids(query_executor, chunker) if task.conventions.order == "score_id" else None,
    )


def _ids(query_executor: QueryExecutor, chunker: PluginSpec) -> IdOrder:
    """Where the ids of documents and chunks come among all in order."""
    from bakeoff.truth.units import IdOrder

    chunks = query_executor.chunking(chunker).chunks
    return IdOrder(_places(query_executor.corpus.documents["id"]), _places(chunks["id"]))


def _places(ids: pa.ChunkedArray) -> np.ndarray:
    import numpy as np
    import pyarrow.compute as pc

    places = np.empty(len(ids), np.int64)
    places[pc.sort_indices(ids).to_numpy()] = np.arange(len(ids))
    return places


def _neighbours(
    system: System, answers: SystemAnswers, query_executor: QueryExecutor
) -> tuple[StepResult, StepResult] | None:
    """What the index found beside what exact search finds; a store that fuses by itself has no such pair."""
    if "dense" not in MODES[system.mode.name].legs:
        return None
    return answers.legs[0], query_executor.reference(system).first(answers.count)


def _first(task: SystemTask, count: int) -> SystemTask:
    """The same for the first queries only."""
    import pyarrow.compute as pc

    queries, truth = task.queries, task.truth
    if count >= len(queries.queries):
        return task
    fewer = replace(queries, queries=queries.queries[:count], rules=queries.rules[:count])
    judgments = truth.judgments.filter(pc.less(truth.judgments["query"], count))
    return replace(task, queries=fewer, truth=replace(truth, judgments=judgments))


def _choices(run: str, system: str, ids: list[str], tuner: WeightTuner | None) -> pa.Table:
    """The weight of each query, and the fold it was not chosen on."""
    choice = tuner.choice if tuner is not None else None
    if choice is None:
        return CHOICES.arrow().empty_table()
    rows = [run] * len(ids), [system] * len(ids), ids, choice.fold[: len(ids)], choice.weight[: len(ids)]
    return CHOICES.table({name: column for (name, _), column in zip(CHOICES.columns, rows, strict=True)})


@dataclass(frozen=True, slots=True)
class SystemSizes:
    """How big a system's index is."""

    chunks: int
    dims: int | None
    index_bytes: int | None
    stand_in: bool


def system_row(
    run: str, system: System, status: Status, reason: str = "", sizes: SystemSizes | None = None
) -> pa.Table:
    """A system's row in the systems table."""
    values = {
        "run": run,
        "system": system.label,
        "chunker": _label(system.chunker),
        "embedder": _label(system.embedder),
        "store": _label(system.store or system.keyword),
        "mode": _label(system.mode),
        "reranker": " · ".join(one.label for one in system.rerank) or None,
        "params": json.dumps(system.identity(), sort_keys=True),
        "status": str(status),
        "reason": reason,
        "chunks": sizes.chunks if sizes else None,
        "dims": sizes.dims if sizes else None,
        "index_bytes": sizes.index_bytes if sizes else None,
        "stand_in": sizes.stand_in if sizes else False,
    }
    return SYSTEMS.table({name: [value] for name, value in values.items()})


def _label(part: PluginSpec | None) -> str | None:
    return part.label if part else None


def _sizes(system: System, query_executor: QueryExecutor, chunking: ChunkedCorpus) -> SystemSizes:
    info = query_executor.embedder(system.embedder).info if system.embedder else None
    parts = [index.bytes for index in query_executor.indexes(system)]
    total = None if None in parts else sum(part or 0 for part in parts)
    return SystemSizes(
        chunking.chunks.num_rows, info.dims if info else None, total, info.stand_in if info else False
    )


def _phases(run: str, system: System, query_executor: QueryExecutor) -> list[Row]:
    """Seconds of each phase of ingestion that came to an end, and of all; an earlier run's are dated."""
    made = query_executor.ingested(system)
    parts = {"read": made.corpus, "chunk": made.chunking, "embed_chunks": made.vectors}
    rows = [
        phase_row(run, system.label, phase, phase_time(part))
        for phase, part in parts.items()
        if part is not None
    ]
    if made.vectors is not None:
        rows.append(speed_row(run, system.label, made.vectors))
    indexes = [index for index in made.indexes if index is not None]
    if made.chunking is None or len(indexes) < len(made.indexes):
        return rows
    count = made.chunking.chunks.num_rows
    for phase in ("insert", "index", "ready"):
        seconds = [getattr(index, f"{phase}_seconds") for index in indexes]
        known = sum(seconds) if all(one is not None for one in seconds) else None
        source = next((index.measured for index in indexes if index.measured), "")
        rows.append(phase_row(run, system.label, phase, PhaseTime(known, count, source=source)))
    return [*rows, ingest_row(run, system.label, rows, made.seconds, count)]


def _rankings(
    run: str,
    label: str,
    query_ids: list[str],
    answers: SystemAnswers,
    corpus: ReadCorpus,
    chunking: ChunkedCorpus,
) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    hits = answers.ranking.hits
    counts = [len(hit.ids) for hit in hits]
    rows = pa.array(np.concatenate([hit.ids for hit in hits]).astype(np.int64))
    chunks = chunking.chunks.select(["id", "doc", "start", "end", "section"]).take(rows)
    total = sum(counts)
    return RANKINGS.table(
        {
            "run": pa.repeat(run, total),
            "system": pa.repeat(label, total),
            "query_id": pa.array(np.repeat(np.array(query_ids, dtype=object), counts), pa.string()),
            "rank": np.concatenate([np.arange(1, count + 1, dtype=np.int32) for count in counts]),
            "chunk_id": chunks["id"],
            "document_id": corpus.documents["id"].take(chunks["doc"]),
            "start": chunks["start"],
            "end": chunks["end"],
            "section": chunks["section"],
            "score": np.concatenate([hit.scores for hit in hits]).astype(np.float64),
        }
    )


def _passages(ranking: StepResult, corpus: ReadCorpus, chunking: ChunkedCorpus) -> pa.Table:
    """The chunks that stand among the first ten of any query, in the order of the corpus."""
    import numpy as np
    import pyarrow as pa

    shown = np.unique(np.concatenate([hit.ids[:PASSAGE_DEPTH] for hit in ranking.hits]).astype(np.int64))
    chunks = chunking.chunks.take(pa.array(shown))
    own = {"chunk_id": chunks["id"], "document_id": corpus.documents["id"].take(chunks["doc"])}
    rest = {name: chunks[name] for name, _ in PASSAGES.columns if name not in own}
    return PASSAGES.table({**own, **rest})
