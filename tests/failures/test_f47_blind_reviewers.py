"""F47: one reviewer, no agreement measured, and the system's name before the reviewer's eyes."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from bakeoff.measures.labels import Label
from bakeoff.review.ledger import Entry, Kind
from bakeoff.review.panel import panel
from bakeoff.review.pooling import Choice, make_pool


def test_what_a_reviewer_is_shown_holds_no_system_rank_or_score(ran: Any) -> None:
    pool = make_pool(ran.result, Choice(k=5))
    shown = json.dumps([asdict(one) for one in pool.showings("ann")])
    assert not any(system in shown for system in pool.systems)
    assert "score" not in shown
    assert "rank" not in shown


def test_the_order_does_not_give_the_ranks_away(ran: Any) -> None:
    pool = make_pool(ran.result, Choice(k=5))
    best = {item.id: min(one.rank for one in item.returned) for item in pool.items}
    query = pool.queries[0]
    ranks = [best[one.item.id] for one in pool.showings("ann") if one.item.query_id == query]
    assert ranks != sorted(ranks)


def test_agreement_has_an_interval_once_two_have_judged(ran: Any) -> None:
    pool = make_pool(ran.result, Choice(k=3))
    labels = (Label.SEMANTIC_MATCH, Label.FALSE_POSITIVE)
    entries = [
        Entry(
            Kind.JUDGE,
            item.id,
            item.query_id,
            name,
            item.text_hash,
            labels[(place + (place % step == 0)) % 2],
        )
        for name, step in (("ann", 99), ("bob", 7))
        for place, item in enumerate(pool.items)
    ]
    found = panel(pool, entries).overall.labels
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high < 1
