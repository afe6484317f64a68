"""F22: an unseeded bootstrap of 1,000 resamples whose verdict flips between runs."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from bakeoff.runs.analysis import open_run
from bakeoff.stats.bootstrap import RESAMPLES, BootstrapSettings
from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.evidence import Evidence
from bakeoff.stats.verdict import decide


def borderline() -> ScoreMatrix:
    rng = np.random.default_rng(12)
    base = rng.choice([0.2, 1 / 3, 0.5], 50)
    values = np.vstack([base + rng.choice([0.0, 0.0, 0.3, -0.2], 50), base])
    return ScoreMatrix(("a", "b"), tuple(f"q{i:02d}" for i in range(50)), np.clip(values, 0, 1), "RR@10")


def test_f22_the_same_seed_gives_the_same_verdict_to_the_last_digit() -> None:
    assert compare(borderline(), seed=5) == compare(borderline(), seed=5)
    assert decide(Evidence(compare(borderline(), seed=5))) == decide(Evidence(compare(borderline(), seed=5)))


def test_f22_the_order_of_queries_in_the_file_changes_nothing() -> None:
    matrix = borderline()
    order = np.random.default_rng(0).permutation(50)
    shuffled = ScoreMatrix(
        matrix.systems, tuple(matrix.queries[i] for i in order), matrix.values[:, order], "RR@10"
    )
    assert compare(shuffled, seed=5) == compare(matrix, seed=5)


def test_f22_a_seed_must_be_given_and_is_stored() -> None:
    assert inspect.signature(compare).parameters["seed"].default is inspect.Parameter.empty
    assert inspect.signature(BootstrapSettings).parameters["seed"].default is inspect.Parameter.empty
    interval = compare(borderline(), seed=5).pairs[0].interval
    assert (interval.seed, interval.resamples) == (5, RESAMPLES)


def test_f22_another_seed_moves_the_ends_by_little() -> None:
    pairs = [compare(borderline(), seed=seed).pairs[0] for seed in range(8)]
    widths = [pair.interval.high - pair.interval.low for pair in pairs]  # type: ignore[operator]
    lows = [pair.interval.low for pair in pairs]
    assert np.ptp(np.array(lows, dtype=float)) < 0.06 * min(widths)


def test_f22_a_run_keeps_the_seed_of_its_experiment_and_every_reading_says_the_same(ran: Any) -> None:
    assert ran.result.record.seed == 7
    once, again = open_run(ran.result.path), open_run(ran.result.path)
    assert once.comparison == again.comparison and once.verdict == again.verdict
    assert {(pair.interval.seed, pair.interval.resamples) for pair in once.comparison.pairs} == {(7, 10_000)}
