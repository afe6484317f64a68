"""The tables of one measured system, as the pipeline fills them and a run folder keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.types import RANKINGS, SCORES, SYSTEMS, TIMINGS, Schema

if TYPE_CHECKING:
    import pyarrow as pa

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
"""The best score of the primary measure that was still reachable after each step; null where not computed."""

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
"""Only where the order of equally scored results changes a value; `expected` is over all orders."""

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
"""The dense share a query was fused with: the best on the queries of the other folds."""

EMPTY_SEARCHES = Schema(
    "empty_searches",
    (("run", "string"), ("system", "string"), ("search", "string"), ("query_id", "string")),
)
"""The queries a search returned nothing for; a system may make several searches."""

CELL = (SYSTEMS, SCORES, TIMINGS, LATENCIES, RANKINGS, PASSAGES, LOSSES, TIES, CHOICES, EMPTY_SEARCHES)


@dataclass(frozen=True, slots=True)
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
    measured: str = ""
    """When, for a system that an earlier start of the run finished; '' for one measured now."""
