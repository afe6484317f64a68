"""From ranges to units: which chunks, documents, sections or answers are relevant, and rankings of them.

A chunk is relevant to a span if they share at least `overlap_share` of the shorter one (F07). Judgments made
on the chunks of one chunking apply only to these chunks and are rejected under another (F08).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.errors import TruthError
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.truth.overlap import WHOLE, OverlapPairs, Ranges, changes, overlap_pairs
from bakeoff.truth.text_tables import chunk_ranges
from bakeoff.types import Unit

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Judged:
    """Judgments of units, by query and item, each pair once: query int32, item int64, grade int8."""

    query: np.ndarray
    item: np.ndarray
    grade: np.ndarray


@dataclass(frozen=True, slots=True)
class RankedUnits:
    """Rankings query by query: query int32, item int64, score float64.

    `rank` counts from 1 and is set only if ranks have gaps: each unit has the rank of its first chunk.
    """

    query: np.ndarray
    item: np.ndarray
    score: np.ndarray
    rank: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class IdOrder:
    """Position of each document's and chunk's id in string order, for breaking ties by id."""

    documents: np.ndarray
    chunks: np.ndarray


@dataclass(frozen=True, slots=True)
class JudgedSpans:
    """Judgments valid under one chunking, as arrays; `bound` ones are its chunks."""

    query: np.ndarray
    at: Ranges
    grade: np.ndarray
    bound: np.ndarray

    def take(self, rows: np.ndarray) -> JudgedSpans:
        """Some of the judgments."""
        return JudgedSpans(self.query[rows], self.at.take(rows), self.grade[rows], self.bound[rows])


def bound_chunkings(judgments: pa.Table, source: str | None = None) -> tuple[str, ...]:
    """Chunkings whose chunks were judged; if there are any, chunkers must not be compared (F08)."""
    return tuple(sorted(set(_of_source(judgments, source)["chunking"].unique().to_pylist()) - {""}))


def judged_spans(judgments: pa.Table, chunking: str, source: str | None = None) -> JudgedSpans:
    """Judgments, of one source or all, valid under a chunking."""
    import pyarrow.compute as pc

    table = _of_source(judgments, source)
    bound = pc.not_equal(table["chunking"], "").to_numpy()
    holds = pc.equal(table["chunking"], chunking).to_numpy()
    if bound.any() and not holds.any():
        names = ", ".join(bound_chunkings(table))
        raise TruthError(
            f'the truth was made on chunks of "{names}" and does not apply to chunks of "{chunking}".'
            " Resolve it on this chunking, or use over: documents or over: sections in its rules."
        )
    start, end = (table[key].fill_null(WHOLE).to_numpy() for key in ("start", "end"))
    spans = JudgedSpans(
        table["query"].to_numpy(),
        Ranges(table["doc"].to_numpy(), start, end),
        table["grade"].to_numpy(),
        bound,
    )
    return spans.take(np.flatnonzero(~bound | holds))


def judgments_from(judgments: pa.Table, source: str | None) -> pa.Table:
    """Judgments of one source; all if none is named."""
    import pyarrow.compute as pc

    return judgments.filter(pc.equal(judgments["source"], source)) if source else judgments


def _of_source(judgments: pa.Table, source: str | None) -> pa.Table:
    rows = judgments_from(judgments, source)
    if source and not rows.num_rows:
        sources = ", ".join(sorted(judgments["source"].unique().to_pylist()))
        raise TruthError(f'no judgment has the source "{source}". Sources: {sources or "none"}.')
    return rows


def unit_items(chunks: pa.Table, unit: Unit) -> np.ndarray:
    """The item of each chunk: itself, its document, or its (document, section)."""
    if unit is Unit.CHUNK:
        return np.arange(chunks.num_rows, dtype=np.int64)
    doc = chunks["doc"].to_numpy().astype(np.int64)
    if unit is Unit.DOCUMENT:
        return doc
    if unit is Unit.SECTION:
        labels = chunks["section"].dictionary_encode().unify_dictionaries().combine_chunks()
        return doc * max(len(labels.dictionary), 1) + labels.indices.to_numpy()
    raise TruthError(f"a chunk is not one {unit.value}: collapse rankings of the query instead.")


def derive_units(
    judgments: pa.Table,
    chunks: pa.Table,
    chunking: str,
    unit: Unit,
    *,
    conventions: Conventions = DEFAULT,
    source: str | None = None,
) -> Judged:
    """Judgments of units under a chunking; an item's highest grade counts."""
    spans = judged_spans(judgments, chunking, source)
    if unit is Unit.ANSWER:
        answers = _answers(spans)
        return Judged(answers.query, np.arange(len(answers.at), dtype=np.int64), answers.grade)
    if unit is Unit.DOCUMENT:
        return _highest(spans.query, spans.at.doc.astype(np.int64), spans.grade)
    items = unit_items(chunks, unit)
    pairs = _relevant(spans, chunk_ranges(chunks), conventions.overlap_share)
    return _highest(spans.query[pairs.left], items[pairs.right], spans.grade[pairs.left])


