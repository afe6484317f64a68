"""Why another tool reports another number for the same query: variants of a measure, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bakeoff.errors import MeasureError
from bakeoff.measures.names import Measure, parse
from bakeoff.measures.reference import RankedGrades, Variant, score, supports


@dataclass(frozen=True, slots=True)
class Difference:
    """A measure of one query here, and the results of other ways to compute it."""

    query: str
    measure: Measure
    value: float | None
    variants: tuple[Variant, ...]


@dataclass(frozen=True, slots=True)
class _Case:
    """One query with its items, grades and scores in served order."""

    items: Sequence[str]
    scores: Sequence[float]
    judged: Mapping[str, int]

    def rank(self, items: Sequence[str] | None = None) -> RankedGrades:
        order = self.items if items is None else items
        return RankedGrades([self.judged.get(item) for item in order], list(self.judged.values()))


def explain_difference(
    qrels: Mapping[str, Mapping[str, int]],
    run: Mapping[str, Mapping[str, float]],
    query: str,
    measure: str | Measure,
) -> Difference:
    """Value of one measure for one query, with common variants and other tools' values."""
    requested = parse(measure)
    if not supports(requested):
        raise MeasureError(
            f"{requested} is computed from {requested.definition.needs}; there is nothing to compare it with."
        )
    scores = run.get(query, {})
    items = sorted(scores, key=scores.__getitem__, reverse=True)
    case = _Case(items, [scores[item] for item in items], qrels.get(query, {}))
    ranked = case.rank()
    if not ranked.relevant(requested):
        return Difference(query, requested, None, tuple(_without_truth()))
    variants = (
        *_orders(case, requested),
        *requested.definition.variants(ranked, requested),
        *_unjudged_variants(case, requested),
    )
    return Difference(query, requested, score(ranked, requested), variants)


def _without_truth() -> Iterator[Variant]:
    yield Variant(
        "trec_eval", 0.0, "a query without relevant items scores 0 and enters the mean; here it is left out"
    )
    yield Variant("empty truth is success", 1.0, "some tools give 1 whatever was returned")


def _orders(case: _Case, measure: Measure) -> Iterator[Variant]:
    by_id = sorted(case.items, key=lambda item: (case.scores[case.items.index(item)], item), reverse=True)
    value = score(case.rank(by_id), measure)
    yield Variant("trec_eval", value, "sorts by score, ties by id descending, and ignores the served order")
    if len(set(case.scores)) < len(case.scores):
        groups = sorted(case.items, key=lambda item: (-_score(case, item), case.judged.get(item, -1)))
        best = sorted(case.items, key=lambda item: (-_score(case, item), -case.judged.get(item, -1)))
        yield Variant(
            "worst order of ties", score(case.rank(groups), measure), "tied results, relevant ones last"
        )
        yield Variant(
            "best order of ties", score(case.rank(best), measure), "tied results, relevant ones first"
        )


def _score(case: _Case, item: str) -> float:
    return case.scores[case.items.index(item)]


def _unjudged_variants(case: _Case, measure: Measure) -> Iterator[Variant]:
    judged = [item for item in case.items if case.judged.get(item, -1) >= 0]
    if len(judged) < len(case.items):
        value = score(case.rank(judged), measure)
        yield Variant(
            "condensed list", value, "unjudged results are removed before scoring, later ones move up"
        )
