"""F26: "50 queries detect 0.05", where the minimum detectable difference was about 0.14."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.evidence import Evidence
from bakeoff.stats.power import detectable_difference
from bakeoff.stats.verdict import decide


def reciprocal() -> ScoreMatrix:
    rng = np.random.default_rng(3)
    values = rng.choice([1.0, 0.5, 1 / 3, 0.25, 0.0], (2, 50), p=[0.5, 0.2, 0.1, 0.1, 0.1])
    return ScoreMatrix(("a", "b"), tuple(f"q{i}" for i in range(50)), values, "RR@10")


def test_f26_every_pair_carries_what_it_could_have_shown() -> None:
    pair = compare(reciprocal(), seed=1).pairs[0]
    assert pair.sd is not None
    assert pair.mdd == detectable_difference(pair.sd, 50)
    assert pair.mdd == pytest.approx(0.20, abs=0.05)
    needed = pair.queries_for(0.05)
    assert needed is not None
    assert needed > 500


def test_f26_the_verdict_prints_it() -> None:
    verdict = decide(Evidence(compare(reciprocal(), seed=1)))
    assert any(
        "50 questions show a difference of ." in line and "80% power" in line for line in verdict.reasons
    )
