"""One system, measured: its rankings, scores, times and sizes as the tables of a cell."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bakeoff.blocks import Helpers
from bakeoff.measures.conventions import Conventions
from bakeoff.measures.names import parse
from bakeoff.modes import MODES, Hybrid
from bakeoff.plan import Part, System
from bakeoff.stages.chunk import Chunking
from bakeoff.stages.empty_searches import empty_searches_table
from bakeoff.stages.judged import Scored
from bakeoff.stages.kitchen import Kitchen
from bakeoff.stages.latency_check import LatencyCheck
from bakeoff.stages.losses import losses_table, reaches
from bakeoff.stages.marking import mark
from bakeoff.stages.read import Corpus
from bakeoff.stages.retrieve import Leg
from bakeoff.stages.score import judged_values, score_table
from bakeoff.stages.serving import Answers
from bakeoff.stages.system_tables import CELL, CHOICES, PASSAGES, Cell
from bakeoff.stages.ties import ties_table
from bakeoff.stages.timing import (
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
from bakeoff.stages.tuning import Tuner
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
class Measuring:
    """What one system is measured with; `tuner` chooses a tuned mode's weights."""

    run: str
    system: System
    queries: QuerySet
    truth: Truth
    measures: tuple[str, ...]
    conventions: Conventions
    tuner: Tuner | None = None


def measuring(
    run: str,
    system: System,
    queries: QuerySet,
    truth: Truth,
    measures: tuple[str, ...],
    conventions: Conventions,
    kitchen: Kitchen,
    seed: int,
) -> Measuring:
    """What a system is measured with, ready before it is asked anything."""
    task = Measuring(run, kitchen.shown(system), queries, truth, measures, conventions)
    params, primary = system.mode.params, parse(measures[0])
    if not isinstance(params, Hybrid) or not params.tuned:
        return task

    def value(ranking: Leg) -> np.ndarray:
        some = _first(task, len(ranking.hits))
        return judged_values(scoring_inputs(some, kitchen, ranking, lambda: None), primary)

    tuner = Tuner(
        params,
        kitchen.depth(system),
        value,
        [query.category for query in queries.queries],
        seed,
        higher_is_better=primary.definition.higher_is_better,
        clusters=query_clusters(queries.queries, truth.judgments),
    )
    return replace(task, tuner=tuner)


def measure(
    task: Measuring,
    kitchen: Kitchen,
    workers: Helpers | None = None,
    told: Callable[[int], None] = lambda _count: None,
    check: LatencyCheck | None = None,
) -> Cell:
    """Retrieve, score and time one system; workers score where there are some, and `told` hears of their queries."""
    answers = kitchen.answers(task.system, weigh=task.tuner)
    return _cell(task, kitchen, answers, Status.DONE, "", workers, told, check)


def faulty_cell(task: Measuring, kitchen: Kitchen, reason: str) -> Cell:
    """What a system that failed had measured before: its first queries, or its ingestion; never a zero for the rest."""
    answers = kitchen.partial(task.system, task.tuner)
    if answers is None:
        return failed_cell(task.run, task.system, reason, _phases(task.run, task.system, kitchen))
    total = len(task.queries.queries)
    said = f"{reason} ({answers.count} of {total} queries were answered in {len(answers.ranking.milliseconds)} rounds)"
    return _cell(_first(task, answers.count), kitchen, answers, Status.PARTIAL, said)


def failed_cell(run: str, system: System, reason: str, phases: Sequence[Row] = ()) -> Cell:
    """The row of a system that failed and the phases it went through: no zero stands for unknown."""
    empty = {schema.name: schema.arrow().empty_table() for schema in CELL}
    row = system_row(run, system, Status.FAILED, reason)
    return Cell(**{**empty, "systems": row, "timings": timings_table(phases)})


