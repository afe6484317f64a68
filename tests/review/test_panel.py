"""Reviewers side by side: overall, by category, by rule, with themselves, and whether the answer hangs on who judged."""

from __future__ import annotations

from bakeoff.measures.labels import Label
from bakeoff.review.agreement_report import report_agreement, wilson
from bakeoff.review.ledger import LedgerEntry, LedgerKind
from bakeoff.review.pool import ReviewPool

FP, SEM, KW = Label.FALSE_POSITIVE, Label.SEMANTIC_MATCH, Label.KEYWORD_MATCH


def said(pool: ReviewPool, reviewer: str, labels: dict[int, Label], repeat: int = 0) -> list[LedgerEntry]:
    return [
        LedgerEntry(
            LedgerKind.JUDGE, i.id, i.query_id, reviewer, i.text_hash, label, repeat=repeat, time="2026"
        )
        for i, label in ((pool.items[place], label) for place, label in labels.items())
    ]


def test_one_reviewer_has_no_agreement(pool: ReviewPool) -> None:
    found = report_agreement(pool, said(pool, "ann", {1: SEM}))
    assert found.reviewers == ("ann",)
    assert found.overall.labels.value is None
    assert found.survives is None


def test_two_reviewers(pool: ReviewPool) -> None:
    ann = {place: SEM if place % 3 == 1 else FP for place in range(12) if place % 3}
    bob = {**ann, 1: FP}
    found = report_agreement(pool, [*said(pool, "ann", ann), *said(pool, "bob", bob)])
    assert found.overall.labels.items == 8
    assert found.pairs[0].same == 7 / 8
    assert [group.name for group in found.categories] == ["even", "odd"]
    assert found.categories[1].labels.value == 1
    assert [one.item for one in found.queue] == [pool.items[1].id]


def test_rules_that_were_overruled(pool: ReviewPool) -> None:
    (rule,) = report_agreement(pool, said(pool, "ann", {0: FP, 3: KW})).rules
    assert (rule.rule, rule.filled, rule.looked_at, rule.overruled) == ("sql", 4, 2, 1)
    assert rule.low is not None
    assert rule.low < 0.5 < (rule.high or 0)


def test_hidden_repeats_measure_self_agreement(pool: ReviewPool) -> None:
    entries = [*said(pool, "ann", {1: SEM, 2: FP}), *said(pool, "ann", {1: SEM, 2: SEM}, repeat=1)]
    (one,) = report_agreement(pool, entries).self_agreement
    assert (one.items, one.same) == (2, 1)


def test_the_answer_hangs_on_who_judged(pool: ReviewPool) -> None:
    for_a = {place: SEM if place % 3 == 1 else FP for place in range(12) if place % 3}
    for_b = {place: FP if place % 3 == 1 else SEM for place in range(12) if place % 3}
    agreed = report_agreement(pool, [*said(pool, "ann", for_a), *said(pool, "bob", for_a)])
    split = report_agreement(pool, [*said(pool, "ann", for_a), *said(pool, "bob", for_b)])
    assert agreed.swapped[0].pair.difference == agreed.swapped[1].pair.difference
    assert [one.pair.difference for one in split.swapped] in ([0.5, -0.5], [-0.5, 0.5])


def test_wilson() -> None:
    low, high = wilson(1, 10)
    assert (round(low or 0, 4), round(high or 0, 4)) == (0.0179, 0.4042)
    assert wilson(0, 0) == (None, None)
