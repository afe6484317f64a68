"""Which means are lower bounds, because keywords alone decide what is relevant to some queries (C-23)."""

from __future__ import annotations

from bakeoff.measures.names import parse
from bakeoff.runs.analysis import Result

BY_WORDS = frozenset({"sql", "signals", "keywords"})
"""Sources of judgments that keywords alone decide."""
LOWER_BOUNDS = ("RR", "Hit", "P")
"""Measures that more relevant results can only raise; R, nDCG and AP are not among them, as their ideal grows too."""


def queries_by_words(result: Result) -> list[str]:
    """The queries whose relevant results keywords decide and people have not judged."""
    sources: dict[str, set[str]] = {}
    for hit in result.record.truth_hits:
        sources.setdefault(hit.query_id, set()).update(hit.source.split("+"))
    reviewed = set(result.reviewed.queries) if result.reviewed else set()
    return [query for query, kinds in sources.items() if kinds & BY_WORDS and query not in reviewed]


def is_lower_bound(measure: str) -> bool:
    """Whether more relevant results can only raise a measure."""
    return parse(measure).name in LOWER_BOUNDS
