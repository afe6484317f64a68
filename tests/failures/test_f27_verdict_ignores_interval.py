"""F27: a recommendation that ignores its own confidence interval."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bakeoff.presets.goldsql.decision import DECISION_A, DECISION_B, S4Case, decide_s4
from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import Comparison, ScoreMatrix
from bakeoff.stats.evidence import Evidence
from bakeoff.stats.intervals import Interval
from bakeoff.stats.verdict import VerdictKind, decide


def clear() -> Comparison:
    rng = np.random.default_rng(1)
    base = rng.uniform(0.2, 0.6, 60)
    values = np.clip([base + 0.2 + rng.normal(0, 0.1, 60), base], 0, 1)
    return compare(ScoreMatrix(("a", "b"), tuple(f"q{i}" for i in range(60)), values, "nDCG@10"), seed=7)


@pytest.mark.parametrize(("low", "high"), [(-0.01, 0.4), (0.0, 0.4), (None, None)])
def test_f27_an_interval_that_touches_zero_takes_the_recommendation_back(
    low: float | None, high: float | None
) -> None:
    comparison = clear()
    assert decide(Evidence(comparison)).kind is VerdictKind.USE
    pair = replace(comparison.pairs[0], interval=Interval(low, high, 0.95, "hull", 10_000, 7, "none"))
    verdict = decide(Evidence(replace(comparison, pairs=(pair,))))
    assert verdict.kind is VerdictKind.CANT_TELL
    assert verdict.system is None


def test_f27_nor_is_a_corrected_p_above_alpha_enough() -> None:
    comparison = clear()
    pair = replace(comparison.pairs[0], p_holm=0.06)
    assert decide(Evidence(replace(comparison, pairs=(pair,)))).kind is VerdictKind.CANT_TELL


@pytest.mark.parametrize("table", [DECISION_A, DECISION_B], ids=["by interval and wins", "by size"])
def test_f27_nor_does_a_preset_recommend_against_the_interval(table: tuple[Any, ...]) -> None:
    """A difference of .2 with many more wins than losses: with an interval around 0 it recommends nobody for it."""
    pair = clear().pairs[0]
    assert decide_s4(S4Case(pair), table).choice == "a"
    wide = replace(pair, interval=Interval(-0.01, 0.4, 0.95, "hull", 10_000, 7, "none"))
    assert decide_s4(S4Case(wide), table).choice == "inconclusive"
