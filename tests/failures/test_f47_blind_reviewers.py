"""F47: one reviewer, no agreement measured, and the system's name before the reviewer's eyes."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bakeoff.measures.labels import Label
from bakeoff.review.agreement_report import report_agreement
from bakeoff.review.ledger import LedgerEntry, LedgerKind
from bakeoff.review.pool import write_pool
from bakeoff.review.pooling import PoolChoice, make_pool
from bakeoff.review.review_folder import ReviewFolder
from bakeoff.review.web.session import ReviewOptions, ReviewSession


def test_what_a_reviewer_is_shown_holds_no_system_rank_or_score(ran: Any) -> None:
    pool = make_pool(ran.result, PoolChoice(k=5))
    shown = json.dumps([asdict(one) for one in pool.showings("ann")], ensure_ascii=False)
    assert not any(system in shown for system in pool.systems)
    assert "score" not in shown
    assert "rank" not in shown


def test_the_order_does_not_give_the_ranks_away(ran: Any) -> None:
    pool = make_pool(ran.result, PoolChoice(k=5))
    best = {item.id: min(one.rank for one in item.returned) for item in pool.items}
    query = pool.queries[0]
    ranks = [best[one.item.id] for one in pool.showings("ann") if one.item.query_id == query]
    assert ranks != sorted(ranks)


def test_agreement_has_an_interval_once_two_have_judged(ran: Any) -> None:
    pool = make_pool(ran.result, PoolChoice(k=3))
    labels = (Label.SEMANTIC_MATCH, Label.FALSE_POSITIVE)
    entries = [
        LedgerEntry(
            LedgerKind.JUDGE,
            item.id,
            item.query_id,
            name,
            item.text_hash,
            labels[(place + (place % step == 0)) % 2],
        )
        for name, step in (("ann", 99), ("bob", 7))
        for place, item in enumerate(pool.items)
    ]
    found = report_agreement(pool, entries).overall.labels
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high < 1


def test_what_the_page_is_sent_names_no_system(ran: Any, tmp_path: Path) -> None:
    pool = make_pool(ran.result, PoolChoice(k=5))
    review = ReviewFolder(tmp_path / "review")
    write_pool(pool, review.pool_file)
    session = ReviewSession(review, ReviewOptions())
    try:
        told = session.open("ann")
        sent = json.dumps(asdict(told), ensure_ascii=False)
    finally:
        session.close()
    assert told.cards
    assert not any(system in sent for system in pool.systems)
    assert set(asdict(told.cards[0])) & {"system", "systems", "rank", "score", "returned"} == set()


def test_one_reviewer_alone_has_no_agreement_and_is_told_why(ran: Any) -> None:
    pool = make_pool(ran.result, PoolChoice(k=3))
    entries = [
        LedgerEntry(LedgerKind.JUDGE, item.id, item.query_id, "ann", item.text_hash, Label.SEMANTIC_MATCH)
        for item in pool.items
    ]
    found = report_agreement(pool, entries).overall.labels
    assert found.value is None and found.low is None and found.high is None
    assert found.reason.startswith("0 items ")
