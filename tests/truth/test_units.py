"""Units from judgments: every function against a plain loop over pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff.errors import TruthError
from bakeoff.measures.arrays import JudgmentArrays, RankingArrays
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.measures.evaluate import evaluate
from bakeoff.measures.names import parse
from bakeoff.measures.presets import preset
from bakeoff.storage.schemas import CHUNKS, JUDGMENTS
from bakeoff.truth.resolve import resolve
from bakeoff.truth.units import (
    IdOrder,
    RankedUnits,
    bound_chunkings,
    collapse_ranking,
    derive_units,
    unit_items,
)
from bakeoff.types import Unit

Make = Callable[..., Any]
SECTIONS = ("", "Über uns", "B")
MINE = "mine"


class Chunk(NamedTuple):
    doc: int
    start: int
    end: int
    section: str


class Judgment(NamedTuple):
    query: int
    doc: int
    start: int | None
    end: int | None
    grade: int
    source: str
    chunking: str


def span(limit: int = 30) -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(0, limit), st.integers(1, 12)).map(lambda pair: (pair[0], pair[0] + pair[1]))


CHUNK = st.builds(
    lambda doc, at, section: Chunk(doc, *at, section), st.integers(0, 2), span(), st.sampled_from(SECTIONS)
)


def judgment(whole: bool) -> st.SearchStrategy[Judgment]:
    at = span() | st.just((None, None)) if whole else span()
    return st.builds(
        lambda query, doc, at, grade, source: Judgment(query, doc, *at, grade, source, ""),
        st.integers(0, 2),
        st.integers(0, 2),
        at,
        st.integers(0, 3),
        st.sampled_from(["a", "b"]),
    )


@st.composite
def worlds(draw: st.DrawFn, whole: bool = True) -> tuple[list[Chunk], list[Judgment]]:
    chunks = draw(st.lists(CHUNK, min_size=1, max_size=12))
    judgments = draw(st.lists(judgment(whole), max_size=12))
    bound = [
        Judgment(
            draw(st.integers(0, 2)), chunk.doc, chunk.start, chunk.end, draw(st.integers(0, 3)), "b", MINE
        )
        for chunk in draw(st.lists(st.sampled_from(chunks), max_size=4))
    ]
    return chunks, judgments + bound


def chunk_table(chunks: list[Chunk]) -> pa.Table:
    ones, empty = [1] * len(chunks), [""] * len(chunks)
    doc, start, end, section = zip(*chunks, strict=True)
    return CHUNKS.table(
        {
            "id": empty,
            "doc": doc,
            "start": start,
            "end": end,
            "line_start": ones,
            "line_end": ones,
            "section": section,
            "symbol": empty,
            "context": empty,
            "text": empty,
        }
    )


def judgment_table(judgments: list[Judgment]) -> pa.Table:
    columns = list(zip(*judgments, strict=True)) if judgments else [()] * len(Judgment._fields)
    return JUDGMENTS.table(dict(zip(Judgment._fields, columns, strict=True)))


def shares(judged: Judgment, chunk: Chunk, overlap: float) -> bool:
    """Whether a chunk is relevant by a judgment, in plain words."""
    if judged.doc != chunk.doc:
        return False
    if judged.start is None or judged.end is None:
        return True
    if judged.chunking:
        return (judged.start, judged.end) == (chunk.start, chunk.end)
    common = len(set(range(judged.start, judged.end)) & set(range(chunk.start, chunk.end)))
    return common > 0 and common / min(judged.end - judged.start, chunk.end - chunk.start) >= overlap - 1e-9


def item_of(chunk: Chunk, place: int, unit: Unit) -> object:
    return {Unit.CHUNK: place, Unit.DOCUMENT: chunk.doc, Unit.SECTION: (chunk.doc, chunk.section)}[unit]


def names(chunks: list[Chunk], unit: Unit) -> dict[int, object]:
    """What each item number stands for."""
    items = unit_items(chunk_table(chunks), unit)
    return {int(items[place]): item_of(chunk, place, unit) for place, chunk in enumerate(chunks)}


OVERLAPS = st.sampled_from([0.0, 0.25, 0.5, 1.0])


@settings(max_examples=40, deadline=None)
@given(worlds(), st.sampled_from([Unit.CHUNK, Unit.SECTION]), OVERLAPS, st.sampled_from([None, "a"]))
def test_derive_is_the_plain_loop(
    world: tuple[list[Chunk], list[Judgment]], unit: Unit, overlap: float, source: str | None
) -> None:
    chunks, judgments = world
    held = [judged for judged in judgments if source in (None, judged.source)]
    expected: dict[tuple[int, object], int] = {}
    for judged in held:
        for place, chunk in enumerate(chunks):
            if shares(judged, chunk, overlap):
                key = judged.query, item_of(chunk, place, unit)
                expected[key] = max(expected.get(key, 0), judged.grade)
    if source and not held:
        return
    got = derive_units(
        judgment_table(judgments),
        chunk_table(chunks),
        MINE,
        unit,
        conventions=Conventions(overlap_share=overlap),
        source=source,
    )
    known = names(chunks, unit)
    found = {(int(q), known[int(i)]): int(g) for q, i, g in zip(got.query, got.item, got.grade, strict=True)}
    assert found == expected
    assert len(got.query) == len(expected)
    assert (got.query.dtype, got.item.dtype, got.grade.dtype) == (np.int32, np.int64, np.int8)


@settings(deadline=None)
@given(worlds())
def test_documents_are_judged_by_any_of_their_places(world: tuple[list[Chunk], list[Judgment]]) -> None:
    chunks, judgments = world
    got = derive_units(judgment_table(judgments), chunk_table(chunks), MINE, Unit.DOCUMENT)
    expected: dict[tuple[int, int], int] = {}
    for judged in judgments:
        key = judged.query, judged.doc
        expected[key] = max(expected.get(key, 0), judged.grade)
    assert dict(zip(zip(got.query, got.item, strict=True), got.grade, strict=True)) == expected


SERVED = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 11)), max_size=30)


def ranked(served: list[tuple[int, int]], chunks: list[Chunk]) -> tuple[RankedUnits, list[tuple[int, int]]]:
    rows = [(query, chunk) for query, chunk in served if chunk < len(chunks)]
    query, chunk = zip(*rows, strict=True) if rows else ((), ())
    score = -np.arange(len(rows), dtype=np.float64)
    return RankedUnits(np.array(query, np.int32), np.array(chunk, np.int64), score), rows


def firsts(rows: list[tuple[int, object]]) -> list[tuple[int, object]]:
    ordered = sorted(rows, key=lambda row: row[0])
    return list(dict.fromkeys(ordered))


@settings(max_examples=40, deadline=None)
@given(worlds(), SERVED, st.sampled_from([Unit.CHUNK, Unit.DOCUMENT, Unit.SECTION]))
def test_collapse_keeps_first_occurrences_in_served_order(
    world: tuple[list[Chunk], list[Judgment]], served: list[tuple[int, int]], unit: Unit
) -> None:
    chunks, _ = world
    given_, rows = ranked(served, chunks)
    got = collapse_ranking(given_, chunk_table(chunks), unit)
    known = names(chunks, unit)
    expected = firsts([(query, item_of(chunks[chunk], chunk, unit)) for query, chunk in rows])
    assert [(int(q), known[int(i)]) for q, i in zip(got.query, got.item, strict=True)] == expected
    for query in set(got.query):
        assert (np.diff(got.score[got.query == query]) < 0).all()


@settings(max_examples=40, deadline=None)
@given(worlds(whole=False), SERVED, OVERLAPS)
def test_answers_are_the_plain_loop(
    world: tuple[list[Chunk], list[Judgment]], served: list[tuple[int, int]], overlap: float
) -> None:
    chunks, judgments = world
    table, chunked = judgment_table(judgments), chunk_table(chunks)
    spans = sorted({(j.query, j.doc, j.start, j.end) for j in judgments})
    grades = [max(j.grade for j in judgments if (j.query, j.doc, j.start, j.end) == key) for key in spans]
    judged = derive_units(table, chunked, MINE, Unit.ANSWER, conventions=Conventions(overlap_share=overlap))
    assert list(judged.grade) == grades
    assert list(judged.query) == [key[0] for key in spans]

    given_, rows = ranked(served, chunks)
    got = collapse_ranking(
        given_, chunked, Unit.ANSWER, table, MINE, conventions=Conventions(overlap_share=overlap)
    )
    expected: list[tuple[int, object]] = []
    for query, chunk in rows:
        inside = [
            number
            for number, key in enumerate(spans)
            if key[0] == query and _holds(judgments, key, chunks[chunk], overlap)
        ]
        expected += [(query, number) for number in inside] or [(query, len(spans) + chunk)]
    assert [(int(q), int(i)) for q, i in zip(got.query, got.item, strict=True)] == firsts(expected)


def _holds(judgments: list[Judgment], key: tuple[Any, ...], chunk: Chunk, overlap: float) -> bool:
    same = [j for j in judgments if (j.query, j.doc, j.start, j.end) == key]
    return any(shares(judged, chunk, overlap) for judged in same)


def test_a_document_says_nothing_about_answers(
    documents: pa.Table, chunks: pa.Table, one_query: Make
) -> None:
    judgments = resolve(one_query("{documents: [manual.md]}"), documents, {}).judgments
    with pytest.raises(TruthError, match=r"1.*1"):
        derive_units(judgments, chunks, "c60", Unit.ANSWER)


def test_answers_need_judgments(chunks: pa.Table) -> None:
    with pytest.raises(TruthError):
        collapse_ranking(
            RankedUnits(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0)), chunks, Unit.ANSWER
        )


def test_unknown_source(documents: pa.Table, chunks: pa.Table, one_query: Make) -> None:
    judgments = resolve(one_query("{documents: [manual.md]}"), documents, {}).judgments
    with pytest.raises(TruthError, match='"sql"'):
        derive_units(judgments, chunks, "c60", Unit.CHUNK, source="sql")


def test_chunks_found_by_a_span_hold_its_text(
    documents: pa.Table, make_chunks: Make, one_query: Make
) -> None:
    """Non-ASCII text before the span must not move it (F45)."""
    texts = dict(zip(documents["id"].to_pylist(), documents["text"].to_pylist(), strict=True))
    judgments = resolve(
        one_query('{symbol: "json/decoder.py::JSONDecoder.raw_decode"}'), documents, {}
    ).judgments
    (row,) = judgments.to_pylist()
    for size, step in ((40, 40), (40, 10), (200, 100), (10, 10)):
        chunks = make_chunks(texts, size, step)
        got = derive_units(judgments, chunks, "x", Unit.CHUNK)
        covered = {
            c
            for place in got.item
            for c in range(chunks["start"][int(place)].as_py(), chunks["end"][int(place)].as_py())
        }
        middle = range(row["start"] + size // 2, row["end"] - size // 2)
        assert set(middle) <= covered
        assert all(
            "decode" in t or "größer" in t or "@" in t or size < 40
            for t in chunks["text"].take(pa.array(got.item)).to_pylist()
        )


def test_bound_chunkings_are_known(documents: pa.Table, chunks: pa.Table, one_query: Make) -> None:
    rules = "{any: [{sql: \"text LIKE '%rest%'\"}, {documents: [manual.md]}]}"
    judgments = resolve(one_query(rules), documents, {"c60": chunks, "other": chunks}).judgments
    assert bound_chunkings(judgments) == ("c60", "other")
    assert bound_chunkings(judgments, "documents") == ()


def test_no_judgments_at_all(chunks: pa.Table) -> None:
    for unit in (Unit.CHUNK, Unit.DOCUMENT, Unit.SECTION, Unit.ANSWER):
        assert len(derive_units(judgment_table([]), chunks, "x", unit).item) == 0


A, B, C, D = range(4)
BY_CHUNKS = preset("vectordb").conventions


def units_of(documents: list[int], conventions: Conventions = DEFAULT, **more: Any) -> RankedUnits:
    """One query whose chunks, of these documents, were served in this order."""
    chunks = chunk_table([Chunk(doc, 10 * at, 10 * at + 9, "") for at, doc in enumerate(documents)])
    served = RankedUnits(
        np.zeros(len(documents), np.int32), np.arange(len(documents)), -np.arange(len(documents), dtype=float)
    )
    return collapse_ranking(served, chunks, Unit.DOCUMENT, conventions=conventions, **more)


def scores(units: RankedUnits, relevant: list[int], *names: str) -> list[float]:
    """The measures of the first query."""
    zeros = np.zeros(len(relevant), int)
    truth = JudgmentArrays(zeros, np.array(relevant), zeros + 1)
    rankings = RankingArrays(units.query, units.item, units.score, units.rank)
    return evaluate(rankings, truth, [parse(name) for name in names]).values[0].tolist()


def test_d10_with_k_counting_chunks() -> None:
    units = units_of([A, A, B, B, C], BY_CHUNKS)
    assert units.rank is not None and units.rank.tolist() == [1, 3, 5]
    found = scores(units, [A, D], "P_unique@5", "R@5", "RR", "P@5")
    assert found == pytest.approx([1 / 3, 0.5, 1.0, 0.2])


def test_d10_with_k_counting_documents() -> None:
    units = units_of([A, A, B, B, C])
    assert units.item.tolist() == [A, B, C] and units.rank is None
    assert scores(units, [A, D], "P@5", "RR") == pytest.approx([1 / 5, 1.0])


def test_a_document_behind_six_chunks_of_another() -> None:
    late = [B] * 6 + [A]
    assert scores(units_of(late), [A], "R@5", "RR") == [1.0, 0.5]
    assert scores(units_of(late, BY_CHUNKS), [A], "R@5", "RR") == pytest.approx([0.0, 1 / 7])


def test_ties_are_broken_by_the_id_of_the_unit_downwards() -> None:
    rules = Conventions(order="score_id")
    chunks = chunk_table([Chunk(doc, 0, 9, "") for doc in (A, B, C)])
    tied = RankedUnits(np.zeros(3, np.int32), np.arange(3), np.array([1.0, 1.0, 2.0]))
    ids = IdOrder(documents=np.array([5, 7, 6]), chunks=np.array([2, 1, 0]))
    assert collapse_ranking(tied, chunks, Unit.DOCUMENT, conventions=rules, ids=ids).item.tolist() == [
        C,
        B,
        A,
    ]
    assert collapse_ranking(tied, chunks, Unit.CHUNK, conventions=rules, ids=ids).item.tolist() == [2, 0, 1]
    with pytest.raises(TruthError, match="IdOrder"):
        collapse_ranking(tied, chunks, Unit.DOCUMENT, conventions=rules)


def test_scores_equal_in_single_precision_are_tied() -> None:
    chunks = chunk_table([Chunk(doc, 0, 9, "") for doc in (A, B)])
    near = RankedUnits(np.zeros(2, np.int32), np.arange(2), np.array([1.0 + 1e-12, 1.0]))
    ids = IdOrder(documents=np.array([0, 1]), chunks=np.array([0, 1]))
    for precision, order in (("double", [A, B]), ("single", [B, A])):
        rules = Conventions(order="score_id", score_precision=precision)  # type: ignore[arg-type]
        assert (
            collapse_ranking(near, chunks, Unit.DOCUMENT, conventions=rules, ids=ids).item.tolist() == order
        )
