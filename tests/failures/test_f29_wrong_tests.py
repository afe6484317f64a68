"""F29: unpaired tests on paired data, a t-test on bounded scores, a permutation p-value of exactly 0."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import bakeoff.stats
from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import PairComparison, ScoreMatrix
from bakeoff.stats.correction import max_t
from bakeoff.stats.interaction import label_permutation_tests
from bakeoff.stats.tests import randomisations, wilcoxon


@pytest.mark.parametrize("n", [1, 5, 13, 14, 61, 400])
def test_f29_no_p_value_is_zero(n: int) -> None:
    overwhelming = np.full(n, 0.5) + np.linspace(0, 0.1, n)
    assert randomisations(overwhelming, seed=1)[0].p > 0
    assert wilcoxon(overwhelming).p > 0
    assert min(max_t(overwhelming[:, None], seed=1)) > 0
    labels = ["x" if i % 2 else "y" for i in range(n)]
    assert label_permutation_tests(np.where(np.arange(n) % 2, 1.0, -1.0)[:, None], labels, seed=1)[0] > 0


def test_f29_monte_carlo_counts_the_observed_order() -> None:
    assert randomisations(np.full(40, 0.5), seed=1, flips=999)[0].p == pytest.approx(1 / 1000)


def test_f29_pairing_by_query_is_used() -> None:
    """A constant small advantage under a large spread of queries: invisible unpaired, plain when paired."""
    base = np.random.default_rng(0).uniform(0, 0.9, 40)
    values = np.vstack([base + 0.02 + np.linspace(0, 0.01, 40), base])
    pair = compare(ScoreMatrix(("a", "b"), tuple(map(str, range(40))), values, "nDCG@10"), seed=1).pairs[0]
    assert pair.passes_tests
    assert abs(pair.cliffs_delta or 0.0) < 0.2


def test_f29_a_pair_is_tested_by_its_own_differences_and_no_curve() -> None:
    """Five of forty queries differ, all one way: two of 2^5 flips reach that, each counted half, so p is 1/32."""
    base = np.random.default_rng(2).choice([0.0, 0.5, 1.0], 40, p=[0.6, 0.2, 0.2])
    better = base.copy()
    better[np.flatnonzero(base == 0)[:5]] = [1.0, 0.5, 0.5, 0.25, 0.25]
    noise = np.random.default_rng(3).random(40)  # another system: a pooled variance would have it in
    queries = tuple(map(str, range(40)))
    alone = compare(ScoreMatrix(("a", "b"), queries, np.vstack([better, base]), "RR@10"), seed=1)
    beside = compare(ScoreMatrix(("a", "b", "c"), queries, np.vstack([better, base, noise]), "RR@10"), seed=1)
    for comparison in (alone, beside):
        pair = comparison.pair("a", "b")
        assert pair.p_randomisation == pytest.approx(1 / 32)
        assert pair.p_wilcoxon == pytest.approx(2 / 32)
    assert alone.pair("a", "b").p_corrected == pytest.approx(1 / 32)


def test_f29_no_t_test_stands_among_the_paired_results() -> None:
    fields = {name for name in dir(PairComparison) if not name.startswith("_")}
    assert {"p_wilcoxon", "p_randomisation", "p_holm"} <= fields
    assert not any("ttest" in name or name in {"t", "p_t"} for name in fields)
    folder = Path(bakeoff.stats.__file__).parents[1]
    modules = ("compare", "comparison", "tests", "verdict", "verdict_input", "verdict_text")
    for module in (*(f"stats/{name}" for name in modules), "presets/goldsql/decision"):
        tree = ast.parse((folder / f"{module}.py").read_text(encoding="utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert not names & {"welch", "t_two_sided", "ttest_rel", "ttest_ind", "tukey_hsd"}
