"""Small, seeded versions of the simulations in benchmarks/: worlds whose truth is known, clusters, and skewed families."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.equivalence import possible_means
from bakeoff.stats.recommendation import Strength, choose_system
from bakeoff.stats.verdict import RULES, decide

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def benchmarks() -> Iterator[dict[str, ModuleType]]:
    """The scripts that hold the simulations."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import stats_clusters
        import stats_power
        import stats_worlds

        yield {one.__name__: one for one in (stats_clusters, stats_power, stats_worlds)}
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.mark.slow
def test_no_truly_worse_system_is_recommended_and_every_rule_can_decide(
    benchmarks: dict[str, ModuleType],
) -> None:
    worlds = benchmarks["stats_worlds"]
    rules: Counter[str] = Counter()
    firm: Counter[int] = Counter()
    for world in (*worlds.WORLDS, *worlds.RARE):
        for n in (5, 20, 200):
            for seed in range(2):
                evidence = worlds.evidence_of(world, n, seed, resamples=200)
                verdict = decide(evidence)
                rules[verdict.rule] += 1
                assert not worlds.is_wrong(world, verdict, evidence), world.name
                made = choose_system(evidence, verdict)
                firm[n] += made.strength is Strength.TAKE
                assert made.strength is Strength.START or not worlds.line_is_wrong(world, made), world.name
    assert firm[5] < firm[20] < 10 < firm[200], "two of 40 rounds at 5 questions: the limits leave one system"
    alone = {"no-queries", "one-system"}  # nothing to recommend: test_verdict.py has them
    assert set(rules) >= {rule.name for rule in RULES} - alone


@pytest.mark.parametrize("sizes", ["equal", "unequal"])
def test_intervals_of_clusters_cover_and_intervals_of_their_questions_do_not(
    benchmarks: dict[str, ModuleType], sizes: str
) -> None:
    clusters = benchmarks["stats_clusters"]
    found = clusters.simulate(clusters.Design(30, sizes), icc=0.2, samples=400, resamples=400)
    assert 0.92 <= found.by_cluster <= 0.98
    assert found.by_query < 0.88
    assert found.declared <= found.tests <= 0.07


@pytest.mark.parametrize("family", ["skewed", "heavy_zeros", "few_decide", "one_in_a_hundred"])
def test_a_difference_of_equal_systems_is_seldom_declared(
    benchmarks: dict[str, ModuleType], family: str
) -> None:
    found = benchmarks["stats_power"].false_differences(getattr(benchmarks["stats_power"], family), 50, 12)
    assert found.declared <= 2 / 12


@pytest.mark.parametrize("n", [1, 10, 50, 149])
def test_equal_differences_leave_the_exact_binomial_bound(n: int) -> None:
    ((bounds,),) = possible_means(np.zeros((n, 1)), [1.0], (0.05,), seed=1)
    assert bounds is not None
    assert bounds[1] == pytest.approx(1 - 0.05 ** (1 / n), rel=0.06)
    assert bounds[0] == pytest.approx(-bounds[1], rel=0.12)


def test_differences_of_0_and_1_have_the_exact_binomial_bound() -> None:
    from scipy.stats import beta

    column = np.zeros((60, 1))
    column[:9] = 1.0
    ((bounds,),) = possible_means(column, [1.0], (0.05,), seed=1)
    assert bounds is not None
    assert bounds[1] == pytest.approx(beta.ppf(0.95, 10, 51), rel=0.03)


def test_the_bound_keeps_its_level_where_few_differ() -> None:
    """A difference of 1 on 3 % of the queries, above a margin of .02: at most one sample in twenty hides it."""
    rng = np.random.default_rng(5)
    columns = (rng.random((200, 400)) < 0.03).astype(float)
    (bounds,) = possible_means(columns, np.ones(400), (0.05,), seed=1)
    below = sum(ends is not None and ends[1] < 0.03 for ends in bounds)
    assert below / 400 <= 0.05 + 0.02


def test_the_bound_does_not_depend_on_the_units_or_the_order_of_a_pair() -> None:
    values = np.random.default_rng(2).uniform(size=(2, 60))
    queries = tuple(f"q{i:02d}" for i in range(60))
    pair = compare(ScoreMatrix(("a", "b"), queries, values, "nDCG@10"), seed=1).pairs[0]
    assert pair.possible is not None
    assert pair.reverse().possible == (-pair.possible[1], -pair.possible[0])
    scaled = compare(ScoreMatrix(("a", "b"), queries, 100 * values, "x", bounds=(0.0, 100.0)), seed=1).pairs[
        0
    ]
    assert scaled.possible == pytest.approx([100 * end for end in pair.possible])
