"""A settled review → a judgment set of its own, which enters a run at `truth`."""

from __future__ import annotations

from collections.abc import Mapping

from bakeoff.review.pool import Pool
from bakeoff.review.settle import Settled, State
from bakeoff.truth.reviewed import JudgedSpan, JudgmentSet, judgment_set

HUMAN = "human"


def make_set(pool: Pool, settled: Mapping[str, Settled], *, rules: bool = True) -> JudgmentSet:
    """The items that have a grade, not those open or in conflict; `rules` keeps what only a rule filled in."""
    rows = []
    for item in pool.items:
        one = settled[item.id]
        if one.relevance is None or (one.state is State.RULE and not rules):
            continue
        source = f"rule:{'+'.join(item.rules)}" if one.state is State.RULE else HUMAN
        rows.append(
            JudgedSpan(
                item.query_id, item.document_id, item.start, item.end, one.relevance, source, item.text_hash
            )
        )
    return judgment_set(pool.run, reviewers(settled), rows)


def reviewers(settled: Mapping[str, Settled]) -> tuple[str, ...]:
    """Everyone who judged."""
    found = {said.reviewer for one in settled.values() for said in one.opinions if not said.auto}
    return tuple(sorted(found))
