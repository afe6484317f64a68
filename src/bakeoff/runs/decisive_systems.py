"""Chooses the systems to compare pair by pair: all, or those with the best means if all would take too long."""

from __future__ import annotations

from bakeoff.runs.analysis import Result
from bakeoff.runs.once import once_per_result
from bakeoff.stats.bootstrap import BootstrapSettings
from bakeoff.stats.compare import CompareSettings, compare_systems
from bakeoff.stats.comparison import Comparison
from bakeoff.stats.tests import flips_for

WORK = 2e12
"""Sign flips × queries × pairs beyond which comparing all pairs takes minutes, and much memory."""
MOST_COMPARED = 40
"""Number of systems to compare if there are too many."""


def too_many(systems: int, queries: int) -> bool:
    """Whether comparing all pairs would take too long for a report."""
    pairs = systems * (systems - 1) // 2
    return pairs > 0 and float(pairs) * flips_for(pairs, 0.05) * queries > WORK


def compares_all(result: Result) -> bool:
    """Whether all pairs of the run's systems are compared."""
    return not too_many(len(result.done), result.queries.num_rows)


@once_per_result
def decisive_comparison(result: Result) -> Comparison:
    """Compare all pairs of systems on the primary measure, or only the best means if there are too many."""
    if compares_all(result):
        return result.comparison
    matrix = result.matrix(result.record.primary)
    means = {system: one.mean for system, one in result.summaries(result.record.primary).items()}
    sign = -1.0 if matrix.higher_is_better else 1.0
    ranked = sorted((sign * mean, system) for system, mean in means.items() if mean is not None)
    compared = tuple(system for _, system in ranked[:MOST_COMPARED])
    return compare_systems(matrix.only(compared), CompareSettings(BootstrapSettings(result.record.seed)))
