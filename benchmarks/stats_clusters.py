"""Clustered questions in simulation: coverage of intervals, false differences, and coverage if clusters are ignored.

Run with: python benchmarks/stats_clusters.py [SAMPLES]. It prints the table of docs/statistics.md (2,000 samples). The
seeds are others than those on which the assumed correlation within clusters was chosen.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from scipy.stats import binom

from bakeoff.stats.bootstrap import BootstrapSettings, interval_ends
from bakeoff.stats.clusters import Clusters
from bakeoff.stats.interaction import cluster_flip_p
from bakeoff.stats.tests import randomisations
from common import Row, show
from stats_power import sure

SAMPLES, RESAMPLES = 2_000, 1_000
FRESH = 10_000
"""Part of every seed."""
EQUAL = (10, 20, 30, 50, 100, 200)
ICCS = (0.0, 0.2, 0.5)
CELLS = 2 * len(EQUAL) * len(ICCS)


@dataclass(frozen=True, slots=True)
class Design:
    """How many clusters there are and how their sizes are spread."""

    clusters: int
    sizes: str

    def codes(self, rng: np.random.Generator) -> np.ndarray:
        """The cluster of each query: ten in each, or one to about twenty."""
        if self.sizes == "equal":
            return np.repeat(np.arange(self.clusters), 10)
        drawn = np.minimum(30, 1 + rng.geometric(0.2, self.clusters))
        return np.repeat(np.arange(self.clusters), drawn)


DESIGNS = [Design(count, sizes) for sizes in ("equal", "unequal") for count in EQUAL]


def differences(codes: np.ndarray, icc: float, samples: int, rng: np.random.Generator) -> np.ndarray:
    """Paired differences of reciprocal rank, queries × samples, of mean 0, correlated within clusters.

    A document moves the latent log rank of its queries for one system and not for the other; which of the two it moves
    is a matter of chance, so the true mean difference is 0.
    """
    count, n = int(codes.max()) + 1, len(codes)
    shared = rng.normal(size=(2, count, samples))[:, codes] * (2.0 * icc) ** 0.5
    own = rng.normal(size=(2, n, samples)) * (2.0 * (1 - icc)) ** 0.5
    rank = np.maximum(1, np.ceil(np.exp(0.6 + (shared + own) * 0.8)))
    scores = np.where(rank <= 10, 1 / rank, 0.0)
    return np.asarray(scores[0] - scores[1])


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares of samples: intervals that hold the true mean, by cluster and by query; false differences.

    `tests` are those that sign flips and interval find, `declared` those that are sure against rare queries too.
    """

    by_cluster: float
    by_query: float
    tests: float
    declared: float


def simulate(design: Design, icc: float, samples: int, resamples: int = RESAMPLES) -> Rates:
    """One design at one correlation; sizes of clusters are drawn again for every block of samples."""
    found = np.zeros(4)
    blocks = 10
    for block in range(blocks):
        rng = np.random.default_rng([FRESH, design.clusters, len(design.sizes), int(icc * 100), block])
        codes = design.codes(rng)
        drawn = differences(codes, icc, max(1, samples // blocks), rng)
        clusters, settings = Clusters(codes), BootstrapSettings(1, resamples)
        covered = []
        for used in (clusters, None):
            low, high = interval_ends(drawn, settings, used)
            covered.append(float(((low <= 0) & (high >= 0)).mean()))
        flipped = [result.p <= 0.05 for result in randomisations(clusters.sums(drawn), 1, 1_000)]
        low, high = interval_ends(drawn, settings, clusters)
        false = np.array(flipped) & ((low > 0) | (high < 0))
        declared = sure(drawn[:, false], 0.05, clusters=clusters).sum() / drawn.shape[1]
        found += [*covered, float(false.mean()), float(declared)]
    return Rates(*(float(value) for value in found / blocks))


def category_level(clusters: int, icc: float, samples: int) -> float:
    """Share of samples in which categories that do not matter are found to matter, at 5 %."""
    rng = np.random.default_rng([FRESH, clusters, int(icc * 100)])
    codes = np.repeat(np.arange(clusters), 5)
    labels = ["x" if code % 2 else "y" for code in codes]
    drawn = differences(codes, icc, samples, rng)
    together = Clusters(codes)
    return float(
        np.mean([cluster_flip_p(column, labels, 1, clusters=together) <= 0.05 for column in drawn.T])
    )


def highest_by_chance(samples: int) -> float:
    """The share that the highest of all cells exceeds by chance in 5 % of tables, if each is 5 %."""
    return float(binom.ppf(0.95 ** (1 / CELLS), samples, 0.05)) / samples


def main() -> int:
    """Print the table and the rows."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    found: dict[str, list[Rates]] = {"equal": [], "unequal": []}
    print("| clusters | sizes | ICC of the latent | by cluster | by query | tests | declared |")
    print("|---|---|---|---|---|---|---|")
    cells = [(design, icc) for design in DESIGNS for icc in ICCS]
    with ProcessPoolExecutor() as pool:
        for (design, icc), one in zip(
            cells, pool.map(simulate, *zip(*cells, strict=True), repeat(samples)), strict=True
        ):
            shown = " | ".join(
                f"{100 * share:.1f}" for share in (one.by_cluster, one.by_query, one.tests, one.declared)
            )
            print(f"| {design.clusters} | {design.sizes} | {icc} | {shown} |", flush=True)
            found[design.sizes].append(one)
    rows, limit = [], highest_by_chance(samples)
    for sizes, rates in found.items():
        covered = [one.by_cluster for one in rates]
        tests, declared = [one.tests for one in rates], [one.declared for one in rates]
        where = f"10 to 200 clusters of {sizes} size"
        rows.append(Row(f"lowest coverage of a 95 % interval, {where}", min(covered), 1.0, ">= 0.93"))
        rows.append(Row(f"highest coverage of a 95 % interval, {where}", max(covered), 1.0, "<= 0.97"))
        for what, shares in (("by the tests", tests), ("declared", declared)):
            mean, name = sum(shares) / len(shares), f"share of false differences {what}, {where}"
            rows.append(Row(f"mean {name}", mean, 0.05, "<= 1"))
            rows.append(Row(f"highest {name}, against chance over {CELLS} cells", max(shares), limit, "<= 1"))
    for clusters in (12, 30):
        share = category_level(clusters, 0.2, min(samples, 400))
        rows.append(Row(f"category test, false, {clusters} clusters of 5, ICC 0.2", share, 0.05))
    return show(rows)


if __name__ == "__main__":
    raise SystemExit(main())
