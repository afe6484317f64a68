"""Measures of a review: SemPrec, SemLift, FalsePos and Judged at k, with bounds over the unjudged.

A mean always says over how many queries it is and which were left out (F48). Two systems are compared only on queries
that are judged completely for both (F46); next to it, what the difference could be over all common queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bakeoff.measures.labels import BoundedMean, Label, LabelScores, label_scores
from bakeoff.review.pool import ReviewPool
from bakeoff.stats.bootstrap import BootstrapSettings, difference_bounds, mean_interval
from bakeoff.stats.intervals import Interval

Rankings = dict[str, dict[str, tuple[str, ...]]]
"""System → query → items in the order of ranks."""
NAMES = {
    "SemPrec": "semantic_precision",
    "SemLift": "semantic_lift",
    "FalsePos": "false_positive",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFigures:
    """Means of one system over its reviewed queries, and intervals over those judged completely."""

    system: str
    queries: tuple[str, ...]
    complete: tuple[str, ...]
    judged: float
    values: Mapping[str, BoundedMean]
    on_complete: Mapping[str, float | None]
    intervals: Mapping[str, Interval]
    counts: Mapping[Label, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairFigures:
    """System a against b on one measure: on queries complete for both, and bounds over all common ones."""

    a: str
    b: str
    measure: str
    queries: tuple[str, ...]
    left_out: Mapping[str, str]
    difference: float | None
    interval: Interval
    bounds: BoundedMean | None
    common: int


@dataclass(frozen=True, slots=True)
class ReviewFigures:
    """The measures of a review's systems."""

    k: int
    systems: tuple[SystemFigures, ...]
    pairs: tuple[PairFigures, ...]
    common: tuple[str, ...] = ()
    """The queries that are judged completely for every system."""
    on_common: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    """System → measure → mean on the common queries."""


Table = Mapping[tuple[str, str], LabelScores]
"""(system, query) → scores."""


def review_figures(rankings: Rankings, labels: Mapping[str, Label], k: int, seed: int = 7) -> ReviewFigures:
    """The measures of every system and of every pair."""
    table = {
        (system, query): label_scores([labels.get(item, Label.UNJUDGED) for item in items], k)
        for system, by_query in rankings.items()
        for query, items in by_query.items()
    }
    settings = BootstrapSettings(seed)
    names = list(rankings)
    systems = tuple(_system(name, rankings[name], labels, table, settings, k) for name in names)
    pairs = tuple(
        _pair(
            a=a, b=b, measure=measure, rankings=rankings, labels=labels, table=table, settings=settings, k=k
        )
        for place, a in enumerate(names)
        for b in names[place + 1 :]
        for measure in NAMES
    )
    sets = [set(one.complete) for one in systems]
    common = tuple(sorted(set.intersection(*sets))) if sets else ()
    on_common = {
        name: {
            measure: _plain_mean([_value(table[name, q], measure).value for q in common]) for measure in NAMES
        }
        for name in names
    }
    return ReviewFigures(k, systems, pairs, common, on_common)


def _system(
    name: str,
    by_query: Mapping[str, Sequence[str]],
    labels: Mapping[str, Label],
    table: Table,
    settings: BootstrapSettings,
    k: int,
) -> SystemFigures:
    queries = tuple(sorted(by_query))
    scores = [table[name, query] for query in queries]
    complete = tuple(query for query in queries if table[name, query].complete)
    done = [table[name, query] for query in complete]
    labelled = [labels.get(item, Label.UNJUDGED) for query in queries for item in by_query[query][:k]]
    columns = {measure: [_value(one, measure).value for one in done] for measure in NAMES}
    return SystemFigures(
        system=name,
        queries=queries,
        complete=complete,
        judged=sum(one.judged for one in scores) / len(scores) if scores else 0.0,
        values={measure: _mean([_value(one, measure) for one in scores]) for measure in NAMES},
        on_complete={measure: _plain_mean(column) for measure, column in columns.items()},
        intervals={
            measure: mean_interval(column, settings, (0.0, 1.0)) for measure, column in columns.items()
        },
        counts={label: labelled.count(label) for label in Label},
    )


