"""A small pool by hand, and review files as people leave them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.review.pool import ReturnedPassage, ReviewItem, ReviewPool, item_id

FULL = """\
# a note of the reviewer, to be kept
metadata:
  query_id: {query}
  model: {system}
  category: conceptual
  reviewer: {reviewer}
  review_date: '2026-01-18'
  review_complete: {complete}
query:
  text: what failed
  sql_ground_truth: WHERE chunk_text LIKE '%crew%'
  expected_report_ids: []
  relevance_signals: [crew]
instructions: {{keyword_match: a, semantic_match: b, false_positive: c}}
summary: {{auto_keyword_matches: 1, needs_human_review: 1}}
results:
- rank: 1
  chunk_id: AAR0302.pdf_chunk_0118
  report_id: AAR0302.pdf
  section_name: ANALYSIS
  score: 0.5345
  text_preview: 'The crew did not'
  judgment: KEYWORD_MATCH
  notes: '[AUTO] Matches relevance signals/SQL pattern'
- rank: 2  # hard to say
  chunk_id: AAR0401.pdf_chunk_0168
  report_id: AAR0401.pdf
  section_name: ANALYSIS
  score: 0.5
  text_preview: It was maintained badly
  judgment: {judgment}
  notes: ''
"""


@pytest.fixture
def sheet(tmp_path: Path) -> Callable[..., Path]:
    """Writes a review file of the long template; texts in it may be replaced."""

    def write(
        *replaced: tuple[str, str],
        query: str = "CON-001",
        system: str = "mika",
        reviewer: str = "ann",
        judgment: str = "semantic_match",
        complete: str = "true",
        folder: Path | None = None,
    ) -> Path:
        text = FULL.format(
            query=query, system=system, reviewer=reviewer, judgment=judgment, complete=complete
        )
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new, 1)
        path = (folder or tmp_path / "files") / f"review_{query}_{system}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


def item(
    query: str, number: int, systems: dict[str, int], rules: tuple[str, ...] = (), text: str = ""
) -> ReviewItem:
    """An item of ten characters; `systems` maps a system to the rank it gave it."""
    start = number * 10
    name = f"{query}-{number}"
    returned = tuple(
        ReturnedPassage(system, rank, name, start, start + 10, 1 / rank) for system, rank in systems.items()
    )
    return ReviewItem(
        item_id(query, "doc", start, start + 10),
        query,
        f"text of {query}",
        "even" if int(query[1:]) % 2 == 0 else "odd",
        "doc",
        start,
        start + 10,
        "",
        text or f"passage {number:02d}",
        rules=rules,
        returned=returned,
    )


@pytest.fixture
def pool() -> ReviewPool:
    """Four queries, systems a and b with two results each: one shared, one of its own."""
    items = []
    for q in range(4):
        items.append(item(f"q{q}", 0, {"a": 1, "b": 1}, ("sql",)))
        items.append(item(f"q{q}", 1, {"a": 2}))
        items.append(item(f"q{q}", 2, {"b": 2}))
    return ReviewPool("run", 2, 7, ("a", "b"), tuple(items))
