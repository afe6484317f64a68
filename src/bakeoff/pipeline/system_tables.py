"""The tables of one measured system: their columns, and how to fill them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.pipeline.placement import PLACES
from bakeoff.storage.schemas import RANKINGS, SCORES, SYSTEMS, TIMINGS, Schema
from bakeoff.types import Status

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from bakeoff.config.plan import PluginSpec, System
    from bakeoff.pipeline.chunk import ChunkedCorpus
    from bakeoff.pipeline.query_pipeline import StepResult, SystemAnswers
    from bakeoff.pipeline.read import ReadCorpus
    from bakeoff.pipeline.retrieved import AnswerPlaces
    from bakeoff.pipeline.tuning import WeightChoice

PASSAGE_DEPTH = 10
"""Number of top passages per query whose text a run keeps."""

LATENCIES = Schema(
    "latencies",
    (
        ("run", "string"),
        ("system", "string"),
        ("repeat", "int32"),
        ("query_id", "string"),
        ("embed_ms", "double"),
        ("search_ms", "double"),
        ("fuse_ms", "double"),
        ("rerank_ms", "double"),
        ("total_ms", "double"),
    ),
)

PASSAGES = Schema(
    "passages",
    (
        ("chunk_id", "string"),
        ("document_id", "string"),
        ("start", "int32"),
        ("end", "int32"),
        ("line_start", "int32"),
        ("line_end", "int32"),
        ("section", "string"),
        ("symbol", "string"),
        ("text", "large_string"),
    ),
)

LOSSES = Schema(
    "losses",
    (
        ("run", "string"),
        ("system", "string"),
        ("query_id", "string"),
        ("step", "string"),
        ("reachable", "double"),
    ),
)
"""Best score of the primary measure still reachable after each step; null if not computed."""

TIES = Schema(
    "ties",
    (
        ("run", "string"),
        ("system", "string"),
        ("query_id", "string"),
        ("measure", "string"),
        ("low", "double"),
        ("high", "double"),
        ("expected", "double"),
    ),
)
"""Only rows where the order of equally scored results changes a value; `expected` is over all orders."""

CHOICES = Schema(
    "choices",
    (
        ("run", "string"),
        ("system", "string"),
        ("query_id", "string"),
        ("fold", "int32"),
        ("weight", "double"),
    ),
)
"""The dense share of each query's fusion: the best on the queries of the other folds."""

EMPTY_SEARCHES = Schema(
    "empty_searches",
    (("run", "string"), ("system", "string"), ("search", "string"), ("query_id", "string")),
)
"""Queries for which a search returned nothing; a system may make several searches."""

PLACEMENTS = Schema(
    "placements",
    (
        ("run", "string"),
        ("system", "string"),
        ("query_id", "string"),
        *((name, "int32") for name in PLACES.values()),
        ("ambiguous", "int32"),
        ("repeated", "int32"),
        ("beyond", "int32"),
        ("high", "double"),
    ),
)
"""How the results of a retriever were placed in the corpus: how many in each way. `ambiguous` ones fit several
documents, `repeated` ones came twice, those `beyond` were more than asked for. `high` is what the primary measure
would be if every result outside the corpus were right."""

CELL = (
    SYSTEMS,
    SCORES,
    TIMINGS,
    LATENCIES,
    RANKINGS,
    PASSAGES,
    LOSSES,
    TIES,
    CHOICES,
    EMPTY_SEARCHES,
    PLACEMENTS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemResult:
    """The tables of one finished system."""

    systems: pa.Table
    scores: pa.Table
    timings: pa.Table
    latencies: pa.Table
    rankings: pa.Table
    passages: pa.Table
    losses: pa.Table
    ties: pa.Table
    choices: pa.Table
    empty_searches: pa.Table
    placements: pa.Table
    measured: str = ""
    """Date, for a system finished by an earlier start of the run; '' if measured now."""


@dataclass(frozen=True, slots=True)
class SystemSizes:
    """Size of a system's index, None if unknown. Bytes are per vector, as searched and at full precision."""

    chunks: int | None
    dims: int | None
    index_bytes: int | None
    stand_in: bool
    vector_bytes: int | None = None
    full_bytes: int | None = None


def system_row(
    run: str, system: System, status: Status, reason: str = "", sizes: SystemSizes | None = None
) -> pa.Table:
    """Return a system's row in the systems table."""
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
        "family": system.family or system.label,
        "vector_bytes": sizes.vector_bytes if sizes else None,
        "full_bytes": sizes.full_bytes if sizes else None,
        "rescore": system.form.rescore,
    }
    return SYSTEMS.table({name: [value] for name, value in values.items()})


