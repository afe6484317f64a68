"""Compares all pairs of systems, paired by query, on the queries scored for both."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bakeoff.errors import ComparisonError
from bakeoff.stats.arrays import (
    NOISE,
    BlockMapper,
    BoolArray,
    FloatArray,
    IntArray,
    groups_by_mask,
    without_nan,
)
from bakeoff.stats.bootstrap import BootstrapSettings, difference_bounds, intervals_at, mean_intervals
from bakeoff.stats.clusters import Clusters, Dependence, EffectiveQuestions, dependence, effective_questions
from bakeoff.stats.comparison import Comparison, DroppedQueries, PairComparison, ScoreMatrix, SystemSummary
from bakeoff.stats.correction import holm, max_t
from bakeoff.stats.effects import TIE_TOLERANCE, cliffs_delta, deciding_places, win_loss_tie
from bakeoff.stats.equivalence import Bounds, excludes_zero, possible_means
from bakeoff.stats.intervals import Interval
from bakeoff.stats.number_format import join_names
from bakeoff.stats.power import POWER, detectable_difference, queries_needed
from bakeoff.stats.tests import flips_for, pair_randomisations, randomisations

CORRECTIONS = ("holm", "max-t")


@dataclass(frozen=True, slots=True)
class CompareSettings:
    """Comparison settings: interval, correction over pairs, tie tolerance in points, and target power."""

    bootstrap: BootstrapSettings
    alpha: float = 0.05
    correction: str = "holm"
    tie_tolerance: float = TIE_TOLERANCE
    power: float = POWER

    def __post_init__(self) -> None:
        """Raise for an unknown correction."""
        if self.correction not in CORRECTIONS:
            raise ComparisonError(
                f"correction {self.correction!r} is unknown. Use {' or '.join(CORRECTIONS)}."
            )


@dataclass(frozen=True, slots=True)
class _ScoreInputs:
    """What a comparison needs: the matrix, its values without structural queries, the settings and the clusters."""

    matrix: ScoreMatrix
    values: FloatArray
    settings: CompareSettings
    clusters: Clusters


@dataclass(frozen=True, slots=True)
class _PairNumbers:
    """Arrays computed for all pairs at once, before they are split by pair."""

    interval: Interval
    equivalence: Interval
    p_randomisation: float
    p_holm: float
    p_max_t: float | None
    possible: Bounds | None
    holds_level: bool


@dataclass(frozen=True, slots=True)
class _PairColumn:
    """A pair's differences, the queries scored for both, and the clusters of these."""

    differences: FloatArray
    common: BoolArray
    clusters: Clusters


def compare(
    matrix: ScoreMatrix, seed: int, *, alpha: float = 0.05, correction: str = "holm", resamples: int = 10_000
) -> Comparison:
    """Compare all systems on one measure with the default interval."""
    return compare_systems(
        matrix, CompareSettings(BootstrapSettings(seed, resamples), alpha=alpha, correction=correction)
    )


def compare_systems(
    matrix: ScoreMatrix, settings: CompareSettings, mapper: BlockMapper | None = None
) -> Comparison:
    """Compare all pairs of systems on one measure; the mapper runs blocks of pairs in parallel."""
    inputs = _score_inputs(matrix.sort_queries(), settings)
    columns = _differences(inputs.values)
    return _comparison(inputs, columns, _pair_numbers(inputs, columns, mapper))


def summarise(matrix: ScoreMatrix, settings: CompareSettings) -> tuple[SystemSummary, ...]:
    """Each system's mean with its interval, without comparing pairs."""
    return _summaries(_score_inputs(matrix.sort_queries(), settings))


def rank_systems(matrix: ScoreMatrix) -> tuple[str, ...]:
    """Systems best first, by the queries that all ranked ones share, without comparing pairs."""
    values = matrix.without_structural()
    ranked = _well_scored(values)
    return _ranking(matrix, values, ranked, _shared_queries(values, ranked))


