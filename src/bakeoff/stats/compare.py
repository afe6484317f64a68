"""Compares all pairs of systems, paired by query, on the queries scored for both."""

from __future__ import annotations

from collections.abc import Sequence
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
from bakeoff.stats.bootstrap import BootstrapSettings, intervals_at, mean_intervals
from bakeoff.stats.clusters import Clusters, Dependence, EffectiveQuestions, dependence, effective_questions
from bakeoff.stats.comparison import Comparison, DroppedQueries, PairComparison, ScoreMatrix, SystemSummary
from bakeoff.stats.correction import holm, max_t
from bakeoff.stats.effects import TIE_TOLERANCE, cliffs_delta, deciding_places, win_loss_tie
from bakeoff.stats.equivalence import Bounds, possible_means
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
class _ScoredPair:
    """One measure in progress: the matrix, its values without structural queries, the settings."""

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
    settings = CompareSettings(BootstrapSettings(seed, resamples), alpha=alpha, correction=correction)
    return compare_all([matrix], settings)[0]


def summarise(matrix: ScoreMatrix, settings: CompareSettings) -> tuple[SystemSummary, ...]:
    """Each system's mean with its interval, without comparing pairs."""
    return _summaries(_score_inputs(matrix.sort_queries(), settings))


def rank_systems(matrix: ScoreMatrix) -> tuple[str, ...]:
    """Systems best first, by the queries that all ranked ones share, without comparing pairs."""
    values = matrix.without_structural()
    ranked = _well_scored(values)
    return _ranking(matrix, values, ranked, _shared_queries(values, ranked))


def compare_all(
    matrices: Sequence[ScoreMatrix], settings: CompareSettings, each: BlockMapper | None = None
) -> list[Comparison]:
    """Compare on several measures at once; one set of resamples serves every pair of every measure.

    `each` runs blocks of pairs in parallel.
    """
    ordered = [matrix.sort_queries() for matrix in matrices]
    _check_same_queries(ordered)
    scored = [_score_inputs(matrix, settings) for matrix in ordered]
    columns = [_differences(one.values) for one in scored]
    levels = (settings.bootstrap.level, 1 - 2 * settings.alpha)
    clusters = scored[0].clusters
    both = intervals_at(np.hstack(columns), settings.bootstrap, levels, each=each, clusters=clusters)
    made, start = [], 0
    for one, block in zip(scored, columns, strict=True):
        stop = start + block.shape[1]
        numbers = _pair_numbers(one, block, both[0][start:stop], both[1][start:stop], each)
        made.append(_comparison(one, block, numbers))
        start = stop
    return made


def _check_same_queries(matrices: Sequence[ScoreMatrix]) -> None:
    if not matrices:
        raise ComparisonError("no measure to compare. Give at least one score matrix.")
    for matrix in matrices:
        if (matrix.queries, matrix.clusters) != (matrices[0].queries, matrices[0].clusters):
            raise ComparisonError(
                f"{matrix.measure} and {matrices[0].measure} list different queries or clusters. "
                "Give every measure the same queries and NaN where a score was not computed."
            )


def _score_inputs(matrix: ScoreMatrix, settings: CompareSettings) -> _ScoredPair:
    return _ScoredPair(
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
    scored: _ScoredPair,
    columns: FloatArray,
    intervals: list[Interval],
    equivalence: list[Interval],
    each: BlockMapper | None,
) -> list[_PairNumbers]:
    pairs, settings, clusters = columns.shape[1], scored.settings, scored.clusters
    if not pairs:
        return []
    seed, flips = settings.bootstrap.seed, flips_for(pairs, settings.alpha)
    summed = columns if clusters.alone else clusters.sums(np.nan_to_num(columns))
    missing = np.isnan(scored.values)
    if (
        missing.any(axis=0) == missing.all(axis=0)
    ).all():  # a query not scored for any system has no difference
        tested = pair_randomisations(clusters.sums(np.nan_to_num(scored.values.T)), seed, flips, each)
    else:
        tested = randomisations(summed, seed, flips, each)
    p_values = [result.p for result in tested]
    stepped: list[float] | list[None] = [None] * pairs
    if settings.correction == "max-t":
        stepped = max_t(summed, seed, flips)
    largest = np.full(pairs, scored.matrix.largest_difference)
    rivals = max(1, len(scored.matrix.systems) - 1)
    levels = (settings.alpha, settings.alpha / rivals)
    possible, corrected = possible_means(columns, largest, levels, seed, clusters=clusters, each=each)
    sure = [ends is not None and not ends[0] <= 0.0 <= ends[1] for ends in corrected]
    held = holm(p_values)
    return [
        _PairNumbers(
            interval=intervals[pair],
            equivalence=equivalence[pair],
            p_randomisation=p_values[pair],
            p_holm=held[pair],
            p_max_t=stepped[pair],
            possible=possible[pair],
            holds_level=sure[pair],
        )
        for pair in range(pairs)
    ]


