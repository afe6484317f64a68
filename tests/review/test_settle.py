"""What holds: people before rules, adjudication before people, and no judgment for a text nobody saw."""

from __future__ import annotations

from dataclasses import replace

from bakeoff.measures.labels import Label
from bakeoff.review.ledger import LedgerEntry, LedgerKind
from bakeoff.review.outcomes import OutcomeState, opinions_of, settled_pool
from bakeoff.review.pool import ReviewPool, item_id


def entry(pool: ReviewPool, place: int, label: Label, reviewer: str = "ann", **more: object) -> LedgerEntry:
    item = pool.items[place]
    given = {"kind": LedgerKind.JUDGE, "time": "2026", **more}
    return LedgerEntry(
        item=item.id,
        query=item.query_id,
        reviewer=reviewer,
        text_hash=item.text_hash,
        judgment=label,
        **given,
    )  # type: ignore[arg-type]


def test_rules_hold_until_a_person_says_otherwise(pool: ReviewPool) -> None:
    assert settled_pool(pool, [])[pool.items[0].id].state is OutcomeState.RULE
    settled = settled_pool(pool, [entry(pool, 0, Label.FALSE_POSITIVE)])[pool.items[0].id]
    assert (settled.state, settled.relevance, settled.overruled) == (OutcomeState.AGREED, 0, True)


def test_what_nobody_decided_is_open(pool: ReviewPool) -> None:
    said = [
        entry(pool, 1, Label.UNJUDGED, kind=LedgerKind.CANNOT),
        entry(pool, 2, Label.UNJUDGED, kind=LedgerKind.LATER),
    ]
    settled = settled_pool(pool, said)
    assert settled[pool.items[1].id].state is OutcomeState.CANNOT
    assert settled[pool.items[2].id].state is OutcomeState.OPEN
    assert settled[pool.items[1].id].relevance is None


def test_reviewers_who_agree_on_relevance_but_not_on_why(pool: ReviewPool) -> None:
    said = [entry(pool, 1, Label.KEYWORD_MATCH), entry(pool, 1, Label.SEMANTIC_MATCH, "bob")]
    settled = settled_pool(pool, said)[pool.items[1].id]
    assert (settled.state, settled.label, settled.relevance) == (OutcomeState.CONFLICT, Label.UNJUDGED, 1)


def test_a_changed_passage_does_not_inherit_its_judgment(pool: ReviewPool) -> None:
    said = [entry(pool, 1, Label.SEMANTIC_MATCH)]
    changed = replace(pool.items[1], text="another text")
    edited = replace(pool, items=(pool.items[0], changed, *pool.items[2:]))
    assert settled_pool(edited, said)[changed.id].state is OutcomeState.OPEN
    assert "earlier text" in opinions_of(edited, said).notes[0]


def test_a_passage_that_only_moved_keeps_its_judgment_and_it_is_said(pool: ReviewPool) -> None:
    old = pool.items[1]
    moved = replace(old, start=500, end=510, id=item_id(old.query_id, "doc", 500, 510))
    edited = replace(pool, items=(pool.items[0], moved, *pool.items[2:]))
    said = [entry(pool, 1, Label.SEMANTIC_MATCH)]
    assert settled_pool(edited, said)[moved.id].label is Label.SEMANTIC_MATCH
    assert "another place" in opinions_of(edited, said).notes[0]


def test_a_passage_that_is_gone_is_said(pool: ReviewPool) -> None:
    said = [entry(pool, 1, Label.SEMANTIC_MATCH)]
    assert "no longer" in opinions_of(replace(pool, items=pool.items[3:]), said).notes[0]
