"""Reviewers of one pool: their agreement, overruled rules, and items that need a third opinion."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bakeoff.measures.labels import Label
from bakeoff.review.agreement import Coefficient, alpha, kappa, raw_agreement
from bakeoff.review.ledger import LedgerEntry
from bakeoff.review.measures import PairFigures, pool_rankings, review_figures
from bakeoff.review.outcomes import (
    ItemOutcome,
    OutcomeState,
    Vote,
    labels_of,
    opinions_of,
    settle_votes,
    settled_pool,
)
from bakeoff.review.pool import ReviewItem, ReviewPool

_CODE = {Label.FALSE_POSITIVE: 0.0, Label.SEMANTIC_MATCH: 1.0, Label.KEYWORD_MATCH: 2.0}


@dataclass(frozen=True, slots=True)
class ReviewerGroup:
    """Agreement on some items: labels by nominal alpha, relevance by ordinal alpha."""

    name: str
    labels: Coefficient
    relevance: Coefficient


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two reviewers on the items both judged: plain kappa on labels, weighted (linear) kappa on grades."""

    a: str
    b: str
    same: float | None
    labels: Coefficient
    grades: Coefficient


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """How often people checked and overruled what a rule filled in; the interval is Wilson's."""

    rule: str
    filled: int
    looked_at: int
    overruled: int
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class SelfAgreement:
    """A reviewer's self-agreement on items shown twice without notice."""

    reviewer: str
    items: int
    same: int


@dataclass(frozen=True, slots=True)
class SingleReviewerOutcome:
    """The leading pair by the judgments of one reviewer alone, with what rules filled in."""

    reviewer: str
    pair: PairFigures

    @property
    def says(self) -> str:
        """The better system; empty if the interval includes 0."""
        if not self.pair.interval.excludes(0.0) or self.pair.difference is None:
            return ""
        return self.pair.a if self.pair.difference > 0 else self.pair.b


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementReport:
    """Everything about the agreement of a review."""

    reviewers: tuple[str, ...]
    overall: ReviewerGroup
    categories: tuple[ReviewerGroup, ...]
    pairs: tuple[PairAgreement, ...]
    rules: tuple[RuleRecord, ...]
    self_agreement: tuple[SelfAgreement, ...]
    queue: tuple[ItemOutcome, ...]
    swapped: tuple[SingleReviewerOutcome, ...]
    notes: tuple[str, ...]

    @property
    def survives(self) -> bool | None:
        """Whether every reviewer alone gives the same answer on the leading pair; None with fewer than two."""
        answers = {one.says for one in self.swapped if one.pair.difference is not None}
        counted = sum(one.pair.difference is not None for one in self.swapped)
        return None if counted < 2 else len(answers) == 1


def report_agreement(pool: ReviewPool, entries: Iterable[LedgerEntry], seed: int = 7) -> AgreementReport:
    """The agreement of all reviewers of a pool."""
    entries = list(entries)
    votes = opinions_of(pool, entries)
    people = [one for one in votes.held if not one.auto and not one.final and one.label is not Label.UNJUDGED]
    names = tuple(sorted({one.reviewer for one in people}))
    settled = settled_pool(pool, entries)
    categories = sorted({item.category for item in pool.items if item.category})
    return AgreementReport(
        reviewers=names,
        overall=_group("all", pool.items, people, names, seed),
        categories=tuple(
            _group(c, [i for i in pool.items if i.category == c], people, names, seed) for c in categories
        ),
        pairs=tuple(_pair(a, b, people, pool, seed) for a, b in combinations(names, 2)),
        rules=_rules(pool, people),
        self_agreement=_self(votes.repeats, people),
        queue=tuple(one for one in settled.values() if one.state is OutcomeState.CONFLICT),
        swapped=_single_reviewer_outcomes(pool, votes.held, names, settled, seed),
        notes=votes.notes,
    )


def _tables(
    items: Sequence[ReviewItem], people: Sequence[Vote], names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Labels and grades as reviewers × items."""
    column = {item.id: place for place, item in enumerate(items)}
    row = {name: place for place, name in enumerate(names)}
    labels = np.full((len(names), len(items)), np.nan)
    grades = labels.copy()
    for one in people:
        if one.item in column and one.reviewer in row:
            at = row[one.reviewer], column[one.item]
            labels[at] = _CODE[one.label]
            grades[at] = one.grade if one.grade is not None else float(one.label is not Label.FALSE_POSITIVE)
    return labels, grades


def _group(
    name: str, items: Sequence[ReviewItem], people: Sequence[Vote], names: Sequence[str], seed: int
) -> ReviewerGroup:
    labels, grades = _tables(items, people, names)
    return ReviewerGroup(name, alpha(labels, "nominal", seed), alpha(grades, "ordinal", seed))


def _pair(a: str, b: str, people: Sequence[Vote], pool: ReviewPool, seed: int) -> PairAgreement:
    labels, grades = _tables(pool.items, people, (a, b))
    return PairAgreement(
        a,
        b,
        raw_agreement(labels[0], labels[1]),
        kappa(labels[0], labels[1], seed=seed),
        kappa(grades[0], grades[1], "linear", seed),
    )


def _rules(pool: ReviewPool, people: Sequence[Vote]) -> tuple[RuleRecord, ...]:
    seen: dict[str, list[Label]] = {}
    for one in people:
        seen.setdefault(one.item, []).append(one.label)
    rows = []
    for rule in sorted({rule for item in pool.items for rule in item.rules}):
        filled = [item for item in pool.items if rule in item.rules]
        looked = [seen[item.id] for item in filled if item.id in seen]
        against = sum(any(label is not Label.KEYWORD_MATCH for label in labels) for labels in looked)
        rows.append(RuleRecord(rule, len(filled), len(looked), against, *wilson(against, len(looked))))
    return tuple(rows)


def wilson(count: int, of: int, z: float = 1.959964) -> tuple[float | None, float | None]:
    """Wilson's 95 % interval of a share; None without items."""
    if not of:
        return None, None
    share, scale = count / of, 1 + z * z / of
    centre = (share + z * z / (2 * of)) / scale
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / scale
    return max(0.0, centre - half), min(1.0, centre + half)


def _self(repeats: Sequence[Vote], people: Sequence[Vote]) -> tuple[SelfAgreement, ...]:
    first = {(one.reviewer, one.item): one.label for one in people}
    counted: dict[str, list[bool]] = {}
    for one in repeats:
        before = first.get((one.reviewer, one.item))
        if before is not None and one.label is not Label.UNJUDGED:
            counted.setdefault(one.reviewer, []).append(before is one.label)
    return tuple(SelfAgreement(name, len(same), sum(same)) for name, same in sorted(counted.items()))


def _single_reviewer_outcomes(
    pool: ReviewPool,
    votes: Sequence[Vote],
    names: Sequence[str],
    settled: Mapping[str, ItemOutcome],
    seed: int,
) -> tuple[SingleReviewerOutcome, ...]:
    """The two leading systems, as judged by each reviewer alone."""
    rankings = pool_rankings(pool)
    figures = review_figures(rankings, labels_of(settled), pool.k, seed)
    leaders = sorted(figures.systems, key=lambda one: -one.values["SemPrec"].value)[:2]
    if len(leaders) < 2:
        return ()
    two = {one.system: rankings[one.system] for one in leaders}
    outcomes = []
    for name in names:
        own = settle_votes(one for one in votes if one.auto or one.reviewer == name)
        pair = review_figures(two, labels_of(own), pool.k, seed).pairs[0]
        outcomes.append(SingleReviewerOutcome(name, pair))
    return tuple(outcomes)
