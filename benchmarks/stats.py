"""Intervals against scipy: speed and simulated coverage; the tests are in stats_power.py.

Speed is CPU time for 28 pairs × 15 measures × 10,000 resamples. Run with: python benchmarks/stats.py
The curve in docs/statistics.md is made with: python benchmarks/stats.py --curve
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from bakeoff.stats.bootstrap import BootstrapSettings, interval_ends
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
        return reciprocal_rank(base - shift + rng.normal(0, 0.5, shape)) - reciprocal_rank(
            base + rng.normal(0, 0.5, shape)
        )

    return draw


def reciprocal_rank(latents: np.ndarray) -> np.ndarray:
    """Reciprocal rank at depth 10 of a latent log rank."""
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
    return show([*_speed(), *_coverage()])


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


if __name__ == "__main__":
    raise SystemExit(main())
