"""What makes systems differ."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bakeoff.errors import ComparisonError
from bakeoff.stats.clusters import Clusters
from bakeoff.stats.factors import REST, factor_shares

MODELS = {"minilm": 0.10, "wordllama": -0.10}
CHUNKERS = {"line": 0.05, "semantic": -0.05, "tokens": 0.0}


def grid(noise: float, n: int, seed: int = 0) -> tuple[np.ndarray, dict[str, list[str]]]:
    rng = np.random.default_rng(seed)
    pairs = list(product(MODELS, CHUNKERS))
    base = rng.uniform(0.3, 0.7, n)
    values = np.array([base + MODELS[m] + CHUNKERS[c] + rng.normal(0, noise, n) for m, c in pairs])
    return values, {"model": [m for m, _ in pairs], "chunker": [c for _, c in pairs], "store": ["exact"] * 6}


def test_a_balanced_grid_gives_the_analysis_of_variance() -> None:
    values, factors = grid(noise=0.0, n=40)
    found = {one.factor: one for one in factor_shares(values, factors, seed=1).factors}
    model, chunker = 6 * 0.10**2, 2 * (0.05**2 + 0.05**2)
    assert found["model"].share == pytest.approx(model / (model + chunker))
    assert found["chunker"].share == pytest.approx(chunker / (model + chunker))
    assert found[REST].share == pytest.approx(0.0, abs=1e-9)
    assert "store" not in found


def test_shares_add_up_on_an_unbalanced_design() -> None:
    values, factors = grid(noise=0.05, n=40)
    keep = [0, 1, 2, 3, 5]
    found = factor_shares(values[keep], {k: [v[i] for i in keep] for k, v in factors.items()}, seed=1)
    assert sum(one.share for one in found.factors) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(12))
def test_adjusted_shares_are_parts_of_one_whole(seed: int) -> None:
    """Where sampling takes a part below nothing, the others must not exceed the whole together."""
    rng = np.random.default_rng(seed)
    values = np.array([0.2 * (row < 3) + 0.05 * (row % 3) + rng.normal(0.5, 0.3, 15) for row in range(6)])
    factors = {"model": list("aaabbb"), "chunker": list("xyzxyz")}
    found = factor_shares(values, factors, seed=1, resamples=200).factors
    total = sum(one.adjusted for one in found)
    assert total == pytest.approx(1.0) or total == 0.0
    assert all(0.0 <= one.low <= one.high <= 1.0 for one in found)


def test_sampling_of_queries_is_taken_out() -> None:
    """With no true chunker effect, the seen share is noise; the adjusted one averages near nothing."""
    seen, adjusted = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = np.array([0.15 * (row < 3) + rng.normal(0.5, 0.3, 25) for row in range(6)])
        factors = {"model": list("aaabbb"), "chunker": list("xyzxyz")}
        chunker = factor_shares(values, factors, seed=1, resamples=200).factors[1]
        seen.append(chunker.share)
        adjusted.append(chunker.adjusted)
    assert np.median(adjusted) < np.median(seen) / 2


def test_intervals_hold_the_true_share_mostly() -> None:
    truth = 6 * 0.10**2 / (6 * 0.10**2 + 4 * 0.05**2)
    hits = []
    for seed in range(60):
        values, factors = grid(noise=0.2, n=60, seed=seed)
        model = factor_shares(values, factors, seed=1, resamples=500).factors[0]
        hits.append(model.low <= truth <= model.high)
    assert np.mean(hits) >= 0.85


def test_what_cannot_be_explained_is_refused() -> None:
    values, factors = grid(noise=0.1, n=20)
    for given, levels, text in (
        (values[:1], {"model": ["a"]}, "too few"),
        (values, {"model": ["a"]}, "levels"),
        (values, {"store": ["exact"] * 6}, "no factor differs"),
        (np.tile(values[0], (6, 1)), factors, "same mean"),
    ):
        with pytest.raises(ComparisonError, match=text):
            factor_shares(given, levels, seed=1)


@pytest.mark.filterwarnings("error")
def test_questions_of_one_cluster_explain_nothing() -> None:
    """One cluster has no spread that sampling could be measured by, however many questions it has."""
    values, factors = grid(noise=0.1, n=2)
    with pytest.raises(ComparisonError, match="1 clusters"):
        factor_shares(values, factors, seed=1, clusters=Clusters.of(("d", "d"), 2))
    assert factor_shares(values, factors, seed=1, clusters=Clusters.of(("d", "e"), 2)).n == 2


def test_a_factor_that_a_system_lacks_takes_nothing_from_its_distance() -> None:
    """bm25 has no embedder: all of its distance belongs to the mode, none to the embedder."""
    base = np.linspace(0.2, 0.8, 30)
    values = np.array([base + 0.1, base + 0.1, base - 0.1])
    factors = {"embedder": ["a", "b", None], "mode": ["dense", "dense", "bm25"]}
    found = factor_shares(values, factors, seed=1)
    shares = {one.factor: one.share for one in found.factors}
    assert shares["mode"] == pytest.approx(1.0) and shares["embedder"] == pytest.approx(0.0, abs=1e-9)
    assert found.partial == ("embedder",) and found.confounded == ()


def test_a_factor_with_one_level_besides_missing_ones_does_not_vary() -> None:
    base = np.linspace(0.2, 0.8, 30)
    values = np.array([base + 0.1, base - 0.1])
    factors = {"embedder": ["a", None], "mode": ["dense", "bm25"]}
    assert [one.factor for one in factor_shares(values, factors, seed=1).factors] == ["mode", REST]


def test_factors_that_change_together_have_one_share() -> None:
    """A chunker that is used with one model only: nothing separates the two."""
    base = np.linspace(0.2, 0.8, 30)
    values = np.array([base + 0.1, base + 0.12, base - 0.1, base - 0.08])
    factors = {"chunker": list("llss"), "embedder": list("mmww"), "mode": list("dhdh")}
    found = factor_shares(values, factors, seed=1)
    shares = {one.factor: one.share for one in found.factors}
    assert found.confounded == (("chunker", "embedder"),) and len(found.notes) == 1
    assert set(shares) == {"chunker and embedder", "mode", REST}
    assert shares["chunker and embedder"] == pytest.approx(0.1**2 / (0.1**2 + 0.01**2))
    assert [one.levels for one in found.factors] == [2, 2, 0], "the options of a group are its combinations"


def test_a_factor_that_varies_among_systems_without_the_other_does_not_separate_them() -> None:
    """In every system with a store, the chunker changes with it: bm25, which has none, says nothing about the two."""
    base = np.linspace(0.2, 0.8, 30)
    values = np.array([base + 0.1, base - 0.1, base + 0.02, base - 0.02])
    factors = {"chunker": list("lsls"), "store": ["p", "q", None, None], "mode": list("ddbb")}
    found = factor_shares(values, factors, seed=1)
    assert found.confounded == (("chunker", "store"),) and found.partial == ("store",)
    assert {one.factor for one in found.factors} == {"chunker and store", "mode", REST}
    whole = factor_shares(values, factors | {"store": ["p", "p", None, None]}, seed=1)
    assert whole.confounded == ()
