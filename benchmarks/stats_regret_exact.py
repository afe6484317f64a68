"""The lowest coverage of the regret bound over all worlds of two systems of hits and misses, without simulation.

Run with: python benchmarks/stats_regret_exact.py. On n queries such systems have few outcomes: how many queries only
the better and only the worse system hits. The product decides each of them once, and the outcomes are weighted by their
exact probabilities in every world. Narrower bounds are put through the same decisions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln
from scipy.stats import norm, t

from common import Row, show
from stats_regret import ALPHA, FIRST_SEED, decide_case

SIZES = (10, 22, 50)
MILLISECONDS = np.array([100.0, 1.0])
"""The worse system is the cheaper one."""


@dataclass(frozen=True, slots=True)
class PairOutcomes:
    """Every outcome of n hits and misses of two systems: queries that only the better or only the worse one hits, and
    whether the worse one, which is cheaper, is recommended."""

    n: int
    won: np.ndarray
    lost: np.ndarray
    recommended: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, n: int) -> PairOutcomes:
        """The product's decision and bound for each outcome."""
        counts = np.array([(won, lost) for won in range(n + 1) for lost in range(n + 1 - won)])
        rows = []
        for won, lost in counts:
            better, worse = np.ones(n), np.ones(n)
            worse[:won], better[n - lost :] = 0.0, 0.0
            decision = decide_case(np.array([better, worse]), MILLISECONDS, FIRST_SEED)
            rows.append((decision.system == "s01", decision.case.evidence.regrets["s01"].bound))
        recommended, bounds = map(np.array, zip(*rows, strict=True))
        return cls(n, counts[:, 0], counts[:, 1], recommended, bounds)

    def student_bounds(self) -> np.ndarray:
        """Student's upper bound of the lead."""
        lead = (self.won - self.lost) / self.n
        variance = np.maximum(0.0, (self.won + self.lost) / self.n - lead**2) / (self.n - 1)
        return lead + float(t.ppf(1 - ALPHA, self.n - 1)) * np.sqrt(variance)

    def score_bounds(self) -> np.ndarray:
        """Score bound of a difference of paired proportions (Tango), by bisection."""
        low, high = (self.won - self.lost) / self.n, np.ones(len(self.won))
        quantile = float(norm.ppf(1 - ALPHA))
        for _ in range(40):
            gap = (low + high) / 2
            linear = (2 * self.n - self.won + self.lost) * gap - self.won - self.lost
            root = np.sqrt(linear**2 + 8 * self.n * self.lost * gap * (1 - gap))
            variance = self.n * ((root - linear) / (2 * self.n) + gap * (1 - gap))
            possible = self.won - self.lost - self.n * gap + quantile * np.sqrt(np.maximum(0.0, variance)) > 0
            low, high = np.where(possible, gap, low), np.where(possible, high, gap)
        return high

    def lowest_coverage(self, bounds: np.ndarray) -> float:
        """Coverage of the recommended system's bound in the hardest of all worlds.

        It is lowest where the true gap is just above a bound; the share of queries that only the worse system hits
        is varied in steps of a hundredth.
        """
        counts = np.stack([self.won, self.lost, self.n - self.won - self.lost], axis=1)
        arrangements = gammaln(self.n + 1) - gammaln(counts + 1).sum(axis=1)
        lowest = 1.0
        for bound in np.unique(bounds[self.recommended]):
            gap, missed = bound + 1e-6, self.recommended & (bounds <= bound)
            if 0 < gap < 1:
                lost = np.arange(0, (1 - gap) / 2, 0.01)
                shares = np.stack([gap + lost, lost, 1 - gap - 2 * lost])
                logarithms = arrangements[missed, None] + counts[missed] @ np.log(np.maximum(shares, 1e-300))
                lowest = min(lowest, 1 - float(np.exp(logarithms).sum(axis=0).max()))
        return lowest


def exact_rows() -> Iterator[Row]:
    """Lowest coverage over all worlds of two systems of hits and misses, without simulation."""
    for n in SIZES:
        outcomes = PairOutcomes.of(n)
        what = f"lowest coverage over all worlds of two systems of hits and misses, exact, n={n}"
        covered = outcomes.lowest_coverage(outcomes.bounds)
        yield Row(what, covered, 0.93, ">= 1")
        yield Row(what, covered, 0.97, "<= 1")
        yield Row(f"{what}: Tango's score bound", outcomes.lowest_coverage(outcomes.score_bounds()), 1.0)
        yield Row(f"{what}: Student's bound", outcomes.lowest_coverage(outcomes.student_bounds()), 1.0)


if __name__ == "__main__":
    raise SystemExit(show(exact_rows()))
