"""F28: eight identical systems, all pairs, no correction: 52 % chance of a false winner."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.correction import holm
from bakeoff.stats.evidence import Evidence
from bakeoff.stats.tests import randomisations
from bakeoff.stats.verdict import VerdictKind, decide

SYSTEMS, QUERIES = 8, 50


def equals(seed: int) -> ScoreMatrix:
    """Eight systems of the same quality on the same queries."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(0.5, 1.3, QUERIES) + rng.normal(0, 0.7, (SYSTEMS, QUERIES))
    rank = np.maximum(1, np.ceil(np.exp(latent)))
    names = tuple(f"s{number}" for number in range(SYSTEMS))
    return ScoreMatrix(names, tuple(map(str, range(QUERIES))), np.where(rank <= 10, 1 / rank, 0.0), "RR@10")


def test_f28_false_differences_stay_below_five_percent() -> None:
    first, second = zip(*combinations(range(SYSTEMS), 2), strict=True)
    rounds, plain, corrected = 600, 0, 0
    for seed in range(rounds):
        values = equals(seed).values
        tested = randomisations((values[list(first)] - values[list(second)]).T, seed, flips=2000)
        p_values = [result.p for result in tested]
        plain += min(p_values) <= 0.05
        corrected += min(holm(p_values)) <= 0.05
    assert plain / rounds > 0.45
    assert corrected / rounds <= 0.05


@pytest.mark.parametrize("correction", ["holm", "max-t"])
def test_f28_no_winner_and_no_pair_told_apart_among_equals(correction: str) -> None:
    comparisons = [
        compare(equals(seed), seed=seed, resamples=400, correction=correction) for seed in range(40)
    ]
    lucky = [one for one in comparisons if min(pair.p_randomisation for pair in one.pairs) <= 0.05]
    assert len(lucky) > 0.3 * len(
        comparisons
    )  # what an uncorrected comparison would have called a difference
    told_apart = [one for one in comparisons if any(pair.passes_tests for pair in one.pairs)]
    assert len(told_apart) <= 0.15 * len(
        comparisons
    )  # 5 % and what chance adds in so few; the test above has many
    winners = [one for one in comparisons if decide(Evidence(one)).kind is VerdictKind.USE]
    assert len(winners) <= 0.05 * len(comparisons)


def test_f28_a_large_family_can_still_find_a_real_difference() -> None:
    """With 190 pairs and too few flips the smallest possible p could never pass the correction."""
    rng = np.random.default_rng(0)
    values = np.clip(rng.normal(0.4, 0.1, (20, 50)), 0, 1)
    values[3] = np.clip(values[3] + 0.3, 0, 1)
    names = tuple(f"s{number}" for number in range(20))
    comparison = compare(
        ScoreMatrix(names, tuple(map(str, range(50))), values, "nDCG@10"), seed=1, resamples=400
    )
    assert comparison.indistinguishable_from_best == ("s3",)
