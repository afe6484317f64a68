"""What must not change a verdict, and what may: orders, names, seeds, duplicates, queries that tell nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bakeoff.stats.bootstrap import BootstrapSettings
from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import Comparison, ScoreMatrix
from bakeoff.stats.evidence import CostLimits, Costs, Evidence
from bakeoff.stats.factors import factor_shares
from bakeoff.stats.interaction import interactions
from bakeoff.stats.quantiles import quantile_between
from bakeoff.stats.selection import select
from bakeoff.stats.verdict import Verdict, VerdictKind, decide

RANKS = np.array([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 0.0])


def matrix(skills: dict[str, float], n: int = 40, seed: int = 3) -> ScoreMatrix:
    """Reciprocal ranks with a difficulty that all systems share: discrete, many ties, many zeros."""
    random = np.random.default_rng(seed)
    hardness = random.normal(0.5, 1.2, n)
    rows = [
        RANKS[np.clip(np.exp(hardness - skill + random.normal(0, 0.5, n)), 0, 5).astype(int)]
        for skill in skills.values()
    ]
    labels = tuple("ab"[i % 2] for i in range(n))
    return ScoreMatrix(
        tuple(skills), tuple(f"q{i:03d}" for i in range(n)), np.array(rows), "RR@10", categories=labels
    )


CLEAR = {"best": 1.6, "good": 0.3, "fair": 0.2}
UNCLEAR = {"one": 0.4, "two": 0.3, "three": 0.2}


def verdict(scores: ScoreMatrix, seed: int = 1) -> Verdict:
    return decide(Evidence(compare(scores, seed=seed)))


def numbers(comparison: Comparison) -> dict[frozenset[str], tuple[object, ...]]:
    """Everything of a pair that has no direction."""
    found = {}
    for pair in comparison.pairs:
        seen = pair if pair.a < pair.b else pair.reverse()
        ends = [None if end is None else round(end, 12) for end in (seen.interval.low, seen.interval.high)]
        p_values = [round(p, 12) for p in (seen.p_randomisation, seen.p_holm, seen.p_wilcoxon)]
        found[frozenset((seen.a, seen.b))] = (
            *ends,
            *p_values,
            seen.wins,
            seen.losses,
            seen.ties,
            seen.mdd,
            seen.n,
        )
    return found


@pytest.mark.parametrize("skills", [CLEAR, UNCLEAR])
@pytest.mark.parametrize("order", [(2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_the_order_of_systems_changes_nothing(skills: dict[str, float], order: tuple[int, ...]) -> None:
    scores = matrix(skills)
    turned = scores.only(tuple(scores.systems[place] for place in order))
    assert numbers(compare(scores, seed=1)) == numbers(compare(turned, seed=1))
    first, second = verdict(scores), verdict(turned)
    assert (first.sentence, first.reasons, first.rule) == (second.sentence, second.reasons, second.rule)


def test_names_are_names_only() -> None:
    scores = matrix(UNCLEAR)
    renamed = replace(scores, systems=("zeta", "alpha", "mu"))
    said = verdict(renamed).sentence
    for old, new in zip(scores.systems, renamed.systems, strict=True):
        said = said.replace(new, old)
    assert said == verdict(scores).sentence


def test_the_order_of_the_query_file_changes_no_random_step() -> None:
    scores = matrix(UNCLEAR, n=37)
    order = np.random.default_rng(0).permutation(37)
    shuffled = replace(
        scores,
        queries=tuple(scores.queries[i] for i in order),
        categories=tuple(scores.categories[i] for i in order),
        values=scores.values[:, order],
    )
    settings = BootstrapSettings(5)
    assert select(scores, 5, 7) == select(shuffled, 5, 7)
    assert interactions(scores, "one", ["two"], settings) == interactions(shuffled, "one", ["two"], settings)
    factors = {"kind": ("x", "y", "y")}
    one, other = (
        factor_shares(each.sort_queries().without_structural(), factors, 7) for each in (scores, shuffled)
    )
    assert one == other
    assert numbers(compare(scores, seed=1)) == numbers(compare(shuffled, seed=1))


@pytest.mark.parametrize("skills", [CLEAR, UNCLEAR])
def test_seeds_move_p_values_by_less_than_they_are_trusted(skills: dict[str, float]) -> None:
    scores = matrix(skills)
    rules = {verdict(scores, seed).rule for seed in range(4)}
    assert len(rules) == 1
    p_values = np.array([[pair.p_randomisation for pair in compare(scores, seed=s).pairs] for s in range(4)])
    # five standard errors of a share of 10,000 flips, between two seeds
    assert (np.ptp(p_values, axis=0) <= 5 * np.sqrt(2 * p_values.mean(axis=0) / 10_000) + 2e-4).all()


def test_a_copy_of_the_winner_takes_its_victory_and_is_named() -> None:
    scores = matrix(CLEAR)
    doubled = replace(
        scores, systems=(*scores.systems, "twin"), values=np.vstack([scores.values, scores.values[:1]])
    )
    assert verdict(scores).system == "best"
    found = verdict(doubled)
    assert found.rule == "cant-tell" and set(found.group) == {"best", "twin"}
    assert any("identical scores" in line for line in found.reasons)


def test_a_hopeless_system_may_take_certainty_but_never_turns_the_choice() -> None:
    """The correction is over all pairs: more systems can make a winner "can't tell", no other system a winner."""
    for seed in range(5):
        scores = matrix({"best": 0.9, "good": 0.1, "fair": 0.0}, seed=seed)
        more = replace(
            scores, systems=(*scores.systems, "zero"), values=np.vstack([scores.values, np.zeros(40)])
        )
        before, after = compare(scores, seed=1), compare(more, seed=1)
        assert decide(Evidence(after)).system in (decide(Evidence(before)).system, None)
        for pair in before.pairs:
            again = after.pair(pair.a, pair.b)
            assert again.interval == pair.interval and again.p_randomisation == pair.p_randomisation
            assert again.p_holm >= pair.p_holm - 1e-12


def test_queries_that_all_fail_shrink_differences_and_create_none() -> None:
    scores = matrix(CLEAR)
    more = replace(
        scores,
        queries=(*scores.queries, *(f"x{i}" for i in range(20))),
        categories=(*scores.categories, *["a"] * 20),
        values=np.hstack([scores.values, np.zeros((3, 20))]),
    )
    for pair in compare(scores, seed=1).pairs:
        again = compare(more, seed=1).pair(pair.a, pair.b)
        assert again.difference == pytest.approx((pair.difference or 0.0) * 40 / 60)
        assert (again.wins, again.losses, again.ties) == (pair.wins, pair.losses, pair.ties + 20)
        assert again.p_wilcoxon == pair.p_wilcoxon
    assert verdict(more).system == "best"


def test_equal_systems_are_seldom_told_apart_and_never_one_is_used() -> None:
    """Thirty rounds of four equal systems with 22 queries; at most one in twenty may separate a pair, by chance."""
    told = 0
    for seed in range(30):
        scores = matrix(dict.fromkeys("abcd", 0.5), n=22, seed=seed)
        compared = compare(scores, seed=1, resamples=1_000)
        told += any(pair.separated for pair in compared.pairs)
        assert decide(Evidence(compared)).kind is not VerdictKind.USE
    assert told <= 6  # P(more | one in twenty) is below .001


def test_a_latency_decides_only_beyond_the_noise_of_its_samples() -> None:
    values = np.tile(np.linspace(0.1, 0.9, 160), (2, 1))
    same = compare(ScoreMatrix(("a", "b"), tuple(f"q{i}" for i in range(160)), values, "nDCG@10"), seed=1)
    near = {
        "a": Costs(p95_ms=10.0, p95_between=(8.0, 15.0)),
        "b": Costs(p95_ms=13.0, p95_between=(11.0, 19.0)),
    }
    far = {**near, "b": Costs(p95_ms=30.0, p95_between=(22.0, 40.0))}
    assert decide(Evidence(same, costs=near)).rule == "either"
    assert decide(Evidence(same, costs=far)).system == "a"


def test_the_interval_of_a_percentile_covers_it() -> None:
    random, inside = np.random.default_rng(4), 0
    truth = float(np.exp(0.35 * 1.6448536))
    for _ in range(400):
        low, high = quantile_between(np.sort(random.lognormal(0, 0.35, 300)), 0.95, 0.95)
        inside += low <= truth <= high
    assert 0.93 <= inside / 400 <= 0.995
    assert (
        quantile_between(np.arange(60.0), 0.95, 0.95)[1] == np.inf
    )  # too few samples to bound it from above


def test_a_limit_on_memory_is_not_passed_over_in_silence() -> None:
    compared = compare(matrix(CLEAR), seed=1)
    found = decide(Evidence(compared, limits=CostLimits(memory_bytes=1e6)))
    assert found.rule == "none-within-limits"
    assert all("memory" in line for line in found.reasons[:3])


def test_places_in_a_reason_are_those_of_the_table() -> None:
    compared = compare(matrix({"slow": 2.0, "one": 0.4, "two": 0.3, "three": 0.2}), seed=1)
    assert compared.ranking[0] == "slow"
    costs = {name: Costs(p95_ms=100.0 if name == "slow" else 1.0) for name in compared.ranking}
    found = decide(Evidence(compared, costs=costs, limits=CostLimits(p95_ms=10.0)))
    (line,) = [line for line in found.reasons if "are tied on" in line]
    assert line.startswith("Systems 3 and 4 ")


def test_what_could_be_shown_is_said_for_the_easiest_and_the_hardest_rival() -> None:
    scores = matrix(CLEAR)
    scores.values[1] = np.where(
        np.arange(40) % 8, scores.values[0], 0.0
    )  # nearly the best, and easily told from it
    compared = compare(scores, seed=1)
    best = compared.ranking[0]
    least, most = sorted(compared.pair(best, other).mdd or 0.0 for other in compared.ranking[1:])
    (line,) = [line for line in decide(Evidence(compared)).reasons if "80% power" in line]
    shown = [f"{value:.3f}".removeprefix("0") for value in (least, most)]
    assert shown[0] != shown[1] and all(value in line for value in shown)