def collapse_ranking(
    served: RankedUnits,
    chunks: pa.Table,
    unit: Unit,
    judgments: pa.Table | None = None,
    chunking: str = "",
    *,
    conventions: Conventions = DEFAULT,
    ids: IdOrder | None = None,
    source: str | None = None,
) -> RankedUnits:
    """Turn rankings of chunks (item = chunk row) into rankings of units, ordered and counted by the conventions.

    A unit takes the position of its first chunk. Answers need the judgments: a chunk becomes every answer in
    it, or its own item if there are none.
    """
    served = _order_rows(served, chunks, unit, conventions, ids)
    query, chunk, score = served.query, served.item, served.score
    row = np.arange(len(query))
    if unit is not Unit.ANSWER:
        item = unit_items(chunks, unit)[chunk]
    elif judgments is None:
        raise TruthError("rankings of answers need the judgments. Give them to collapse.")
    else:
        answers = _answers(judged_spans(judgments, chunking, source))
        row, item = _answers_in(answers, chunks, conventions.overlap_share, query, chunk)
    first = _first(query[row], item)
    rows = row[first]
    return RankedUnits(
        query[rows].astype(np.int32),
        item[first].astype(np.int64),
        score[rows],
        _places_of_rows(query)[rows] + 1 if conventions.k_counts == "chunks" else None,
    )


def _order_rows(
    served: RankedUnits, chunks: pa.Table, unit: Unit, conventions: Conventions, ids: IdOrder | None
) -> RankedUnits:
    """The rows query by query in scoring order: as served, or by score and then by the unit's id."""
    score = served.score
    if conventions.score_precision == "single":
        score = score.astype(np.float32).astype(np.float64)
    if conventions.order == "served":
        order = np.argsort(served.query, kind="stable")
    elif ids is None:
        raise TruthError(
            "these conventions break ties by id, but no ids were given. Give IdOrder to collapse."
        )
    else:
        keys = [-key for key in _id_keys(served.item, chunks, unit, ids)]
        order = np.lexsort((*keys[::-1], -score, served.query))
    return RankedUnits(served.query[order], served.item[order], score[order])


def _id_keys(chunk: np.ndarray, chunks: pa.Table, unit: Unit, ids: IdOrder) -> list[np.ndarray]:
    """Sort keys of chunks by their units' ids, most significant first."""
    if unit not in (Unit.DOCUMENT, Unit.SECTION):
        return [ids.chunks[chunk]]
    document = ids.documents[chunks["doc"].to_numpy()[chunk]]
    if unit is Unit.DOCUMENT:
        return [document, ids.chunks[chunk]]
    titles = np.array(chunks["section"].to_pylist(), dtype=object)[chunk]
    return [document, np.unique(titles, return_inverse=True)[1], ids.chunks[chunk]]


def _places_of_rows(query: np.ndarray) -> np.ndarray:
    """Distance of each row from the first of its query, from 0."""
    fresh = changes(query)
    starts = np.flatnonzero(fresh)
    return np.arange(len(query)) - starts[np.cumsum(fresh) - 1] if len(query) else np.zeros(0, np.int64)


def _relevant(spans: JudgedSpans, chunks: Ranges, overlap: float) -> OverlapPairs:
    """Pairs of judgment and chunk: by shared characters, or equal if a chunk was judged."""
    pairs = overlap_pairs(spans.at, chunks, overlap)
    left, right = spans.at.take(pairs.left), chunks.take(pairs.right)
    same = (left.start == right.start) & (left.end == right.end)
    keep = ~spans.bound[pairs.left] | same
    return OverlapPairs(pairs.left[keep], pairs.right[keep])


def _answers(held: JudgedSpans) -> JudgedSpans:
    """Each judged span of a query once, ordered by query and position; its row is the answer's item."""
    spans = np.flatnonzero(~held.at.whole)
    without = np.setdiff1d(held.query, held.query[spans])
    if len(without):
        some = ", ".join(str(place + 1) for place in without[:5])
        raise TruthError(
            f"{len(without)} queries (in file order: {some}) are judged by whole documents, which don't "
            "locate the answer. Measure documents, or add lines, a passage, a symbol or sections."
        )
    answers = held.take(spans)
    order = np.lexsort((-answers.grade, answers.at.end, answers.at.start, answers.at.doc, answers.query))
    answers = answers.take(order)
    first = np.flatnonzero(changes(answers.query, answers.at.doc, answers.at.start, answers.at.end))
    if not len(first):
        return answers
    # a span that is also judged as a chunk is found by overlap, as any span
    return replace(answers.take(first), bound=np.logical_and.reduceat(answers.bound, first))


def _answers_in(
    answers: JudgedSpans, chunks: pa.Table, overlap: float, query: np.ndarray, chunk: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(row, item) for every answer in the chunk of every row; a row without any has its chunk's own item."""
    pairs = _relevant(answers, chunk_ranges(chunks), overlap)
    keys = answers.query[pairs.left].astype(np.int64) * chunks.num_rows + pairs.right
    order = np.argsort(keys, kind="stable")
    wanted = query.astype(np.int64) * chunks.num_rows + chunk
    first, past = (np.searchsorted(keys[order], wanted, side=side) for side in ("left", "right"))
    counts = np.maximum(past - first, 1)
    row = np.repeat(np.arange(len(wanted)), counts)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    own = (past == first)[row]
    own_item = len(answers.at) + chunk[row].astype(np.int64)
    at = np.where(own, 0, first[row] + nth)
    inside = pairs.left[order][at] if len(order) else np.zeros(len(row), dtype=np.int64)
    return row, np.where(own, own_item, inside)


def _highest(query: np.ndarray, item: np.ndarray, grade: np.ndarray) -> Judged:
    order = np.lexsort((-grade, item, query))
    query, item, grade = query[order], item[order], grade[order]
    fresh = changes(query, item)
    return Judged(query[fresh].astype(np.int32), item[fresh].astype(np.int64), grade[fresh].astype(np.int8))


def _first(query: np.ndarray, item: np.ndarray) -> np.ndarray:
    """First row of each item of a query, in row order."""
    kinds, code = np.unique(item, return_inverse=True)
    keys = query.astype(np.int64) * max(len(kinds), 1) + code
    return np.sort(np.unique(keys, return_index=True)[1])
