"""Why another tool shows another number for the same query: variants of a measure, each with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bakeoff.errors import MeasureError
from bakeoff.measures.names import Measure, parse
from bakeoff.measures.reference import RankedGrades, dcg, gain, hit_ranks, relevant, score, supports


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to compute, its value, and why it differs; `value` is None where it is undefined."""

    label: str
    value: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Difference:
    """The measure of one query here, and what other ways of computing it give."""

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

    def ranked(self, items: Sequence[str] | None = None) -> RankedGrades:
        order = self.items if items is None else items
        return RankedGrades([self.judged.get(item) for item in order], list(self.judged.values()))


def explain_difference(
    qrels: Mapping[str, Mapping[str, int]],
    run: Mapping[str, Mapping[str, float]],
    query: str,
    measure: str | Measure,
) -> Difference:
    """The value of one measure for one query beside what common variants and other tools would show."""
    wanted = parse(measure)
    if not supports(wanted):
        raise MeasureError(
            f"{wanted} is computed from {wanted.definition.needs}; there is nothing to compare it with."
        )
    scores = run.get(query, {})
    items = sorted(scores, key=scores.__getitem__, reverse=True)
    case = _Case(items, [scores[item] for item in items], qrels.get(query, {}))
    ranked = case.ranked()
    if not relevant(ranked, wanted):
        return Difference(query, wanted, None, tuple(_without_truth()))
    variants = (
        *_orders(case, wanted),
        *_formulas(ranked, wanted),
        *_unjudged_variants(case, wanted),
    )
    return Difference(query, wanted, score(ranked, wanted), variants)


def _without_truth() -> Iterator[Variant]:
    yield Variant(
        "trec_eval", 0.0, "a query without relevant items scores 0 and enters the mean; here it is left out"
    )
    yield Variant("empty truth is success", 1.0, "some tools give 1 whatever was returned")


def _orders(case: _Case, measure: Measure) -> Iterator[Variant]:
    by_id = sorted(case.items, key=lambda item: (case.scores[case.items.index(item)], item), reverse=True)
    value = score(case.ranked(by_id), measure)
    yield Variant("trec_eval", value, "sorts by score, ties by id descending, and ignores the served order")
    if len(set(case.scores)) < len(case.scores):
        groups = sorted(case.items, key=lambda item: (-_score(case, item), case.judged.get(item, -1)))
        best = sorted(case.items, key=lambda item: (-_score(case, item), -case.judged.get(item, -1)))
        yield Variant(
            "worst order of ties", score(case.ranked(groups), measure), "tied results, relevant ones last"
        )
        yield Variant(
            "best order of ties", score(case.ranked(best), measure), "tied results, relevant ones first"
        )


def _score(case: _Case, item: str) -> float:
    return case.scores[case.items.index(item)]


def _unjudged_variants(case: _Case, measure: Measure) -> Iterator[Variant]:
    judged = [item for item in case.items if case.judged.get(item, -1) >= 0]
    if len(judged) < len(case.items):
        value = score(case.ranked(judged), measure)
        yield Variant(
            "condensed list", value, "unjudged results are removed before scoring, later ones move up"
        )


def _formulas(ranked: RankedGrades, measure: Measure) -> Iterator[Variant]:
    if measure.name in _FORMULAS:
        yield from _FORMULAS[measure.name](ranked, measure)


def _precision(ranked: RankedGrades, measure: Measure) -> Iterator[Variant]:
    returned = len(ranked.grades[: measure.k])
    found = len(hit_ranks(ranked, measure))
    yield Variant(
        "divided by returned", found / returned if returned else None, "short lists are not filled up to k"
    )
    yield Variant("divided by R", score(ranked, replace(measure, name="R")), "that is recall")


def _recall(ranked: RankedGrades, measure: Measure) -> Iterator[Variant]:
    found = len(hit_ranks(ranked, measure))
    yield Variant(
        "divided by min(k, R)", score(ranked, replace(measure, name="R_cap")), "capped recall, here R_cap@k"
    )
    yield Variant("divided by k", found / (measure.k or 1), "that is precision")
    yield Variant("any hit", float(found > 0), "some tools call a hit recall")


def _average_precision(ranked: RankedGrades, measure: Measure) -> Iterator[Variant]:
    total, ranks = relevant(ranked, measure), hit_ranks(ranked, measure)
    whole = score(ranked, measure) * total
    found = whole / len(ranks) if ranks else 0.0
    yield Variant(
        "divided by relevant found", found, "misses are forgotten: finding fewer items can raise it"
    )
    if measure.k is not None:
        yield Variant("divided by min(k, R)", whole / min(measure.k, total), "recommender tools' AP@k")


def _ndcg(ranked: RankedGrades, measure: Measure) -> Iterator[Variant]:
    k = measure.k
    got = [max(grade or 0, 0) for grade in ranked.grades[:k]]
    best = sorted((grade for grade in ranked.judged if grade > 0), reverse=True)[:k]
    other = replace(measure, name="nDCG" if measure.name == "nDCG_exp" else "nDCG_exp")
    label = "linear gain" if other.name == "nDCG" else "exponential gain"
    yield Variant(
        label, score(ranked, other), f"here {other.name}; ranx's ndcg_burges and scikit-learn differ in this"
    )
    yield Variant(
        "binary gain", dcg([float(g > 0) for g in got]) / dcg([1.0] * len(best)), "grades above 1 count as 1"
    )
    gains = [gain(measure, grade) for grade in got]
    found = dcg(sorted(gains, reverse=True))
    reason = "the ideal holds only what was returned: one hit at rank 1 gives 1.0"
    yield Variant("ideal of found", dcg(gains) / found if found else 0.0, reason)
    hits = sum(grade > 0 for grade in got)
    short = dcg([gain(measure, grade) for grade in best[:hits]])
    reason = "the ideal is as long as the list of relevant items found, so misses cost nothing"
    yield Variant("ideal as long as found", dcg(gains) / short if hits else 0.0, reason)
    whole = dcg(sorted((gain(measure, grade) for grade in ranked.judged if grade > 0), reverse=True))
    yield Variant(
        "ideal not cut", dcg(gains) / whole, "the ideal goes below k, so a perfect top k stays below 1"
    )


def _reciprocal_rank(ranked: RankedGrades, measure: Measure) -> Iterator[Variant]:
    if measure.k is None:
        yield Variant(
            "cut at 10", score(ranked, replace(measure, k=10)), "here RR@10; the depth is part of the name"
        )
    else:
        yield Variant(
            "no cut-off", score(ranked, replace(measure, k=None)), "here RR; the depth is part of the name"
        )


def _bpref(ranked: RankedGrades, measure: Measure) -> Iterator[Variant]:
    if all(grade < 0 or grade >= ranked.threshold(measure) for grade in ranked.judged):
        yield Variant(
            "ranx", None, "is NaN where no non-relevant item was judged; here each relevant result counts 1"
        )


_FORMULAS: dict[str, Callable[[RankedGrades, Measure], Iterator[Variant]]] = {
    "P": _precision,
    "R": _recall,
    "AP": _average_precision,
    "nDCG": _ndcg,
    "nDCG_exp": _ndcg,
    "RR": _reciprocal_rank,
    "bpref": _bpref,
}
