"""Searches of a run that returned nothing for many queries: records and sentences (F56)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from bakeoff.runs.record import EmptySearchRecord
from bakeoff.runtime.count_text import shorten
from bakeoff.stats.loss import NOT_IN_TEXT

if TYPE_CHECKING:
    from bakeoff.pipeline.system_tables import SystemResult
    from bakeoff.truth.queries import QuerySet

NOTEWORTHY = 0.02
"""Searches are reported above this share of queries without a result."""
EXAMPLES = 3
EXAMPLE_CHARACTERS = 60
HINTS = {
    "keywords": "Check the search engine's analyzer: it may not fit the language of the documents or the "
    "questions.",
    "": "Check filters and the store's settings.",
}


def noteworthy_empty_searches(cells: Iterable[SystemResult], queries: QuerySet) -> list[EmptySearchRecord]:
    """Searches that found nothing for more than a few answerable queries."""
    return [record for cell in cells for record in _noteworthy(cell, queries)]


def _noteworthy(cell: SystemResult, queries: QuerySet) -> Iterator[EmptySearchRecord]:
    texts = {query.id: query.text for query in queries.queries if not query.negative}
    lost = _lost_by_reader(cell)
    groups: dict[tuple[str, str], list[str]] = {}
    for row in cell.empty_searches.to_pylist():
        if row["query_id"] in texts:
            groups.setdefault((row["system"], row["search"]), []).append(row["query_id"])
    for (system, search), found in groups.items():
        if len(found) > NOTEWORTHY * len(texts):
            yield EmptySearchRecord(
                system=system,
                search=search,
                queries=len(found),
                of=len(texts),
                examples=[(name, texts[name]) for name in found[:EXAMPLES]],
                lost=len(lost & set(found)),
            )


def _lost_by_reader(cell: SystemResult) -> set[str]:
    """Queries whose answer the reader left out of the text, so that no search can find it."""
    steps = cell.losses.select(["query_id", "step", "reachable"]).to_pylist()
    return {row["query_id"] for row in steps if row["step"] == NOT_IN_TEXT and row["reachable"] == 0}


def empty_search_sentences(records: Sequence[EmptySearchRecord]) -> tuple[str, ...]:
    """Sentences on searches that found nothing, for the reader of a comparison."""
    groups: dict[tuple[str, int, int], list[EmptySearchRecord]] = {}
    for one in records:
        groups.setdefault((one.search, one.queries, one.of), []).append(one)
    return tuple(_sentence(alike) for alike in groups.values())


def _sentence(alike: list[EmptySearchRecord]) -> str:
    first = alike[0]
    systems = first.system if len(alike) == 1 else f"{first.system} and {len(alike) - 1} more"
    share = f"{first.queries:,} of {first.of:,} questions ({first.queries / first.of:.0%})"
    examples = "; ".join(f"{name}: {shorten(text, EXAMPLE_CHARACTERS)}" for name, text in first.examples)
    what = "keyword search" if first.search == "keywords" else f"{first.search} search"
    return (
        f"The {what} of {systems} returned nothing for {share}, e.g. {examples}. Its score reflects that, not the "
        f"ranking. {_hint(first)}"
    )


def _hint(record: EmptySearchRecord) -> str:
    """What to check: the reader, if it explains most of the questions, else the search."""
    if 2 * record.lost > record.queries:
        return (
            f"The reader lost the answers to {record.lost:,} of these questions: they are not in the text. Choose "
            "another reader for these files."
        )
    return HINTS.get(record.search, HINTS[""])
