"""F26: "50 queries detect 0.05", where the minimum detectable difference was about 0.14."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bakeoff.cli import console
from bakeoff.cli.app import app
from bakeoff.report.build import build_report
from bakeoff.report.render.markdown import write_markdown
from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.evidence import Evidence
from bakeoff.stats.power import detectable_difference
from bakeoff.stats.verdict import VerdictKind, decide


def reciprocal() -> ScoreMatrix:
    rng = np.random.default_rng(3)
    values = rng.choice([1.0, 0.5, 1 / 3, 0.25, 0.0], (2, 50), p=[0.5, 0.2, 0.1, 0.1, 0.1])
    return ScoreMatrix(("a", "b"), tuple(f"q{i}" for i in range(50)), values, "RR@10")


def test_f26_every_pair_carries_what_it_could_have_shown() -> None:
    pair = compare(reciprocal(), seed=1).pairs[0]
    assert pair.sd is not None
    assert pair.mdd == detectable_difference(pair.sd, 50)
    assert pair.mdd == pytest.approx(
        (2.0096 + 0.8486) * pair.sd / 50**0.5, rel=1e-3
    )  # t at 97.5 % and at 80 %
    assert pair.mdd > 0.14
    needed = pair.queries_for(0.05)
    assert needed is not None
    assert needed > 500


def test_f26_the_verdict_prints_it() -> None:
    verdict = decide(Evidence(compare(reciprocal(), seed=1)))
    assert any(
        "50 questions, differences below ." in line and "80% power" in line for line in verdict.reasons
    )


def test_f26_what_is_shown_among_many_pairs_is_more_than_between_two() -> None:
    """The decision is corrected over all pairs, so what it could have shown is too."""
    rng = np.random.default_rng(5)
    values = rng.choice([1.0, 0.5, 0.0], (5, 50))
    matrix = ScoreMatrix(tuple("abcde"), tuple(f"q{i}" for i in range(50)), values, "RR@10")
    for pair in compare(matrix, seed=1).pairs:
        assert pair.sd is not None and pair.mdd is not None
        alone = detectable_difference(pair.sd, 50)
        assert alone is not None
        assert pair.mdd == detectable_difference(pair.sd, 50, alpha=0.05 / 10)
        assert pair.mdd > 1.2 * alone


def test_f26_a_clear_winner_carries_it_too() -> None:
    base = np.linspace(0.1, 0.5, 50)
    values = np.vstack([base + 0.3 + np.linspace(0, 0.1, 50), base])
    verdict = decide(
        Evidence(compare(ScoreMatrix(("a", "b"), reciprocal().queries, values, "nDCG@10"), seed=1))
    )
    assert verdict.kind is VerdictKind.USE
    assert any("50 questions, differences below ." in line for line in verdict.reasons)


def test_f26_the_terminal_and_the_report_print_it_with_each_comparison(ran: Any, capsys: Any) -> None:
    result = ran.result
    pair = next(pair for pair in result.comparison.pairs if pair.mdd is not None)
    words = ["compare", str(result.path), pair.a, pair.b]
    assert console.run_guarded(lambda: app(words, standalone_mode=False)) == 0
    (line,) = [row for row in capsys.readouterr().out.splitlines() if "smallest detectable difference" in row]
    assert f"{pair.mdd:.4f}" in line
    text = write_markdown(result).read_text(encoding="utf-8")
    heading = next(row for row in text.splitlines() if row.startswith("| a | b | n |"))
    assert "| detectable |" in heading
    shown = build_report(result).pairs
    assert shown is not None
    known = [f"{one.mdd:.3f}".lstrip("0") for one in shown.pairs if one.mdd is not None]
    assert known
    for mdd in known:
        assert any(row.rstrip(" |").endswith(mdd) for row in text.splitlines()), mdd