def _label(part: PluginSpec | None) -> str | None:
    return part.label if part else None


def rankings_table(
    run: str,
    label: str,
    query_ids: list[str],
    answers: SystemAnswers,
    corpus: ReadCorpus,
    chunking: ChunkedCorpus,
) -> pa.Table:
    """One row per system, query and rank."""
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
            "document_id": _document_names(corpus, chunking).take(chunks["doc"]),
            "start": chunks["start"],
            "end": chunks["end"],
            "section": chunks["section"],
            "score": np.concatenate([hit.scores for hit in hits]).astype(np.float64),
        }
    )


def passages_table(ranking: StepResult, corpus: ReadCorpus, chunking: ChunkedCorpus) -> pa.Table:
    """The chunks among any query's top ten, in corpus order."""
    import numpy as np
    import pyarrow as pa

    rows = np.unique(np.concatenate([hit.ids[:PASSAGE_DEPTH] for hit in ranking.hits]).astype(np.int64))
    chunks = chunking.chunks.take(pa.array(rows))
    own = {"chunk_id": chunks["id"], "document_id": _document_names(corpus, chunking).take(chunks["doc"])}
    rest = {name: chunks[name] for name, _ in PASSAGES.columns if name not in own}
    return PASSAGES.table({**own, **rest})


def _document_names(corpus: ReadCorpus, chunking: ChunkedCorpus) -> pa.ChunkedArray:
    """Document ids by number, including those outside the corpus."""
    import pyarrow as pa

    ids = corpus.documents["id"]
    return pa.chunked_array([*ids.chunks, pa.array(chunking.outside, ids.type)]) if chunking.outside else ids


def choices_table(run: str, system: str, ids: list[str], choice: WeightChoice | None) -> pa.Table:
    """The weight of each query, and the fold that was left out when choosing it."""
    if choice is None:
        return CHOICES.arrow().empty_table()
    rows = [run] * len(ids), [system] * len(ids), ids, choice.fold[: len(ids)], choice.weight[: len(ids)]
    return CHOICES.table({name: column for (name, _), column in zip(CHOICES.columns, rows, strict=True)})


def empty_searches_table(run: str, system: System, query_ids: list[str], answers: SystemAnswers) -> pa.Table:
    """One row for each search of a system and each query it returned nothing for (F56)."""
    rows = [
        (run, system.label, search, query)
        for search, result in zip(system.legs, answers.searches, strict=True)
        for query, hits in zip(query_ids, result.hits, strict=False)
        if not len(hits.ids)
    ]
    return EMPTY_SEARCHES.table_of_rows(rows)


def placements_table(
    run: str,
    label: str,
    query_ids: list[str],
    answers: Sequence[AnswerPlaces],
    high: np.ndarray | None,
) -> pa.Table:
    """One row per query that a retriever answered; `high` is None if the primary measure has no bound."""
    rows = [
        (
            run,
            label,
            query,
            *(one.places[how] for how in PLACES),
            one.ambiguous,
            one.repeated,
            one.beyond,
            None if high is None or math.isnan(high[place]) else float(high[place]),
        )
        for place, (query, one) in enumerate(zip(query_ids, answers, strict=False))
    ]
    return PLACEMENTS.table_of_rows(rows)
