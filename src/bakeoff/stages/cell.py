"""One system, measured: its rankings, scores, times and sizes as the tables of a cell."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.measures.conventions import Conventions
from bakeoff.measures.names import parse
from bakeoff.plan import Part, System
from bakeoff.results import CELL, PASSAGES, Cell
from bakeoff.stages.chunk import Chunking
from bakeoff.stages.index import Index
from bakeoff.stages.judged import Scored
from bakeoff.stages.kitchen import Answers, Kitchen
from bakeoff.stages.losses import losses
from bakeoff.stages.read import Corpus
from bakeoff.stages.retrieve import Leg
from bakeoff.stages.score import score
from bakeoff.stages.ties import ties
from bakeoff.stages.timing import Row, latency_rows, latency_table, phase_row, timings_table
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.resolve import Truth
from bakeoff.types import RANKINGS, SYSTEMS, Status

if TYPE_CHECKING:
    import pyarrow as pa

PASSAGE_DEPTH = 10


@dataclass(frozen=True, slots=True)
class Measuring:
    """What one system is measured with."""

    run: str
    system: System
    queries: QuerySet
    truth: Truth
    measures: tuple[str, ...]
    conventions: Conventions


def measure(task: Measuring, kitchen: Kitchen) -> Cell:
    """Retrieve, score and time one system."""
    system = task.system
    answers = kitchen.answers(system)
    chunking = kitchen.chunking(system.chunker)
    ids = [query.id for query in task.queries.queries]
    scored = Scored(
        answers.ranking,
        chunking,
        task.queries,
        task.truth,
        task.conventions,
        lambda: kitchen.tokens(system.chunker),
        lambda: (answers.legs[0], kitchen.reference(system)) if system.store else None,
    )
    return Cell(
        systems=system_row(task.run, system, Status.DONE, sizes=_sizes(system, kitchen, chunking)),
        scores=score(task.run, system.label, scored, task.measures),
        timings=timings_table(
            [*_phases(task.run, system, kitchen), *latency_rows(task.run, system.label, answers)]
        ),
        latencies=latency_table(task.run, system.label, ids, answers),
        rankings=_rankings(task.run, system.label, ids, answers, kitchen.corpus, chunking),
        passages=_passages(answers.ranking, kitchen.corpus, chunking),
        ties=ties(task.run, system.label, scored, task.measures),
        losses=losses(task.run, system, scored, answers, kitchen, parse(task.measures[0])),
    )


def failed_cell(run: str, system: System, reason: str) -> Cell:
    """The row of a system that failed, and nothing else: no zero stands for unknown."""
    empty = {schema.name: schema.arrow().empty_table() for schema in CELL}
    return Cell(**{**empty, "systems": system_row(run, system, Status.FAILED, reason)})


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
        "reranker": _label(system.reranker),
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


def _indexes(system: System, kitchen: Kitchen) -> list[Index]:
    found = []
    if system.store is not None:
        found.append(kitchen.index(system.store, system.chunker, system.embedder))
    if system.keyword is not None:
        found.append(kitchen.index(system.keyword, system.chunker, None))
    return found


def _sizes(system: System, kitchen: Kitchen, chunking: Chunking) -> SystemSizes:
    info = kitchen.embedder(system.embedder).info if system.embedder else None
    parts = [index.bytes for index in _indexes(system, kitchen)]
    total = None if None in parts else sum(part or 0 for part in parts)
    return SystemSizes(
        chunking.chunks.num_rows, info.dims if info else None, total, info.stand_in if info else False
    )


def _phases(run: str, system: System, kitchen: Kitchen) -> list[Row]:
    """Seconds of reading, chunking, embedding, inserting and indexing; the counts are what this run did itself."""
    corpus, chunking = kitchen.corpus, kitchen.chunking(system.chunker)
    rows = [
        phase_row(run, system.label, "read", corpus.seconds, corpus.fresh, corpus.reused),
        phase_row(run, system.label, "chunk", chunking.seconds, chunking.fresh, chunking.reused),
    ]
    if system.embedder is not None:
        vectors = kitchen.vectors(system.embedder, system.chunker)
        rows.append(
            phase_row(run, system.label, "embed_chunks", vectors.seconds, vectors.fresh, vectors.reused)
        )
    for phase in ("insert", "index"):
        parts = [getattr(index, f"{phase}_seconds") for index in _indexes(system, kitchen)]
        seconds = sum(parts) if all(part is not None for part in parts) else None
        rows.append(phase_row(run, system.label, phase, seconds, chunking.chunks.num_rows))
    return rows


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