def _score_inputs(matrix: ScoreMatrix, settings: CompareSettings) -> _ScoreInputs:
    return _ScoreInputs(
        matrix, matrix.without_structural(), settings, Clusters.of(matrix.clusters, len(matrix.queries))
    )


def _differences(values: FloatArray) -> FloatArray:
    """Per-query differences of all pairs (queries × pairs); NaN if either score is missing."""
    pairs = list(combinations(range(len(values)), 2))
    if not pairs:
        return np.empty((values.shape[1], 0))
    first, second = (list(side) for side in zip(*pairs, strict=True))
    return (values[first] - values[second]).T


def _pair_numbers(
    inputs: _ScoreInputs, columns: FloatArray, mapper: BlockMapper | None
) -> list[_PairNumbers]:
    pairs, settings, clusters = columns.shape[1], inputs.settings, inputs.clusters
    if not pairs:
        return []
    levels = (settings.bootstrap.level, 1 - 2 * settings.alpha)
    intervals, equivalence = intervals_at(
        columns, settings.bootstrap, levels, difference_bounds(inputs.matrix.bounds), mapper, clusters
    )
    seed, flips = settings.bootstrap.seed, flips_for(pairs, settings.alpha)
    summed = columns if clusters.alone else clusters.sums(np.nan_to_num(columns))
    missing = np.isnan(inputs.values)
    if (
        missing.any(axis=0) == missing.all(axis=0)
    ).all():  # a query not scored for any system has no difference
        tests = pair_randomisations(clusters.sums(np.nan_to_num(inputs.values.T)), seed, flips, mapper)
    else:
        tests = randomisations(summed, seed, flips, mapper)
    p_values = [test.p for test in tests]
    p_holm = holm(p_values)
    p_max_t: list[float] | list[None] = [None] * pairs
    if settings.correction == "max-t":
        p_max_t = max_t(summed, seed, flips)
    largest = np.full(pairs, inputs.matrix.largest_difference)
    rivals = max(1, len(inputs.matrix.systems) - 1)
    alphas = (settings.alpha, settings.alpha / rivals)
    possible, corrected = possible_means(columns, largest, alphas, seed, clusters=clusters, mapper=mapper)
    return [
        _PairNumbers(
            interval=intervals[pair],
            equivalence=equivalence[pair],
            p_randomisation=p_values[pair],
            p_holm=p_holm[pair],
            p_max_t=p_max_t[pair],
            possible=possible[pair],
            holds_level=excludes_zero(corrected[pair]),
        )
        for pair in range(pairs)
    ]


def _comparison(inputs: _ScoreInputs, columns: FloatArray, numbers: list[_PairNumbers]) -> Comparison:
    matrix, settings = inputs.matrix, inputs.settings
    places = combinations(range(len(matrix.systems)), 2)
    masks = _masks(inputs.clusters, columns)
    pairs = tuple(
        _pair(inputs, place, _PairColumn(columns[:, number], *masks[number]), numbers[number])
        for number, place in enumerate(places)
    )
    ranked = _well_scored(inputs.values)
    shared = _shared_queries(inputs.values, ranked)
    ranking = _ranking(matrix, inputs.values, ranked, shared)
    return Comparison(
        measure=matrix.measure,
        systems=_summaries(inputs),
        pairs=pairs,
        ranking=ranking,
        indistinguishable_from_best=_not_beaten(matrix.systems, pairs, ranking[0] if ranking else None),
        common=int(shared.sum()),
        correction=settings.correction,
        alpha=settings.alpha,
        seed=settings.bootstrap.seed,
        notes=_notes(inputs, pairs, ranking, int(shared.sum())),
        higher_is_better=matrix.higher_is_better,
        bounds=matrix.bounds,
        questions=_questions(inputs, ranked, shared),
    )


def _masks(clusters: Clusters, columns: FloatArray) -> dict[int, tuple[BoolArray, Clusters]]:
    """For each column the queries scored for both systems and their clusters, computed once for all that share them."""
    masks = {}
    for numbers, mask in groups_by_mask(columns):
        members = clusters.among(mask)
        masks.update({int(number): (mask, members) for number in numbers})
    return masks