def _pair(
    a: str,
    b: str,
    measure: str,
    rankings: Rankings,
    labels: Mapping[str, Label],
    table: Table,
    settings: BootstrapSettings,
    k: int,
) -> PairFigures:
    common = sorted(rankings[a].keys() & rankings[b].keys())
    both = tuple(query for query in common if table[a, query].complete and table[b, query].complete)
    differences = [_value(table[a, q], measure).value - _value(table[b, q], measure).value for q in both]
    return PairFigures(
        a=a,
        b=b,
        measure=measure,
        queries=both,
        left_out=_left_out(a, b, rankings, table, both),
        difference=sum(differences) / len(differences) if differences else None,
        interval=mean_interval(differences, settings, difference_bounds((0.0, 1.0))),
        bounds=_difference_bounds(measure, [(rankings[a][q], rankings[b][q]) for q in common], labels, k),
        common=len(common),
    )


def _left_out(a: str, b: str, rankings: Rankings, table: Table, both: Iterable[str]) -> dict[str, str]:
    """Why a query of either system is not compared."""
    left_out = {}
    for query in sorted((rankings[a].keys() | rankings[b].keys()) - set(both)):
        lacking = [name for name in (a, b) if query not in rankings[name]]
        if lacking:
            left_out[query] = f"no complete review of {' and '.join(lacking)}"
        else:
            open_ = [name for name in (a, b) if not table[name, query].complete]
            left_out[query] = f"unjudged results of {' and '.join(open_)}"
    return left_out


_COUNTED = {
    "SemPrec": frozenset({Label.KEYWORD_MATCH, Label.SEMANTIC_MATCH}),
    "SemLift": frozenset({Label.SEMANTIC_MATCH}),
    "FalsePos": frozenset({Label.FALSE_POSITIVE}),
}


def _difference_bounds(
    measure: str, rows: Sequence[tuple[Sequence[str], Sequence[str]]], labels: Mapping[str, Label], k: int
) -> BoundedMean | None:
    """The bounds of the mean a − b over common queries; unjudged items returned by both do not affect them."""
    if not rows:
        return None
    value = low = high = 0
    for first, second in rows:
        a, b = first[:k], second[:k]
        value += _count(a, labels, measure) - _count(b, labels, measure)
        open_a, open_b = ({item for item in side if not labels.get(item)} for side in (a, b))
        high, low = high + len(open_a - open_b), low - len(open_b - open_a)
    scale = len(rows) * k
    return BoundedMean(value / scale, (value + low) / scale, (value + high) / scale)


def _count(items: Sequence[str], labels: Mapping[str, Label], measure: str) -> int:
    return sum(labels.get(item, Label.UNJUDGED) in _COUNTED[measure] for item in items)


def _value(scores: LabelScores, measure: str) -> BoundedMean:
    value: BoundedMean = getattr(scores, NAMES[measure])
    return value


def _plain_mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _mean(values: Sequence[BoundedMean]) -> BoundedMean:
    n = len(values) or 1
    return BoundedMean(
        sum(one.value for one in values) / n,
        sum(one.low for one in values) / n,
        sum(one.high for one in values) / n,
    )


def pool_rankings(pool: ReviewPool) -> Rankings:
    """The items of each system and query by rank; an item returned twice is listed twice."""
    rankings: dict[str, dict[str, list[tuple[int, str]]]] = {system: {} for system in pool.systems}
    for item in pool.items:
        for one in item.returned:
            rankings[one.system].setdefault(item.query_id, []).append((one.rank, item.id))
    return {
        system: {query: tuple(name for _, name in sorted(rows)) for query, rows in by_query.items()}
        for system, by_query in rankings.items()
    }
