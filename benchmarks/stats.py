"""Statistics against scipy: speed, and what simulation says of coverage, false winners and power.

Speed is CPU time for 28 pairs × 15 measures × 10,000 resamples. Run with: python benchmarks/stats.py
The curve in docs/statistics.md is made with: python benchmarks/stats.py --curve
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import stats

from bakeoff.stats.bootstrap import BootstrapSettings, interval_ends
from bakeoff.stats.correction import holm, max_t
from bakeoff.stats.tests import randomisations, wilcoxon
from common import Row, show

PAIRS, MEASURES, QUERIES, RESAMPLES = 28, 15, 50, 10_000
METHODS = ("percentile", "bca", "expanded", "symmetric", "hull")
GRADES = np.array([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 10, 0])
GOOD = (0.45, 0.15, 0.08, 0.05, 0.04, 0.03, 0.20)
WORSE = (0.35, 0.15, 0.10, 0.05, 0.05, 0.05, 0.25)
HARD = (0.15, 0.08, 0.05, 0.04, 0.04, 0.04, 0.60)
EASY = (0.80, 0.08, 0.04, 0.02, 0.01, 0.01, 0.04)

Shape = tuple[int, ...]
Draw = Callable[[np.random.Generator, Shape], np.ndarray]


@dataclass(frozen=True, slots=True)
class Population:
    """Paired differences of reciprocal rank; `mrr_like` ones must be covered at the stated level."""

    name: str
    draw: Draw
    mrr_like: bool = True


def copied(first: tuple[float, ...], second: tuple[float, ...], same: float) -> Draw:
    """Two systems with given rank distributions that return the same on a share of the queries."""

    def draw(rng: np.random.Generator, shape: Shape) -> np.ndarray:
        a, b = rng.choice(GRADES, shape, p=first), rng.choice(GRADES, shape, p=second)
        return a - np.where(rng.random(shape) < same, a, b)

    return draw


def latent(difficulty: float, shift: float) -> Draw:
    """Two systems that share the difficulty of a query; ranks are rounded exponentials, cut at 10."""

    def draw(rng: np.random.Generator, shape: Shape) -> np.ndarray:
        base = rng.normal(difficulty, 1.3, shape)
        return _rr(base - shift + rng.normal(0, 0.5, shape)) - _rr(base + rng.normal(0, 0.5, shape))

    return draw


def _rr(latents: np.ndarray) -> np.ndarray:
    rank = np.maximum(1, np.ceil(np.exp(latents)))
    return np.where(rank <= 10, 1 / rank, 0.0)


POPULATIONS = (
    Population("equal, independent", copied(GOOD, GOOD, 0.0)),
    Population("better, half the same", copied(GOOD, WORSE, 0.5)),
    Population("equal, hard queries", copied(HARD, HARD, 0.3)),
    Population("much better", copied(GOOD, HARD, 0.5)),
    Population("equal, shared difficulty", latent(0.5, 0.0)),
    Population("better, shared difficulty", latent(0.8, 0.4)),
    Population("better, easy queries", latent(-0.3, 0.3)),
    Population("better, hard queries", latent(2.5, 0.5)),
    Population("equal, 90 % of queries tied", copied(EASY, EASY, 0.7), mrr_like=False),
)


def main() -> int:
    """Print every row, or the coverage curve."""
    if "--curve" in sys.argv:
        _curve((10, 22, 50, 100, 200), samples=3000, resamples=2000)
        return 0
    return show([*_speed(), *_coverage(), *_family(), *_power()])


def _cpu(work: Callable[[], object], repeats: int = 3) -> float:
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def _speed() -> list[Row]:
    rng = np.random.default_rng(0)
    columns = POPULATIONS[5].draw(rng, (QUERIES, PAIRS * MEASURES))
    plain, default = BootstrapSettings(1, RESAMPLES, method="percentile"), BootstrapSettings(1, RESAMPLES)

    def scipy_all(batch: int | None = None) -> object:
        found = stats.bootstrap(
            (columns,), np.mean, axis=0, n_resamples=RESAMPLES, method="percentile", batch=batch, rng=2
        )
        return found.confidence_interval

    def scipy_each() -> None:
        for column in columns.T:
            stats.bootstrap((column,), np.mean, n_resamples=RESAMPLES, method="percentile", batch=200, rng=2)

    each, together, batched = _cpu(scipy_each, 1), _cpu(scipy_all, 1), _cpu(lambda: scipy_all(100), 1)
    ours, hull = _cpu(lambda: interval_ends(columns, plain)), _cpu(lambda: interval_ends(columns, default))
    low, high = interval_ends(columns, plain)
    theirs = scipy_all(100)
    apart = np.maximum(np.abs(low - theirs.low), np.abs(high - theirs.high)) / (theirs.high - theirs.low)
    return [
        Row("percentile, cpu s against scipy column by column", ours, each, "<= 0.0667"),
        Row("percentile, cpu s against scipy on all columns", ours, together, "<= 0.0667"),
        Row("percentile, cpu s against scipy on all columns, batch=100 by hand", ours, batched),
        Row("default interval, cpu s against scipy's percentile column by column", hull, each, "<= 0.0667"),
        Row("interval ends, largest distance to scipy's in widths", float(apart.max()), 1.0, "<= 0.05"),
    ]


def covered(population: Population, n: int, samples: int, settings: BootstrapSettings) -> float:
    """Share of simulated samples of n queries whose interval holds the true mean."""
    rng = np.random.default_rng([n, len(population.name)])
    truth = float(np.mean([population.draw(rng, (500_000,)).mean() for _ in range(4)]))
    drawn = population.draw(rng, (n, samples))
    drawn = drawn[:, np.ptp(drawn, axis=0) > 0]
    low, high = interval_ends(drawn, settings)
    return float(((low <= truth) & (truth <= high)).mean())


def _coverage() -> list[Row]:
    rows = []
    for n in (22, 50, 200):
        found = [covered(one, n, 2000, BootstrapSettings(1, 1500)) for one in POPULATIONS if one.mrr_like]
        rows.append(
            Row(f"default interval, lowest coverage of 8 populations, n={n}", min(found), 1.0, ">= 0.93")
        )
        rows.append(
            Row(f"default interval, highest coverage of 8 populations, n={n}", max(found), 1.0, "<= 0.97")
        )
    return rows


def _curve(sizes: tuple[int, ...], samples: int, resamples: int) -> None:
    print("| n | population | " + " | ".join(METHODS) + " |")
    print("|---|---|" + "---|" * len(METHODS))
    for n in sizes:
        for one in POPULATIONS:
            found = [
                covered(one, n, samples, BootstrapSettings(1, resamples, method=name)) for name in METHODS
            ]
            print(
                f"| {n} | {one.name} | " + " | ".join(f"{100 * share:.1f}" for share in found) + " |",
                flush=True,
            )


def _family(rounds: int = 1000) -> list[Row]:
    first, second = (list(side) for side in zip(*combinations(range(8), 2), strict=True))
    uncorrected = by_holm = by_max_t = 0
    for seed in range(rounds):
        rng = np.random.default_rng([seed, 9])
        values = _rr(rng.normal(0.5, 1.3, QUERIES) + rng.normal(0, 0.7, (8, QUERIES)))
        columns = (values[first] - values[second]).T
        p_values = [result.p for result in randomisations(columns, seed, flips=2000)]
        uncorrected += min(p_values) <= 0.05
        by_holm += min(holm(p_values)) <= 0.05
        by_max_t += min(max_t(columns, seed, flips=2000)) <= 0.05
    print(
        f"8 equal systems, {rounds} rounds: a false difference in {uncorrected / rounds:.1%} without correction"
    )
    return [
        Row(
            "8 equal systems, share of rounds with a false difference, Holm", by_holm / rounds, 1.0, "<= 0.05"
        ),
        Row("8 equal systems, share of rounds with a false difference, max-T", by_max_t / rounds, 1.0),
    ]


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


def _power(rounds: int = 600) -> list[Row]:
    """How far the tests and the decision fall behind the best of sign flips, signed ranks and paired t."""
    rows = []
    for n in (22, 50, 200):
        behind = {name: _behind(n, name, draw, rounds) for name, draw in alternatives(n).items()}
        for place, what in enumerate(("sign flips", "the decision")):
            worst = max(behind, key=lambda name: behind[name][place])
            name = f"{what}, power behind the best test, worst of 6 alternatives ({worst}), n={n}"
            rows.append(Row(name, behind[worst][place], 1.0, "<= 0.05"))
    return rows


def _behind(n: int, name: str, draw: Draw, rounds: int) -> tuple[float, float]:
    columns = draw(np.random.default_rng(n), (n, rounds))
    columns = columns[:, np.ptp(columns, axis=0) > 0]
    found = np.array([result.p <= 0.05 for result in randomisations(columns, 1, flips=2000)])
    low, high = interval_ends(columns, BootstrapSettings(1, 2000))
    both = found & ((low > 0) | (high < 0))
    ranks = float(np.mean([wilcoxon(column).p <= 0.05 for column in columns.T]))
    student = float(np.mean(stats.ttest_1samp(columns, 0).pvalue <= 0.05))
    print(
        f"power, n={n}, {name}: sign flips {found.mean():.3f}, decision {both.mean():.3f}, "
        f"signed ranks {ranks:.3f}, paired t {student:.3f}"
    )
    best = max(float(found.mean()), ranks, student)
    return best - float(found.mean()), best - float(both.mean())


if __name__ == "__main__":
    raise SystemExit(main())