def _questions(inputs: _ScoreInputs, ranked: IntArray, shared: BoolArray) -> EffectiveQuestions | None:
    """Effective number of shared questions: from the pairs' differences, or the scores of a single system."""
    values = inputs.values[np.ix_(ranked, shared)]
    columns = _differences(values) if len(ranked) > 1 else values.T
    return effective_questions(columns, inputs.clusters.among(shared))


def _pair(
    inputs: _ScoreInputs, place: tuple[int, int], column: _PairColumn, numbers: _PairNumbers
) -> PairComparison:
    matrix, values, settings = inputs.matrix, inputs.values, inputs.settings
    common, clusters = column.common, column.clusters
    a, b = values[place[0]][common], values[place[1]][common]
    differences = column.differences[common]
    n = len(differences)
    depends = dependence(differences, clusters) if n else None
    difference = float(differences.mean()) if n else None
    sd = float(differences.std(ddof=1)) if n > 1 else None
    alpha_pair = settings.alpha / max(1, len(matrix.systems) * (len(matrix.systems) - 1) // 2)
    direction = 1.0 if matrix.higher_is_better else -1.0
    return PairComparison(
        a=matrix.systems[place[0]],
        b=matrix.systems[place[1]],
        n=n,
        mean_a=float(a.mean()) if n else None,
        mean_b=float(b.mean()) if n else None,
        difference=difference,
        sd=sd,
        interval=numbers.interval,
        equivalence_interval=numbers.equivalence,
        counts=win_loss_tie(direction * differences, settings.tie_tolerance),
        p_randomisation=numbers.p_randomisation,
        p_holm=numbers.p_holm,
        p_max_t=numbers.p_max_t,
        cliffs_delta=cliffs_delta(a, b),
        mdd=None
        if sd is None
        else detectable_difference(sd, n, alpha_pair, settings.power, dependence=depends),
        queries_needed=_queries_needed(sd, difference, alpha_pair, settings.power, depends),
        dropped=_dropped_queries(inputs, place),
        alpha=settings.alpha,
        alpha_pair=alpha_pair,
        power=settings.power,
        identical=bool(n and np.abs(differences).max() <= NOISE),
        higher_is_better=matrix.higher_is_better,
        dependence=depends,
        possible=numbers.possible,
        holds_level=numbers.holds_level,
        deciding=tuple(matrix.queries[i] for i in np.flatnonzero(common)[deciding_places(differences)]),
        differences=clusters.sums(differences[:, None])[:, 0],
    )


def _queries_needed(
    sd: float | None, difference: float | None, alpha: float, power: float, depends: Dependence | None
) -> int | None:
    if sd is None or difference is None or abs(difference) < NOISE:
        return None
    return queries_needed(sd, difference, alpha, power, dependence=depends)


def _dropped_queries(inputs: _ScoreInputs, place: tuple[int, ...]) -> tuple[DroppedQueries, ...]:
    """Queries not counted because they can't be scored, or were not scored for one of the systems."""
    matrix = inputs.matrix
    missing = np.isnan(inputs.values[list(place)])
    dropped = []
    for number in np.flatnonzero(missing.any(axis=0)).tolist():
        query = matrix.queries[number]
        if query in matrix.structural:
            reason = f"cannot be scored: {matrix.structural[query]}"
        else:
            lacking = [
                matrix.systems[p] for p, absent in zip(place, missing[:, number], strict=True) if absent
            ]
            reason = "; ".join(
                f"not scored for {system}: {matrix.reason(system, query)}" for system in lacking
            )
        dropped.append(DroppedQueries(query, reason))
    return tuple(dropped)


def _summaries(inputs: _ScoreInputs) -> tuple[SystemSummary, ...]:
    matrix, values = inputs.matrix, inputs.values
    intervals = mean_intervals(values.T, inputs.settings.bootstrap, matrix.bounds, inputs.clusters)
    summaries = []
    for place, (system, interval) in enumerate(zip(matrix.systems, intervals, strict=True)):
        scores = without_nan(values[place])
        mean = float(scores.mean()) if len(scores) else None
        dropped, at_best = _dropped_queries(inputs, (place,)), _at_best(matrix, place, values[place])
        summaries.append(SystemSummary(system, mean, interval, len(scores), dropped, at_best))
    return tuple(summaries)


def _at_best(matrix: ScoreMatrix, place: int, scores: FloatArray) -> float | None:
    """Share of a system's scores that are the best possible on this truth; None if unknown."""
    if matrix.best is not None:
        best = matrix.best[place]
    elif matrix.bounds is not None:
        best = np.full(len(scores), matrix.bounds[1] if matrix.higher_is_better else matrix.bounds[0])
    else:
        return None
    away = without_nan(np.abs(scores - best))
    return float((away <= NOISE).mean()) if len(away) else None


def _well_scored(values: FloatArray) -> IntArray:
    """Systems with at least half as many scores as the fullest; sparser ones would shrink the shared set."""
    counts = (~np.isnan(values)).sum(axis=1)
    return np.flatnonzero((counts > 0) & (2 * counts >= counts.max(initial=0)))


def _shared_queries(values: FloatArray, ranked: IntArray) -> BoolArray:
    """Mask of queries scored for all ranked systems."""
    shared: BoolArray = np.logical_not(np.isnan(values[ranked]).any(axis=0))
    return shared


def _ranking(matrix: ScoreMatrix, values: FloatArray, ranked: IntArray, shared: BoolArray) -> tuple[str, ...]:
    if not len(ranked) or not shared.any():
        return ()
    means = np.round(values[np.ix_(ranked, shared)].mean(axis=1), 12)
    order = np.argsort(-means if matrix.higher_is_better else means, kind="stable")
    return tuple(matrix.systems[int(ranked[place])] for place in order)


def _not_beaten(
    systems: tuple[str, ...], pairs: tuple[PairComparison, ...], best: str | None
) -> tuple[str, ...]:
    """Systems, including the best, that the best is not shown to beat."""
    if best is None:
        return systems
    beaten = {pair.b if pair.a == best else pair.a for pair in pairs if pair.better == best}
    return tuple(system for system in systems if system not in beaten)


def _identical(pairs: tuple[PairComparison, ...]) -> list[tuple[str, ...]]:
    """Groups of systems with identical scores."""
    groups: list[set[str]] = []
    for pair in pairs:
        if pair.identical:
            overlapping = [group for group in groups if group & {pair.a, pair.b}]
            groups = [group for group in groups if group not in overlapping]
            groups.append({pair.a, pair.b}.union(*overlapping))
    order = list(dict.fromkeys(name for pair in pairs for name in (pair.a, pair.b)))
    return [tuple(sorted(group, key=order.index)) for group in groups]


def _notes(
    inputs: _ScoreInputs, pairs: tuple[PairComparison, ...], ranking: tuple[str, ...], common: int
) -> tuple[str, ...]:
    matrix, missing = inputs.matrix, np.isnan(inputs.values)
    notes = [
        f"{join_names(group)} have identical scores on every query of {matrix.measure}: "
        "check that they are not the same system."
        for group in _identical(pairs)
    ]
    left = [system for system in matrix.systems if system not in ranking]
    if ranking and left:
        notes.append(f"not ranked, because fewer than half of the queries are scored: {', '.join(left)}.")
    if matrix.systems and not ranking:
        notes.append(f"no query of {matrix.measure} is scored for every system, so none is called best.")
    elif (missing.any(axis=0) != missing.all(axis=0)).any():
        notes.append(
            f"systems were scored on different queries: pairs use the queries they share, the ranking the "
            f"{common} that all ranked systems share."
        )
    return tuple(notes)
