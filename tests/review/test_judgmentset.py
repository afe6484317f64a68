"""The judgments that hold, as a set: with a source each, and nothing of what is open or in conflict."""

from __future__ import annotations

from bakeoff.measures.labels import Label
from bakeoff.review.judgment_set import make_set
from bakeoff.review.ledger import LedgerEntry, LedgerKind
from bakeoff.review.outcomes import settled_pool
from bakeoff.review.pool import ReviewPool


def said(pool: ReviewPool, place: int, reviewer: str, label: Label, grade: int | None = None) -> LedgerEntry:
    item = pool.items[place]
    return LedgerEntry(
        LedgerKind.JUDGE, item.id, item.query_id, reviewer, item.text_hash, label, grade, time="2026"
    )


def test_grades_and_sources(pool: ReviewPool) -> None:
    entries = [
        said(pool, 1, "ann", Label.SEMANTIC_MATCH, 3),
        said(pool, 2, "ann", Label.FALSE_POSITIVE),
        said(pool, 4, "ann", Label.SEMANTIC_MATCH),
        said(pool, 4, "bob", Label.FALSE_POSITIVE),
    ]
    made = make_set(pool, settled_pool(pool, entries))
    q0 = {row.start: (row.grade, row.source) for row in made.rows if row.query == "q0"}
    assert q0 == {0: (1, "rule:sql"), 10: (3, "human"), 20: (0, "human")}
    assert [row.start for row in made.rows if row.query == "q1"] == [0]
    assert made.reviewers == ("ann", "bob")
    people = make_set(pool, settled_pool(pool, entries), rules=False)
    assert {row.source for row in people.rows} == {"human"}
    assert people.fingerprint() != made.fingerprint()
