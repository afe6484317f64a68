"""What holds: people before rules, adjudication before people, and no judgment for a text nobody saw."""

from __future__ import annotations

from dataclasses import replace

from bakeoff.measures.labels import Label
from bakeoff.review.ledger import Entry, Kind
from bakeoff.review.pool import Pool, item_id
from bakeoff.review.settle import State, opinions_of, settled_pool


def entry(pool: Pool, place: int, label: Label, reviewer: str = "ann", **more: object) -> Entry:
    item = pool.items[place]
    given = {"kind": Kind.JUDGE, "time": "2026", **more}
    return Entry(
        item=item.id,
        query=item.query_id,
        reviewer=reviewer,
        text_hash=item.text_hash,
        judgment=label,
        **given,
    )  # type: ignore[arg-type]


def test_rules_hold_until_a_person_says_otherwise(pool: Pool) -> None:
    assert settled_pool(pool, [])[pool.items[0].id].state is State.RULE
    settled = settled_pool(pool, [entry(pool, 0, Label.FALSE_POSITIVE)])[pool.items[0].id]
    assert (settled.state, settled.relevance, settled.overruled) == (State.AGREED, 0, True)


def test_what_nobody_decided_is_open(pool: Pool) -> None:
    said = [entry(pool, 1, Label.UNJUDGED, kind=Kind.CANNOT), entry(pool, 2, Label.UNJUDGED, kind=Kind.LATER)]
    settled = settled_pool(pool, said)
    assert settled[pool.items[1].id].state is State.CANNOT
    assert settled[pool.items[2].id].state is State.OPEN
    assert settled[pool.items[1].id].relevance is None


def test_reviewers_who_agree_on_relevance_but_not_on_why(pool: Pool) -> None:
    said = [entry(pool, 1, Label.KEYWORD_MATCH), entry(pool, 1, Label.SEMANTIC_MATCH, "bob")]
    settled = settled_pool(pool, said)[pool.items[1].id]
    assert (settled.state, settled.label, settled.relevance) == (State.CONFLICT, Label.UNJUDGED, 1)


def test_a_changed_passage_does_not_inherit_its_judgment(pool: Pool) -> None:
    said = [entry(pool, 1, Label.SEMANTIC_MATCH)]
    changed = replace(pool.items[1], text="another text")
    edited = replace(pool, items=(pool.items[0], changed, *pool.items[2:]))
    assert settled_pool(edited, said)[changed.id].state is State.OPEN
    assert "made on another text" in opinions_of(edited, said).notes[0]


def test_a_passage_that_only_moved_keeps_its_judgment_and_it_is_said(pool: Pool) -> None:
    old = pool.items[1]
    moved = replace(old, start=500, end=510, id=item_id(old.query_id, "doc", 500, 510))
    edited = replace(pool, items=(pool.items[0], moved, *pool.items[2:]))
    said = [entry(pool, 1, Label.SEMANTIC_MATCH)]
    assert settled_pool(edited, said)[moved.id].label is Label.SEMANTIC_MATCH
    assert "same text at another place" in opinions_of(edited, said).notes[0]


def test_a_passage_that_is_gone_is_said(pool: Pool) -> None:
    said = [entry(pool, 1, Label.SEMANTIC_MATCH)]
    assert "no longer in the pool" in opinions_of(replace(pool, items=pool.items[3:]), said).notes[0]
