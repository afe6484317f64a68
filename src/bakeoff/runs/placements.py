"""How retrievers' results were placed in the corpus: records and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from bakeoff.measures.names import parse
from bakeoff.pipeline.placement import PLACES
from bakeoff.pipeline.system_tables import SystemResult
from bakeoff.runs.record import PlacementRecord
from bakeoff.runtime.count_text import shorten

if TYPE_CHECKING:
    import pyarrow as pa

EXAMPLES = 3
SHOWN = 60
UNPLACED = "unplaced:"
"""Prefix for the name of a text that is not in the corpus."""


def placement_records(
    results: Iterable[SystemResult], primary: str, documents: pa.ChunkedArray
) -> list[PlacementRecord]:
    """One record per retriever that answered; `documents` are the ids of the corpus."""
    return [_record(one, primary, documents) for one in results if one.placements.num_rows]


def _record(result: SystemResult, primary: str, documents: pa.ChunkedArray) -> PlacementRecord:
    rows = result.placements.to_pylist()
    counts = {
        name: sum(row[name] for row in rows) for name in (*PLACES.values(), "ambiguous", "repeated", "beyond")
    }
    looked_at = min(parse(primary).k or 0, len(documents))
    high = {row["query_id"]: row["high"] for row in rows if row["high"] is not None}
    scored = {query: value for query, value in _scores(result.scores, primary) if query in high}
    return PlacementRecord(
        system=rows[0]["system"],
        queries=len(rows),
        mean=_mean(scored.values()),
        high=_mean(high[query] for query in scored),
        short=sum(sum(row[name] for name in PLACES.values()) - row["repeated"] < looked_at for row in rows),
        examples=list(_examples(result, documents)) if counts["unknown_id"] + counts["not_placed"] else [],
        **counts,
    )


def _scores(scores: pa.Table, primary: str) -> Iterator[tuple[str, float]]:
    for row in scores.select(["query_id", "measure", "value"]).to_pylist():
        if row["measure"] == primary and row["value"] is not None:
            yield row["query_id"], row["value"]


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None


def _examples(result: SystemResult, documents: pa.ChunkedArray) -> Iterator[str]:
    """Some ids and texts that are not in the corpus."""
    import pyarrow.compute as pc

    texts = dict(zip(*(result.passages[name].to_pylist() for name in ("document_id", "text")), strict=True))
    found = result.rankings["document_id"].unique()
    outside: list[str] = found.filter(pc.invert(pc.is_in(found, value_set=documents))).to_pylist()
    examples = sorted(outside, key=lambda name: name.startswith(UNPLACED) and name not in texts)
    for name in examples[:EXAMPLES]:
        text: str = texts.get(name) or name if name.startswith(UNPLACED) else name
        yield shorten(text, SHOWN)


def placement_sentences(placements: Sequence[PlacementRecord], primary: str) -> tuple[str, ...]:
    """Sentences on misplaced results, for the reader of a comparison."""
    return tuple(sentence for one in placements for sentence in _sentences(one, primary))


def _sentences(one: PlacementRecord, primary: str) -> Iterator[str]:
    if one.outside:
        bound = (
            ""
            if one.high is None or one.mean is None
            else f": {primary} is {one.mean:.3f}, at most {one.high:.3f}"
        )
        named = "; ".join(repr(name) for name in one.examples)
        yield (
            f"{one.system}: {_of(one.outside, one.results)} are not in the corpus ({named}) and count as wrong{bound}."
        )
    if one.unlocated:
        yield (
            f"{one.system}: {_of(one.unlocated, one.results)} name a document that does not contain their "
            "text or characters; they count for documents, not for answers."
        )
    if one.ambiguous:
        yield (
            f"{one.system}: the texts of {_of(one.ambiguous, one.results)} occur in several documents; the "
            "first one counts. Map `id` to be certain."
        )
    if one.repeated:
        yield f"{one.system}: {_of(one.repeated, one.results)} repeat a result of the same question and count once."
    if one.short:
        yield f"{one.system}: {one.short:,} of {one.queries:,} questions got fewer results than {primary} counts."
    if one.beyond:
        yield f"{one.system}: it returned {one.beyond:,} more results than requested; they are ignored."


def _of(count: int, every: int) -> str:
    return f"{count:,} of {every:,} results ({count / every:.1%})"


def placement_row(one: PlacementRecord) -> dict[str, int]:
    """Figures for a table, by heading."""
    return {
        "results": one.results,
        "as given": one.given + one.document,
        "exact text": one.exact,
        "folded text": one.folded,
        "overlap": one.overlap,
        "not located": one.unlocated,
        "not placed": one.outside,
    }
