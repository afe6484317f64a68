"""One query in plain Python: for small inputs, to explain differences, and to check the evaluator against."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import log2

from bakeoff.measures.definitions import Bounds
from bakeoff.measures.names import Measure

Grades = Sequence[int | None]
_INFAP_EPSILON = 1e-5


@dataclass(frozen=True, slots=True)
class RankedGrades:
    """The grades of one ranking in scored order (None: not in the judgments), and all grades of its query."""

    grades: Grades
    judged: Sequence[int]
    rel: int = 1
    _ranks: dict[int, list[int]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _totals: dict[int, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def threshold(self, measure: Measure) -> int:
        """The lowest relevant grade for this measure."""
        if measure.name in ("nDCG", "nDCG_exp"):
            return 1
        return self.rel if measure.rel is None else measure.rel

    def ranks(self, least: int) -> list[int]:
        """Ranks of all results of that grade or a higher one."""
        if least not in self._ranks:
            pairs = enumerate(self.grades, start=1)
            self._ranks[least] = [rank for rank, grade in pairs if grade is not None and grade >= least]
        return self._ranks[least]

    def total(self, least: int) -> int:
        """How many items of the query have that grade or a higher one."""
        if least not in self._totals:
            self._totals[least] = len([grade for grade in self.judged if grade >= least])
        return self._totals[least]


def score(ranked: RankedGrades, measure: Measure) -> float:
    """The measure for one query that has relevant items."""
    return _FORMULAS[measure.name](ranked, measure)


def supports(measure: Measure) -> bool:
    """Whether this module can compute the measure."""
    return measure.name in _FORMULAS


def gain(measure: Measure, grade: int) -> float:
    """What an item is worth in DCG."""
    return float(2**grade - 1) if measure.name == "nDCG_exp" else float(grade)


def dcg(gains: Sequence[float]) -> float:
    """Σ gain / log2(rank + 1)."""
    return sum(value / log2(rank + 1) for rank, value in enumerate(gains, start=1))


def hit_ranks(ranked: RankedGrades, measure: Measure) -> list[int]:
    """Ranks of the relevant results in the top k."""
    ranks = ranked.ranks(ranked.threshold(measure))
    return ranks if measure.k is None else ranks[: bisect_right(ranks, measure.k)]


def relevant(ranked: RankedGrades, measure: Measure) -> int:
    """R: relevant items of the query."""
    return ranked.total(ranked.threshold(measure))


def count_unjudged(grades: Grades) -> int:
    """Results nobody judged; a negative grade marks one that was only pooled."""
    return sum(grade is None or grade < 0 for grade in grades)


def _precision(ranked: RankedGrades, measure: Measure) -> float:
    return len(hit_ranks(ranked, measure)) / (measure.k or 1)


def _precision_unique(ranked: RankedGrades, measure: Measure) -> float:
    return len(hit_ranks(ranked, measure)) / max(1, len(ranked.grades[: measure.k]))


def _recall(ranked: RankedGrades, measure: Measure) -> float:
    return len(hit_ranks(ranked, measure)) / relevant(ranked, measure)


def _recall_capped(ranked: RankedGrades, measure: Measure) -> float:
    return len(hit_ranks(ranked, measure)) / min(measure.k or 1, relevant(ranked, measure))


def _hit(ranked: RankedGrades, measure: Measure) -> float:
    return float(bool(hit_ranks(ranked, measure)))


def _reciprocal_rank(ranked: RankedGrades, measure: Measure) -> float:
    ranks = hit_ranks(ranked, measure)
    return 1 / ranks[0] if ranks else 0.0


def _average_precision(ranked: RankedGrades, measure: Measure) -> float:
    terms = (found / rank for found, rank in enumerate(hit_ranks(ranked, measure), start=1))
    return sum(terms) / relevant(ranked, measure)


def _ndcg(ranked: RankedGrades, measure: Measure) -> float:
    got = sum(
        gain(measure, ranked.grades[rank - 1] or 0) / log2(rank + 1) for rank in hit_ranks(ranked, measure)
    )
    best = sorted([grade for grade in ranked.judged if grade > 0], reverse=True)
    return got / dcg([gain(measure, grade) for grade in best[: measure.k]])


def _r_precision(ranked: RankedGrades, measure: Measure) -> float:
    total = relevant(ranked, measure)
    return sum(rank <= total for rank in hit_ranks(ranked, measure)) / total


def _bpref(ranked: RankedGrades, measure: Measure) -> float:
    total, least = relevant(ranked, measure), ranked.threshold(measure)
    most = min(sum(0 <= grade < least for grade in ranked.judged), total)
    wrong, terms = 0, []
    for grade in ranked.grades:
        if grade is None or grade < 0:
            continue
        if grade >= least:
            terms.append(1 - min(wrong, total) / most if most else 1.0)
        else:
            wrong += 1
    return sum(terms) / total


def _inferred_ap(ranked: RankedGrades, measure: Measure) -> float:
    least = ranked.threshold(measure)
    right = wrong = pooled = 0
    terms = []
    for rank, grade in enumerate(ranked.grades, start=1):
        if grade is None:
            continue
        if grade >= least:
            seen = (right + _INFAP_EPSILON) / (right + wrong + 2 * _INFAP_EPSILON)
            terms.append(1 / rank + (right + wrong + pooled) / rank * seen)
        right, wrong, pooled = right + (grade >= least), wrong + (0 <= grade < least), pooled + (grade < 0)
    return sum(terms) / relevant(ranked, measure)


def _rbp(ranked: RankedGrades, measure: Measure) -> float:
    p = measure.p or 0.0
    return (1 - p) * sum(p ** (rank - 1) for rank in hit_ranks(ranked, measure))


def _judged_share(ranked: RankedGrades, measure: Measure) -> float:
    top = ranked.grades[: measure.k]
    return (len(top) - count_unjudged(top)) / (measure.k or 1)


_FORMULAS: dict[str, Callable[[RankedGrades, Measure], float]] = {
    "P": _precision,
    "P_unique": _precision_unique,
    "R": _recall,
    "R_cap": _recall_capped,
    "Hit": _hit,
    "RR": _reciprocal_rank,
    "AP": _average_precision,
    "nDCG": _ndcg,
    "nDCG_exp": _ndcg,
    "Rprec": _r_precision,
    "bpref": _bpref,
    "infAP": _inferred_ap,
    "RBP": _rbp,
    "Judged": _judged_share,
}


# --- bounds over unjudged results -------------------------------------------------------------------


def bounds(ranked: RankedGrades, measure: Measure) -> tuple[float, float] | None:
    """Lower and upper value over unjudged results, None where the measure has none."""
    kind = measure.definition.bounds
    if kind is Bounds.NONE:
        return None
    point = score(ranked, measure)
    high = score(_all_right(ranked, measure, above=True), measure)
    if kind is Bounds.BOTH:
        return point, high
    low = point if measure.k is None else score(_all_right(ranked, measure, above=False), measure)
    return (low, high) if kind is Bounds.UPPER else (min(low, point, high), max(point, high))


def _all_right(ranked: RankedGrades, measure: Measure, *, above: bool) -> RankedGrades:
    """The ranking as it would be if the unjudged results above (or else below) the cut-off were relevant."""
    top = max(*ranked.judged, ranked.threshold(measure)) if ranked.judged else ranked.threshold(measure)
    depth = len(ranked.grades) if measure.k is None else measure.k
    grades = [
        top if (grade is None or grade < 0) and (rank <= depth) == above else grade
        for rank, grade in enumerate(ranked.grades, start=1)
    ]
    added = sum(new != old for new, old in zip(grades, ranked.grades, strict=True))
    # A pooled item that turns relevant leaves its negative grade behind, which no measure with bounds counts.
    return RankedGrades(grades, [*ranked.judged, *[top] * added], ranked.rel)
