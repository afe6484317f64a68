"""The rule table and the sentences it can say."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bakeoff.stats.bootstrap import BootstrapSettings
from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.equivalence import possible_means
from bakeoff.stats.evidence import CostLimits, Costs, Evidence, Thresholds
from bakeoff.stats.interaction import interactions
from bakeoff.stats.power import queries_for_level
from bakeoff.stats.verdict import RULES, Verdict, VerdictKind, decide, rule_table

FORBIDDEN = re.compile(
    r"significan|\d\s?(%|percent|times|x)\s+(better|worse|higher|faster)|p\s?<\s?0?\.05", re.IGNORECASE
)


def scores(
    shifts: tuple[float, ...], n: int = 63, noise: float = 0.1, seed: int = 0, labels: tuple[str, ...] = ()
) -> ScoreMatrix:
    rng = np.random.default_rng(seed)
    base = rng.uniform(0.2, 0.7, n)
    values = np.clip([base + shift + rng.normal(0, noise, n) for shift in shifts], 0, 1)
    names = tuple(f"s{number}" for number in range(len(shifts)))
    return ScoreMatrix(names, tuple(f"q{i}" for i in range(n)), values, "nDCG@10", categories=labels)


def test_a_clear_winner_is_named_with_its_numbers() -> None:
    comparison = compare(scores((0.15, 0.0, 0.005)), seed=1)
    verdict = decide(Evidence(comparison))
    rival = comparison.ranking[1]
    pair = comparison.pair("s0", rival)
    assert (verdict.kind, verdict.rule, verdict.system) == (VerdictKind.USE, "clear-winner", "s0")
    assert verdict.sentence.startswith(f"Use s0. It beats {rival} by .1")
    assert (
        f"better on {pair.wins} questions, worse on {pair.losses}, equal on {pair.ties} (Holm p <.001)."
        in verdict.sentence
    )
    assert any(line.startswith("Systems 2 and 3 are tied on 63 questions; about") for line in verdict.reasons)
    assert any("80% power, over 3 pairs" in line for line in verdict.reasons)


def test_a_difference_larger_than_the_measure_is_not_called_detectable() -> None:
    matrix = ScoreMatrix(
        ("s0", "s1"), ("q0", "q1", "q2"), np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), "RR@10"
    )
    comparison = compare(matrix, seed=1)
    assert (comparison.pair("s0", "s1").mdd or 0) > 1
    reasons = decide(Evidence(comparison)).reasons
    assert any("all differences in RR@10 usually go undetected" in line for line in reasons)


def test_no_separation_is_cant_tell_with_what_would_settle() -> None:
    verdict = decide(Evidence(compare(scores((0.01, 0.0), noise=0.2), seed=1)))
    assert (verdict.kind, verdict.system) == (VerdictKind.CANT_TELL, None)
    assert verdict.group == ("s0", "s1") and "63 questions" in verdict.sentence
    assert verdict.would_settle is not None
    assert re.search(r" [\d,]+ questions .* \.\d+\.", verdict.would_settle)


COSTS = {"s0": Costs(p95_ms=9.1, index_bytes=14e6), "s1": Costs(p95_ms=0.3, index_bytes=4e6)}


def test_equal_systems_are_decided_by_cost() -> None:
    verdict = decide(Evidence(compare(scores((0.0, 0.0), n=300, noise=0.03), seed=1), costs=COSTS))
    assert (verdict.kind, verdict.system) == (VerdictKind.CHEAPER_OF_EQUALS, "s1")
    assert "within ±.02 nDCG@10" in verdict.sentence
    assert "p95" in verdict.sentence and "0.3" in verdict.sentence and "9.1" in verdict.sentence


def test_equal_systems_without_costs_will_both_do() -> None:
    verdict = decide(Evidence(compare(scores((0.0, 0.0), n=300, noise=0.03), seed=1)))
    assert (verdict.rule, verdict.kind) == ("either", VerdictKind.CANT_TELL)
    assert verdict.would_settle is None


def test_not_separated_is_not_equal() -> None:
    verdict = decide(Evidence(compare(scores((0.01, 0.0), noise=0.2), seed=1), costs=COSTS))
    assert verdict.kind is VerdictKind.CANT_TELL
    assert verdict.system is None and "latency" not in verdict.sentence  # the recommendation weighs costs


def test_limits_rule_systems_out_and_say_why() -> None:
    comparison = compare(scores((0.15, 0.0, 0.0)), seed=1)
    costs = {**COSTS, "s2": Costs()}
    verdict = decide(Evidence(comparison, costs=costs, limits=CostLimits(p95_ms=5)))
    assert (verdict.rule, verdict.system) == ("one-within-limits", "s1")
    assert any("s0" in line and "9.1 ms" in line and "5 ms" in line for line in verdict.reasons)
    assert any("s2" in line and "not measured" in line for line in verdict.reasons)
    nobody = decide(Evidence(comparison, costs=costs, limits=CostLimits(p95_ms=0.1)))
    assert (nobody.rule, nobody.kind) == ("none-within-limits", VerdictKind.CANT_TELL)


def test_a_crossing_of_categories_decides_before_the_overall_mean() -> None:
    labels = tuple(["section"] * 30 + ["concept"] * 33)
    matrix = scores((0.0, 0.0), noise=0.03, labels=labels)
    values = matrix.values.copy()
    values[0] += np.where(np.array(labels) == "section", 0.3, -0.2)
    tilted = ScoreMatrix(matrix.systems, matrix.queries, np.clip(values, 0, 1), "nDCG@10", categories=labels)
    comparison = compare(tilted, seed=1)
    rivals = [name for name in comparison.ranking if name != comparison.best]
    found = interactions(tilted, comparison.ranking[0], rivals, BootstrapSettings(1))
    verdict = decide(Evidence(comparison, interactions=found))
    assert verdict.kind is VerdictKind.DEPENDS_ON_CATEGORY
    assert "s0" in verdict.sentence
    assert "s1 on concept by" in verdict.sentence


def test_lift_decides_where_the_chosen_system_is_shown_to_be_no_worse() -> None:
    lift = compare(scores((0.0, 0.3), seed=5), seed=1)
    near = compare(scores((0.0, 0.004), n=300, noise=0.1, seed=4), seed=1)
    verdict = decide(Evidence(near, lift=lift))
    assert not near.pair("s0", "s1").equivalent(0.02)
    assert (verdict.rule, verdict.system) == ("lift-decides", "s1")
    open_ = compare(scores((0.01, 0.0), noise=0.2), seed=1)
    assert decide(Evidence(open_, lift=lift)).rule == "cant-tell"


def test_too_few_queries_and_single_systems() -> None:
    assert decide(Evidence(compare(scores((0.3, 0.0), n=6), seed=1))).rule == "too-few-queries"
    assert decide(Evidence(compare(scores((0.3,)), seed=1))).rule == "one-system"
    empty = ScoreMatrix.of({"a": {"q1": 1.0}, "b": {"q2": 0.5}}, "RR")
    assert decide(Evidence(compare(empty, seed=1))).rule == "no-queries"


def identical(n: int, systems: int = 2) -> ScoreMatrix:
    row = scores((0.1,), n=n).values[0]
    names = tuple(f"s{number}" for number in range(systems))
    return ScoreMatrix(names, tuple(f"q{i}" for i in range(n)), np.vstack([row] * systems), "nDCG@10")


@pytest.mark.parametrize(("n", "rule"), [(10, "cant-tell"), (140, "cant-tell"), (160, "cheaper-of-equals")])
def test_identical_scores_are_equal_only_on_enough_questions(n: int, rule: str) -> None:
    """n equal questions leave 1 − .05^(1/n) possible: 149 of them for a margin of .02."""
    verdict = decide(Evidence(compare(identical(n), seed=1), costs=COSTS))
    assert (verdict.rule, verdict.system) == (rule, "s1" if rule == "cheaper-of-equals" else None)
    assert any("identical scores" in line for line in verdict.reasons)
    if rule == "cant-tell":
        assert verdict.would_settle is not None
        assert "150 questions" in verdict.would_settle


def test_every_system_left_is_judged_by_its_cost() -> None:
    """Two fast systems of nearly one speed rule the slow ones out, though neither is faster than the other."""
    costs = {
        f"s{number}": Costs(p95_ms=value, p50_ms=value / 2)
        for number, value in enumerate((0.080, 0.084, 1.5, 113.0))
    }
    verdict = decide(Evidence(compare(identical(200, systems=4), seed=1), costs=costs))
    assert (verdict.rule, verdict.system, verdict.recommended) == ("cheaper-of-equals", "s0", ("s0", "s1"))
    assert "0.08" in verdict.sentence and "1.5" in verdict.sentence and "113" in verdict.sentence


def test_a_median_decides_where_few_samples_leave_the_p95_open() -> None:
    wide = (0.01, float("inf"))
    costs = {
        "s0": Costs(p95_ms=0.1, p95_between=wide, p50_ms=0.08, p50_between=(0.07, 0.09)),
        "s1": Costs(p95_ms=150.0, p95_between=wide, p50_ms=113.0, p50_between=(100.0, 120.0)),
    }
    verdict = decide(Evidence(compare(identical(200), seed=1), costs=costs))
    assert (verdict.rule, verdict.system) == ("cheaper-of-equals", "s0")


def test_a_cost_that_is_not_known_of_a_system_rules_out_only_the_others() -> None:
    costs = {"s0": Costs(p95_ms=1.0), "s1": Costs(p95_ms=50.0), "s2": Costs()}
    verdict = decide(Evidence(compare(identical(200, systems=3), seed=1), costs=costs))
    assert verdict.recommended == ("s0", "s2")


def saturated_evidence(*, with_others: bool) -> Evidence:
    rng = np.random.default_rng(3)
    queries = tuple(f"q{i}" for i in range(200))
    primary = ScoreMatrix(("a", "b"), queries, np.ones((2, 200)), "R@10")
    ranks = rng.choice([1.0, 0.5, 1 / 3], (2, 200), p=(0.6, 0.2, 0.2))
    ranks[0] = 1.0
    others = (compare(ScoreMatrix(("a", "b"), queries, ranks, "RR@10"), seed=1),) if with_others else ()
    costs = {"a": Costs(p95_ms=9.0), "b": Costs(p95_ms=1.0)}
    return Evidence(compare(primary, seed=1), costs=costs, other_measures=others)


def test_a_saturated_measure_decides_nothing_and_names_one_that_separates() -> None:
    verdict = decide(saturated_evidence(with_others=True))
    assert (verdict.rule, verdict.kind, verdict.system) == ("saturated", VerdictKind.CANT_TELL, None)
    assert "RR@10" in verdict.sentence
    assert "ahead of b" in verdict.sentence
    assert decide(saturated_evidence(with_others=False)).rule == "saturated"


@pytest.mark.parametrize(
    ("measures", "advised"),
    [
        (("R@10",), ("RR@10", "nDCG@10")),
        (("nDCG@10(document)",), ("RR@10",)),
        (("nDCG@10", "RR@10(document)"), ()),
    ],
)
def test_a_saturated_run_is_advised_to_measure_only_what_it_does_not(
    measures: tuple[str, ...], advised: tuple[str, ...]
) -> None:
    queries = tuple(f"q{i}" for i in range(200))
    first, *others = (
        compare(ScoreMatrix(("a", "b"), queries, np.ones((2, 200)), name), seed=1) for name in measures
    )
    verdict = decide(Evidence(first, other_measures=tuple(others)))
    advice = verdict.sentence.partition("Ask harder questions")[2]
    assert verdict.rule == "saturated"
    assert advice == (f", or measure {' or '.join(advised)}." if advised else ".")


def test_a_winner_by_a_measure_with_many_best_scores_is_still_a_winner() -> None:
    values = np.ones((2, 400))
    values[1, :60] = 0.0
    found = compare(ScoreMatrix(("a", "b"), tuple(map(str, range(400))), values, "Hit@10"), seed=1)
    verdict = decide(Evidence(found))
    assert (verdict.rule, verdict.system, verdict.holds_level) == ("clear-winner", "a", True)


def test_a_small_steady_advantage_decides_nothing_where_rare_questions_could_undo_it() -> None:
    """A difference of .05 on each of 40 questions: one question in 20 of another kind would undo it."""
    rng = np.random.default_rng(1)
    base = rng.uniform(0.3, 0.6, 400)
    values = np.vstack([base + 0.05 + rng.normal(0, 0.01, 400), base])
    for n, rule, system in ((40, "few-decide", None), (400, "clear-winner", "a")):
        matrix = ScoreMatrix(("a", "b"), tuple(map(str, range(n))), values[:, :n], "nDCG@10")
        found = compare(matrix, seed=1)
        verdict = decide(Evidence(found, costs=COSTS))
        assert found.pairs[0].passes_tests
        assert (verdict.rule, verdict.system, verdict.recommended) == (rule, system, (system,) * (n == 400))
        assert verdict.holds_level is (n == 400)
        assert verdict.group == (("a", "b") if n == 40 else ("a",))


def test_the_few_questions_that_decide_are_named() -> None:
    """Five of sixty questions differ, all one way: the tests find it, five more of another kind would undo it."""
    values = np.tile(np.random.default_rng(4).uniform(0.0, 0.1, 60), (3, 1))
    few = [3, 11, 20, 41, 58]
    values[0, few] += 0.8
    matrix = ScoreMatrix(("a", "b"), tuple(f"q{i:02d}" for i in range(60)), values[:2], "nDCG@10")
    verdict = decide(Evidence(compare(matrix, seed=1)))
    assert (verdict.rule, verdict.kind, verdict.group) == ("few-decide", VerdictKind.CANT_TELL, ("a", "b"))
    assert compare(matrix, seed=1).pairs[0].deciding == tuple(f"q{i:02d}" for i in few)
    assert all(f"q{i:02d}" in verdict.sentence for i in few)
    assert verdict.would_settle is not None


def test_what_is_said_to_hold_the_level_holds_it() -> None:
    """The number of questions in `would_settle`, of the same lead and spread, is enough and not by far too many."""
    rng = np.random.default_rng(8)
    for lead, sd in ((0.05, 0.01), (0.1, 0.2)):
        needed = queries_for_level(lead, sd, 0.05, 1.0)
        assert needed is not None
        for n, sure in ((needed // 2, False), (int(1.3 * needed), True)):
            noise = rng.uniform(-1, 1, n)
            column = lead + sd * (noise - noise.mean()) / noise.std()
            ((ends,),) = possible_means(column[:, None], [1.0], (0.05,), seed=1)
            assert ends is not None
            assert (ends[0] > 0) is sure


def test_the_table_prints_with_its_thresholds() -> None:
    table = rule_table(Thresholds(margin=0.05))
    assert [number for number, *_ in table] == list(range(1, len(RULES) + 1))
    assert any("±0.05" in when for _, _, when, _ in table)
    assert {kind for *_, kind in table} == {kind.value for kind in VerdictKind}
    assert table[-1][1] == "cant-tell"
    assert not any("{" in when for _, _, when, _ in table)


def random_verdict(seed: int) -> tuple[Verdict, float]:
    rng = np.random.default_rng(seed)
    systems, n = int(rng.integers(1, 5)), int(rng.integers(1, 70))
    values = np.round(rng.choice([0, 0, 0.2, 1 / 3, 0.5, 1.0], (systems, n)), 4)
    values[0] = np.clip(values[0] + rng.uniform(-0.3, 0.3), 0, 1)
    values[rng.random((systems, n)) < rng.choice([0.0, 0.2])] = np.nan
    labels = tuple(rng.choice(["x", "y"], n))
    names = tuple(f"s{i}" for i in range(systems))
    matrix = ScoreMatrix(names, tuple(map(str, range(n))), values, "RR@10", categories=labels)
    comparison = compare(matrix, seed=seed, resamples=200)
    costs = {name: Costs(p95_ms=float(rng.uniform(1, 100))) for name in names}
    found = interactions(matrix, names[0], names[1:], BootstrapSettings(seed, 200)) if n > 5 else ()
    margin = float(rng.choice([0.02, 0.5]))
    evidence = Evidence(
        comparison, found, comparison, costs, CostLimits(p95_ms=90), Thresholds(margin=margin)
    )
    return decide(evidence), comparison.alpha


@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in (1, 2, 3))])
def test_no_forbidden_sentence_is_ever_said(block: int) -> None:
    """S4-43: never 'significantly better', never a ratio, whatever the scores."""
    for seed in range(40 * block, 40 * block + 40):
        verdict, _ = random_verdict(seed)
        for text in (verdict.sentence, *verdict.reasons, verdict.would_settle or ""):
            assert not FORBIDDEN.search(text), text
            assert "nan" not in text.lower().replace("nanos", "")
            assert "None" not in text
        assert verdict.rule in {rule.name for rule in RULES}
