"""Character-span measures and tokens: how much wanted text the first k chunks contain, and at what cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bakeoff.errors import DataError
from bakeoff.measures.arrays import Flags, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class SpanArrays:
    """Character spans [start, end) of documents, by query; `rank` counts from 1, None for gold spans."""

    query: Ints
    document: Ints
    start: Ints
    end: Ints
    rank: Ints | None = None

    def __post_init__(self) -> None:
        if (self.end < self.start).any() or (self.start < 0).any():
            at = int(np.flatnonzero((self.end < self.start) | (self.start < 0))[0])
            raise DataError(
                f"query {int(self.query[at])} has a span from {int(self.start[at])} to {int(self.end[at])}."
            )

    def top(self, k: int) -> SpanArrays:
        """The spans down to rank k."""
        if self.rank is None:
            raise DataError("retrieved spans need ranks.")
        return self.where(self.rank <= k)

    def where(self, keep: Flags) -> SpanArrays:
        """The marked spans."""
        rank = None if self.rank is None else self.rank[keep]
        return SpanArrays(self.query[keep], self.document[keep], self.start[keep], self.end[keep], rank)


@dataclass(frozen=True, slots=True, eq=False)
class SpanScores:
    """Span measures by query; NaN without gold characters."""

    recall: Floats
    precision: Floats
    iou: Floats


def span_scores(retrieved: SpanArrays, gold: SpanArrays, queries: Ints, k: int) -> SpanScores:
    """SpanRecall@k, SpanPrecision@k and SpanIoU@k of these queries (ascending); overlap counts once."""
    top = retrieved.top(k)
    wanted, read = covered_characters(gold, queries), covered_characters(top, queries)
    either = covered_characters(_together(top, gold), queries)
    both = wanted + read - either
    there = wanted > 0
    return SpanScores(
        _share(both, wanted, there),
        _share(both, np.maximum(read, 1), there),
        _share(both, np.maximum(either, 1), there),
    )


def covered_characters(spans: SpanArrays, queries: Ints) -> Floats:
    """Characters in the union of each query's spans."""
    order = np.lexsort((spans.start, spans.document, spans.query))
    query, document = spans.query[order], spans.document[order]
    start, end = spans.start[order].astype(np.int64), spans.end[order].astype(np.int64)
    if not len(order):
        return np.zeros(len(queries))
    # Every (query, document) gets its own stretch of one line, so that one running maximum serves all.
    new = np.ones(len(order), dtype=bool)
    new[1:] = (query[1:] != query[:-1]) | (document[1:] != document[:-1])
    group = np.cumsum(new) - 1
    offset = group * (int(end.max()) + 1)
    reached = np.maximum.accumulate(end + offset)
    before = np.concatenate(([0], reached[:-1]))
    length = np.maximum(0, end + offset - np.maximum(start + offset, before))
    place = np.searchsorted(queries, query)
    inside = (place < len(queries)) & (queries[np.minimum(place, len(queries) - 1)] == query)
    return np.bincount(place[inside], weights=length[inside], minlength=len(queries)).astype(np.float64)


def tokens_at(query: Ints, rank: Ints, tokens: Ints, queries: Ints, k: int) -> Floats:
    """tokens@k: tokens of the results down to rank k, for each of these queries (ascending)."""
    keep = (rank <= k) & np.isin(query, queries)
    place = np.searchsorted(queries, query[keep])
    return np.bincount(place, weights=tokens[keep], minlength=len(queries)).astype(np.float64)


def within_budget(query: Ints, tokens: Ints, budget: int) -> Flags:
    """Mask of results, query by query in served order, that are read whole within `budget` tokens.

    Reading ends at the first result that does not fit.
    """
    if not len(query):
        return np.zeros(0, dtype=bool)
    running = np.cumsum(tokens, dtype=np.int64)
    new = np.ones(len(query), dtype=bool)
    new[1:] = query[1:] != query[:-1]
    first = np.flatnonzero(new)
    before = running[first] - tokens[first]
    return running - np.repeat(before, np.diff([*first, len(query)])) <= budget


def _together(a: SpanArrays, b: SpanArrays) -> SpanArrays:
    pairs = ((a.query, b.query), (a.document, b.document), (a.start, b.start), (a.end, b.end))
    return SpanArrays(*(np.concatenate(pair) for pair in pairs))


def _share(part: Floats, whole: Floats, there: Flags) -> Floats:
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=there)
