"""F30: choosing the best of many configurations and reporting its score on the same queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.cli import console
from bakeoff.cli.app import app
from bakeoff.pipeline.tuning import GRID, cross_validated_weights
from bakeoff.report.render.html import write_html
from bakeoff.report.render.markdown import write_markdown
from bakeoff.runs.analysis import open_run
from bakeoff.runs.verdict import held_out_score
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.selection import select


def alike(systems: int, seed: int) -> ScoreMatrix:
    """Configurations that differ by nothing but chance around a mean of one half."""
    values = np.random.default_rng(seed).random((systems, 40))
    return ScoreMatrix(tuple(f"s{i}" for i in range(systems)), tuple(map(str, range(40))), values, "nDCG@10")


def test_f30_the_held_out_score_does_not_profit_from_choosing() -> None:
    found = [select(alike(40, seed), folds=5, seed=seed) for seed in range(60)]
    tuning = np.mean([one.tuning_score for one in found])
    held_out = np.mean([one.held_out_score for one in found])
    assert tuning > 0.58
    assert abs(held_out - 0.5) < 0.02
    assert np.mean([one.optimism for one in found]) > 0.06


def test_f30_both_scores_stand_side_by_side() -> None:
    found = select(alike(40, seed=1), folds=5, seed=1)
    assert f"{found.tuning_score:.3f}" in found.sentence
    assert f"{found.held_out_score:.3f}" in found.sentence
    assert found.held_out_interval.defined


def test_f30_a_tuned_weight_does_not_profit_from_its_own_query() -> None:
    """Weights that differ by nothing but chance: what is chosen on other queries is worth one half here."""
    scores = []
    for seed in range(60):
        values = np.random.default_rng(seed).random((len(GRID), 40))
        choice = cross_validated_weights(values, [""] * 40, seed)
        places = [GRID.index(weight) for weight in choice.weight]
        scores.append(values[places, np.arange(40)].mean())
        for number in np.unique(choice.fold):
            others, inside = choice.fold != number, choice.fold == number
            best = GRID[int(values[:, others].mean(axis=1).argmax())]
            assert set(choice.weight[inside]) == {best}
    assert np.mean(scores) == pytest.approx(0.5, abs=0.02)


def test_f30_a_run_of_several_systems_shows_the_held_out_score_of_its_winner(ran: Any) -> None:
    found = held_out_score(ran.result)
    assert found is not None and found.candidates == 10 and found.n == 12
    assert found.winner == ran.result.comparison.best
    assert f"{found.held_out_score:.3f}" in found.sentence
    assert found.sentence in write_markdown(ran.result).read_text(encoding="utf-8").replace("\\", "")
    assert found.sentence in write_html(ran.result).read_text(encoding="utf-8")


def test_f30_the_terminal_tells_it_below_the_verdict(tiny: Path, capsys: Any) -> None:
    assert console.run_guarded(lambda: app(["run", "--verbose", "--out", "run"], standalone_mode=False)) == 0
    found = held_out_score(open_run("run"))
    assert found is not None
    assert found.sentence in " ".join(capsys.readouterr().out.split())
