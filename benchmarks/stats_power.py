"""The paired test in simulation: how often it separates equal systems, and how often different ones.

Run with: python benchmarks/stats_power.py. It prints the power table of docs/statistics.md; the table of false
differences in seven families is made with: python benchmarks/stats_power.py --families [ROUNDS]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations, repeat

import numpy as np
import scipy.stats

from bakeoff.stats.bootstrap import BootstrapSettings, interval_ends, mean_intervals
from bakeoff.stats.clusters import Clusters
from bakeoff.stats.correction import holm, max_t
from bakeoff.stats.equivalence import possible_means
from bakeoff.stats.tests import randomisations, sign_blocks, wilcoxon
from common import Row, show
from stats import EASY, GOOD, GRADES, HARD, WORSE, Draw, copied, latent, reciprocal_rank

PAIRS, QUERIES = 28, 50
FIRST_SEED = 10_000
"""Of the families: others than those on which the level of a declared difference was chosen (0 to 299)."""


def main() -> int:
    """Print every row, or the table of families only."""
    if "--families" in sys.argv:
        rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 600
        return show(_families(rounds))
    return show([*_families(), *_power()])


def shared(rng: np.random.Generator, n: int) -> np.ndarray:
    """Eight systems of equal quality that find the same queries hard."""
    return reciprocal_rank(rng.normal(0.5, 1.3, n) + rng.normal(0, 0.7, (8, n)))


def mostly_same(rng: np.random.Generator, n: int) -> np.ndarray:
    """Eight systems of equal quality that return the same on most queries."""
    return np.where(
        rng.random((8, n)) < 0.8, rng.choice(GRADES, n, p=GOOD), rng.choice(GRADES, (8, n), p=GOOD)
    )


def skewed(rng: np.random.Generator, n: int) -> np.ndarray:
    """Eight systems of equal mean; four lose .1 on most queries and gain .4 on one in five."""
    values = rng.uniform(0.2, 0.6, n) + rng.normal(0, 0.03, (8, n))
    values[4:] += np.where(rng.random((4, n)) < 0.2, 0.4, -0.1)
    return values


def heavy_zeros(rng: np.random.Generator, n: int) -> np.ndarray:
    """Eight systems of equal quality that all find nothing for 85 % of the queries."""
    return np.where(rng.random(n) < 0.85, 0.0, rng.choice(GRADES, (8, n), p=GOOD))


def few_decide(rng: np.random.Generator, n: int) -> np.ndarray:
    """Eight systems of equal mean; four gain .03 on 95 % of the queries and lose .57 on the few others."""
    values = rng.uniform(0.6, 0.9, n) + rng.normal(0, 0.01, (8, n))
    values[4:] += np.where(rng.random((4, n)) < 0.05, -0.57, 0.03)
    return values


def few_shared(rng: np.random.Generator, n: int) -> np.ndarray:
    """As above, and the few queries that decide are the same for all four."""
    values = rng.uniform(0.6, 0.9, n) + rng.normal(0, 0.01, (8, n))
    values[4:] += np.where(rng.random(n) < 0.05, -0.57, 0.03)
    return values


def one_in_a_hundred(rng: np.random.Generator, n: int) -> np.ndarray:
    """Eight systems of equal mean; four gain .003 on 99 % of the queries and lose .297 on one in a hundred."""
    values = rng.uniform(0.4, 0.6, n) + rng.normal(0, 0.01, (8, n))
    values[4:] += np.where(rng.random((4, n)) < 0.01, -0.297, 0.003)
    return values


FAMILIES = (shared, mostly_same, skewed, heavy_zeros, few_decide, few_shared, one_in_a_hundred)


def sure(columns: np.ndarray, alpha: float, seed: int = 1, clusters: Clusters | None = None) -> np.ndarray:
    """Which columns have a mean whose sign is sure against queries too rare to be seen."""
    if not columns.shape[1]:
        return np.zeros(0, dtype=bool)
    (bounds,) = possible_means(columns, np.ones(columns.shape[1]), (alpha,), seed, clusters=clusters)
    return np.array([ends is not None and not ends[0] <= 0 <= ends[1] for ends in bounds])


@dataclass(frozen=True, slots=True)
class FalseRates:
    """Shares of rounds with a false difference among 28 pairs: by single tests, by tests and interval, and declared."""

    uncorrected: float
    holm: float
    max_t: float
    tests: float
    declared: float


def false_differences(
    draw: Callable[[np.random.Generator, int], np.ndarray], n: int, rounds: int
) -> FalseRates:
    """How often eight systems with equal means are separated on n queries."""
    first, second = (list(side) for side in zip(*combinations(range(8), 2), strict=True))
    found = np.zeros(5)
    for seed in range(FIRST_SEED, FIRST_SEED + rounds):
        values = draw(np.random.default_rng([seed, 9]), n)
        columns = (values[first] - values[second]).T
        p_values = [result.p for result in randomisations(columns, seed, flips=2000)]
        corrected = np.array(holm(p_values)) <= 0.05
        excluded = [one.excludes(0.0) for one in mean_intervals(columns, BootstrapSettings(seed, 500))]
        stepped = min(max_t(columns, seed, flips=2000))
        decided = corrected & excluded
        declared = sure(columns[:, decided], 0.05 / 7, seed)
        found += [
            min(p_values) <= 0.05,
            corrected.any(),
            stepped <= 0.05,
            decided.any(),
            declared.any(),
        ]
    return FalseRates(*(float(share) for share in found / rounds))


def _families(rounds: int = 600) -> list[Row]:
    """The share of rounds with a false difference in each family, and with one that is declared."""
    rows = []
    print("| eight equal systems | n | no correction | Holm | max-T | tests and interval | declared |")
    print("|---|---|---|---|---|---|---|")
    cells = [(draw, n) for draw in FAMILIES for n in (20, QUERIES, 200)]
    with ProcessPoolExecutor() as pool:
        for (draw, n), share in zip(
            cells, pool.map(false_differences, *zip(*cells, strict=True), repeat(rounds)), strict=True
        ):
            name = draw.__name__.replace("_", " ")
            shares = (getattr(share, field) for field in share.__slots__)
            print(f"| {name} | {n} | " + " | ".join(f"{100 * one:.1f}" for one in shares) + " |", flush=True)
            title = (
                f"8 equal systems, {name}, n={n}, share of {rounds} rounds with a declared false difference"
            )
            rows.append(Row(title, share.declared, 0.05, "<= 1"))
    return rows


def alternatives(n: int) -> dict[str, Draw]:
    """Systems that truly differ, by about as much as n queries can show."""
    scale = {22: 1.3, 50: 1.0, 200: 0.5}[n]
    few = n < 100
    return {
        "shared difficulty": latent(0.8, 0.35 * scale),
        "easy queries": latent(-0.3, 0.4 * scale),
        "hard queries": latent(2.5, 0.5 * scale),
        "half the same": copied(GOOD, WORSE, 0.5),
        "mostly the same": copied(GOOD, HARD, 0.8 if few else 0.93),
        "mostly the same, easy": copied(EASY, GOOD, 0.75 if few else 0.9),
    }


@dataclass(frozen=True, slots=True)
class Power:
    """Shares of samples in which each test, the interval, and interval and test together find the difference.

    `declared` are those in which it is also sure against queries too rare to be seen.
    """

    flips_of_mean: float
    signed_ranks: float
    paired_t: float
    test: float
    interval: float
    decision: float
    declared: float

    @property
    def best(self) -> float:
        """The power of the best of the three tests alone."""
        return max(self.flips_of_mean, self.signed_ranks, self.paired_t)


def power(columns: np.ndarray, pairs: int, flips: int) -> Power:
    """Power at a level of .05 over so many pairs; the interval is the usual one of 95 %."""
    alpha = 0.05 / pairs
    found = np.array([result.p for result in randomisations(columns, 1, flips)]) <= alpha
    low, high = interval_ends(columns, BootstrapSettings(1, 2000))
    excluded = (low > 0) | (high < 0)
    decided = found & excluded
    declared = decided.copy()
    declared[decided] = sure(columns[:, decided], 0.05 / {1: 1, PAIRS: 7}[pairs])
    shares = (
        _flips_of_mean(columns, flips) <= alpha,
        np.array([wilcoxon(column).p for column in columns.T]) <= alpha,
        scipy.stats.ttest_1samp(columns, 0).pvalue <= alpha,
        found,
        excluded,
        decided,
        declared,
    )
    return Power(*(float(share.mean()) for share in shares))


def _flips_of_mean(columns: np.ndarray, flips: int) -> np.ndarray:
    reached = sum(
        (np.abs(signs @ columns) >= np.abs(columns.sum(axis=0)) - 1e-9).sum(axis=0)
        for signs in sign_blocks(len(columns), flips, 1)
    )
    return (reached + 1) / (flips + 1)


def simulated(pairs: int, rounds: int, flips: int) -> dict[tuple[int, str], Power]:
    """The power on all 18 alternatives."""
    found = {}
    for n in (22, 50, 200):
        for name, draw in alternatives(n).items():
            columns = draw(np.random.default_rng(n), (n, rounds))
            found[n, name] = power(columns[:, np.ptp(columns, axis=0) > 0], pairs, flips)
    return found


def _power(rounds: int = 800) -> list[Row]:
    """How far the test and the decision fall behind the best of sign flips of the mean, signed ranks and t."""
    rows = []
    for pairs, flips in ((1, 2000), (PAIRS, 10_000)):
        found = simulated(pairs, rounds, flips)
        _show_power(found, pairs)
        for n in (22, 50, 200):
            mine = {name: one for (size, name), one in found.items() if size == n}
            for what in ("test", "decision", "declared"):
                behind = {name: one.best - getattr(one, what) for name, one in mine.items()}
                worst = max(behind, key=behind.__getitem__)
                name = f"{what}, power behind the best of three at .05/{pairs}, worst of 6 ({worst}), n={n}"
                target = "<= 0.05" if (what, pairs) == ("test", 1) else ""
                rows.append(Row(name, behind[worst], 1.0, target))
    return rows


def _show_power(found: dict[tuple[int, str], Power], pairs: int) -> None:
    print(f"\npower in percent at p <= .05/{pairs}")
    print(
        "| n | alternative | flips of the mean | signed ranks | paired t | test | interval | decision | declared |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for (n, name), one in found.items():
        cells = (getattr(one, field) for field in one.__slots__)
        print(f"| {n} | {name} | " + " | ".join(f"{100 * share:.1f}" for share in cells) + " |", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
