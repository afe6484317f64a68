"""F50: variants with identical scores to three digits, never questioned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff import registry
from bakeoff.report.build import build_report
from bakeoff.runs.run import run
from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.evidence import Evidence
from bakeoff.stats.verdict import decide


def told(result: Any) -> list[str]:
    """The notes of the record that accuse; a busy machine may add others, about time."""
    return [note for note in result.record.notes if "identical" in note]


def test_f50_identical_rankings_are_said_in_the_record_and_in_the_report(
    small: Path, register: Callable[..., None]
) -> None:
    class Quantised(registry.load("embedders", "wordllama")):
        """Calls itself quantised and changes nothing."""

    register("embedders", "quantised", Quantised)
    small.write_text(
        small.read_text().replace(
            "[{wordllama: {dims: 64}}]", "[wordllama, quantised, {wordllama: {dims: 64}}]"
        )
    )
    result = run(small, out=Path("run"))
    vectors, note = told(result)
    assert vectors.startswith("quantised, wordllama ") and "line(doc_lines=4 code_lines=6)" in vectors
    assert "wordllama · dense" in note and "quantised · dense" in note and "dims=64" not in note
    assert "identical rankings" in note
    assert {vectors, note} <= set(build_report(result).background.notes)


def test_f50_identical_scores_are_said_in_the_comparison(ran: Any) -> None:
    pair = ran.result.comparison.pair(
        "line · wordllama(dims=64) · exact · dense", "line · wordllama(dims=64) · faiss · dense"
    )
    assert pair.identical and pair.better is None


def test_f50_systems_that_differ_are_not_accused(ran: Any) -> None:
    notes = " ".join(told(ran.result))
    assert "faiss" in notes
    assert "line · bm25" not in notes and "semantic · bm25" not in notes


def test_f50_equal_means_are_not_equal_systems() -> None:
    """The same mean to the last digit, by other queries: that is no identity, and is not called one."""
    values = np.array([[1.0, 0.0, 0.5, 0.25] * 5, [0.0, 1.0, 0.25, 0.5] * 5])
    comparison = compare(ScoreMatrix(("a", "b"), tuple(map(str, range(20))), values, "nDCG@10"), seed=1)
    assert comparison.summary("a").mean == comparison.summary("b").mean
    assert not comparison.pairs[0].identical
    assert not [note for note in comparison.notes if "identical" in note]


def test_f50_identical_scores_are_questioned_below_the_verdict() -> None:
    rng = np.random.default_rng(1)
    row, other = rng.random(30), rng.random(30)
    matrix = ScoreMatrix(
        ("fp32", "int8", "other"), tuple(map(str, range(30))), np.vstack([row, row, other]), "nDCG@10"
    )
    found = decide(Evidence(compare(matrix, seed=1)))
    (line,) = [line for line in found.reasons if "identical" in line]
    assert line.startswith("fp32 and int8 ") and "nDCG@10" in line
