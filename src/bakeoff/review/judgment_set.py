"""A finished review → a judgment set that a run can use as truth."""

from __future__ import annotations

from collections.abc import Mapping

from bakeoff.review.outcomes import ItemOutcome, OutcomeState
from bakeoff.review.pool import ReviewItem, ReviewPool
from bakeoff.truth.human_judgments import MODEL, JudgedSpan, JudgmentSet, judgment_set

HUMAN = "human"
Graded = tuple[int, str]
"""A grade and its source."""


def make_set(
    pool: ReviewPool,
    settled: Mapping[str, ItemOutcome],
    *,
    rules: bool = True,
    suggested: Mapping[str, int] | None = None,
    model: str = "",
) -> JudgmentSet:
    """The items that have a grade, not those open or in conflict; `rules` keeps what only a rule filled in.

    `suggested` are a model's grades of items: they fill in what nobody judged, and say that they are the model's.
    """
    rows = []
    for item in pool.items:
        grade = _item_grade(item, settled[item.id], rules)
        if grade is None and settled[item.id].state is OutcomeState.OPEN and item.id in (suggested or {}):
            grade = ((suggested or {})[item.id], f"{MODEL}{model}")
        if grade is not None:
            rows.append(
                JudgedSpan(item.query_id, item.document_id, item.start, item.end, *grade, item.text_hash)
            )
    return judgment_set(pool.run, reviewers(settled), rows)


def _item_grade(item: ReviewItem, one: ItemOutcome, rules: bool) -> Graded | None:
    """The judgment of people or rules on an item."""
    if one.relevance is None or (one.state is OutcomeState.RULE and not rules):
        return None
    return one.relevance, f"rule:{'+'.join(item.rules)}" if one.state is OutcomeState.RULE else HUMAN


def reviewers(settled: Mapping[str, ItemOutcome]) -> tuple[str, ...]:
    """Everyone who judged."""
    names = {vote.reviewer for one in settled.values() for vote in one.opinions if not vote.auto}
    return tuple(sorted(names))