def _comparison(scored: _ScoredPair, columns: FloatArray, numbers: list[_PairNumbers]) -> Comparison:
    matrix, settings = scored.matrix, scored.settings
    places = combinations(range(len(matrix.systems)), 2)
    masks = _masks(scored.clusters, columns)
    pairs = tuple(
        _pair(scored, place, _PairColumn(columns[:, number], *masks[number]), numbers[number])
        for number, place in enumerate(places)
    )
    ranked = _well_scored(scored.values)
    shared = _shared_queries(scored.values, ranked)
    ranking = _ranking(matrix, scored.values, ranked, shared)
    return Comparison(
        measure=matrix.measure,
        systems=_summaries(scored),
        pairs=pairs,
        ranking=ranking,
        indistinguishable_from_best=_not_beaten(matrix.systems, pairs, ranking[0] if ranking else None),
        common=int(shared.sum()),
        correction=settings.correction,
        alpha=settings.alpha,
        seed=settings.bootstrap.seed,
        notes=_notes(scored, pairs, ranking, int(shared.sum())),
        higher_is_better=matrix.higher_is_better,
        bounds=matrix.bounds,
        questions=_questions(scored, ranked, shared),
    )


def _masks(clusters: Clusters, columns: FloatArray) -> dict[int, tuple[BoolArray, Clusters]]:
    """For each column the queries scored for both systems and their clusters, made once for all that share them."""
    found = {}
    for numbers, mask in groups_by_mask(columns):
        members = clusters.among(mask)
        found.update({int(number): (mask, members) for number in numbers})
    return found


def _questions(scored: _ScoredPair, ranked: IntArray, shared: BoolArray) -> EffectiveQuestions | None:
    """Effective number of shared questions: from the pairs' differences, or the scores of a single system."""
    values = scored.values[np.ix_(ranked, shared)]
    columns = _differences(values) if len(ranked) > 1 else values.T
    return effective_questions(columns, scored.clusters.among(shared))


def _pair(
    scored: _ScoredPair, place: tuple[int, int], column: _PairColumn, numbers: _PairNumbers
) -> PairComparison:
    matrix, values, settings = scored.matrix, scored.values, scored.settings
    common, clusters = column.common, column.clusters
    a, b = values[place[0]][common], values[place[1]][common]
    kept = column.differences[common]
    n = len(kept)
    depends = dependence(kept, clusters) if n else None
    difference = float(kept.mean()) if n else None
    sd = float(kept.std(ddof=1)) if n > 1 else None
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
        counts=win_loss_tie(direction * kept, settings.tie_tolerance),
        p_randomisation=numbers.p_randomisation,
        p_holm=numbers.p_holm,
        p_max_t=numbers.p_max_t,
        cliffs_delta=cliffs_delta(a, b),
        mdd=None
        if sd is None
        else detectable_difference(sd, n, alpha_pair, settings.power, dependence=depends),
        queries_needed=_queries_needed(sd, difference, alpha_pair, settings.power, depends),
        dropped=_dropped_queries(scored, place),
        alpha=settings.alpha,
        alpha_pair=alpha_pair,
        power=settings.power,
        identical=bool(n and np.abs(kept).max() <= NOISE),
        higher_is_better=matrix.higher_is_better,
        dependence=depends,
        possible=numbers.possible,
        holds_level=numbers.holds_level,
        deciding=tuple(matrix.queries[i] for i in np.flatnonzero(common)[deciding_places(kept)]),
        differences=clusters.sums(kept[:, None])[:, 0],
    )


def _queries_needed(
    sd: float | None, difference: float | None, alpha: float, power: float, depends: Dependence | None
) -> int | None:
    if sd is None or difference is None or abs(difference) < NOISE:
        return None
    return queries_needed(sd, difference, alpha, power, dependence=depends)


def _dropped_queries(scored: _ScoredPair, place: tuple[int, ...]) -> tuple[DroppedQueries, ...]:
    """Queries not counted because they can't be scored, or were not scored for one of the systems."""
    matrix = scored.matrix
    missing = np.isnan(scored.values[list(place)])
    found = []
    for number in np.flatnonzero(missing.any(axis=0)).tolist():
        query = matrix.queries[number]
        if query in matrix.structural:
            reason = f"cannot be scored: {matrix.structural[query]}"
        else:
            lacking = [matrix.systems[p] for p, gone in zip(place, missing[:, number], strict=True) if gone]
            reason = "; ".join(
                f"not scored for {system}: {matrix.reason(system, query)}" for system in lacking
            )
        found.append(DroppedQueries(query, reason))
    return tuple(found)


def _summaries(scored: _ScoredPair) -> tuple[SystemSummary, ...]:
    matrix, values = scored.matrix, scored.values
    intervals = mean_intervals(values.T, scored.settings.bootstrap, matrix.bounds, scored.clusters)
    made = []
    for place, (system, interval) in enumerate(zip(matrix.systems, intervals, strict=True)):
        kept = without_nan(values[place])
        mean = float(kept.mean()) if len(kept) else None
        dropped, at_best = _dropped_queries(scored, (place,)), _at_best(matrix, place, values[place])
        made.append(SystemSummary(system, mean, interval, len(kept), dropped, at_best))
    return tuple(made)


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
            touched = [group for group in groups if group & {pair.a, pair.b}]
            groups = [group for group in groups if group not in touched]
            groups.append({pair.a, pair.b}.union(*touched))
    order = list(dict.fromkeys(name for pair in pairs for name in (pair.a, pair.b)))
    return [tuple(sorted(group, key=order.index)) for group in groups]


def _notes(
    scored: _ScoredPair, pairs: tuple[PairComparison, ...], ranking: tuple[str, ...], common: int
) -> tuple[str, ...]:
    matrix, missing = scored.matrix, np.isnan(scored.values)
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