def _cell(
    task: Measuring,
    kitchen: Kitchen,
    answers: Answers,
    status: Status,
    reason: str,
    workers: Helpers | None = None,
    told: Callable[[int], None] = lambda _count: None,
    check: LatencyCheck | None = None,
) -> Cell:
    run, system = task.run, task.system
    chunking = kitchen.chunking(system.chunker)
    ids = [query.id for query in task.queries.queries]
    scored = scoring_inputs(task, kitchen, answers.ranking, lambda: _neighbours(system, answers, kitchen))
    measures = [parse(name) for name in task.measures]
    steps = reaches(system, answers, kitchen, measures[0])
    marks = mark(scored, measures, steps, workers, told)
    times = [*_phases(run, system, kitchen), *latency_rows(run, system.label, answers)]
    times += check.rows(run, system.label) if check is not None else []
    return Cell(
        systems=system_row(run, system, status, reason, _sizes(system, kitchen, chunking)),
        scores=score_table(run, system.label, scored, marks.columns, measures),
        timings=timings_table(times),
        latencies=latency_table(run, system.label, ids, answers),
        rankings=_rankings(run, system.label, ids, answers, kitchen.corpus, chunking),
        passages=_passages(answers.ranking, kitchen.corpus, chunking),
        losses=losses_table(run, system.label, ids, marks.reachable),
        ties=ties_table(run, system.label, marks.tied),
        choices=_choices(run, system.label, ids, task.tuner),
        empty_searches=empty_searches_table(run, system, task.queries, answers),
    )


def scoring_inputs(
    task: Measuring, kitchen: Kitchen, ranking: Leg, neighbours: Callable[[], tuple[Leg, Leg] | None]
) -> Scored:
    """What a ranking of a system's queries is scored with."""
    chunker = task.system.chunker
    return Scored(
        ranking,
        kitchen.chunking(chunker),
        task.queries,
        task.truth,
        task.conventions,
        lambda: kitchen.tokens(chunker),
        neighbours,
        kitchen.depth(task.system),
        _ids(kitchen, chunker) if task.conventions.order == "score_id" else None,
    )


def _ids(kitchen: Kitchen, chunker: Part) -> IdOrder:
    """Where the ids of documents and chunks come among all in order."""
    from bakeoff.truth.units import IdOrder

    chunks = kitchen.chunking(chunker).chunks
    return IdOrder(_places(kitchen.corpus.documents["id"]), _places(chunks["id"]))


def _places(ids: pa.ChunkedArray) -> np.ndarray:
    import numpy as np
    import pyarrow.compute as pc

    places = np.empty(len(ids), np.int64)
    places[pc.sort_indices(ids).to_numpy()] = np.arange(len(ids))
    return places


def _neighbours(system: System, answers: Answers, kitchen: Kitchen) -> tuple[Leg, Leg] | None:
    """What the index found beside what exact search finds; a store that fuses by itself has no such pair."""
    if "dense" not in MODES[system.mode.name].legs:
        return None
    return answers.legs[0], kitchen.reference(system).first(answers.count)


def _first(task: Measuring, count: int) -> Measuring:
    """The same for the first queries only."""
    import pyarrow.compute as pc

    queries, truth = task.queries, task.truth
    if count >= len(queries.queries):
        return task
    fewer = replace(queries, queries=queries.queries[:count], rules=queries.rules[:count])
    judgments = truth.judgments.filter(pc.less(truth.judgments["query"], count))
    return replace(task, queries=fewer, truth=replace(truth, judgments=judgments))


def _choices(run: str, system: str, ids: list[str], tuner: Tuner | None) -> pa.Table:
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


def _label(part: Part | None) -> str | None:
    return part.label if part else None


def _sizes(system: System, kitchen: Kitchen, chunking: Chunking) -> SystemSizes:
    info = kitchen.embedder(system.embedder).info if system.embedder else None
    parts = [index.bytes for index in kitchen.indexes(system)]
    total = None if None in parts else sum(part or 0 for part in parts)
    return SystemSizes(
        chunking.chunks.num_rows, info.dims if info else None, total, info.stand_in if info else False
    )


def _phases(run: str, system: System, kitchen: Kitchen) -> list[Row]:
    """Seconds of each phase of ingestion that came to an end, and of all; an earlier run's are dated."""
    made = kitchen.ingested(system)
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
    run: str, label: str, query_ids: list[str], answers: Answers, corpus: Corpus, chunking: Chunking
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


def _passages(ranking: Leg, corpus: Corpus, chunking: Chunking) -> pa.Table:
    """The chunks that stand among the first ten of any query, in the order of the corpus."""
    import numpy as np
    import pyarrow as pa

    shown = np.unique(np.concatenate([hit.ids[:PASSAGE_DEPTH] for hit in ranking.hits]).astype(np.int64))
    chunks = chunking.chunks.take(pa.array(shown))
    own = {"chunk_id": chunks["id"], "document_id": corpus.documents["id"].take(chunks["doc"])}
    rest = {name: chunks[name] for name, _ in PASSAGES.columns if name not in own}
    return PASSAGES.table({**own, **rest})
