"""F05: a target no system could reach (P@5 > 0.8 where the best possible mean is 0.455)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.measures.api import evaluate
from bakeoff.measures.arrays import JudgmentArrays
from bakeoff.measures.ceilings import ceiling
from bakeoff.measures.names import parse
from bakeoff.runs.checks.checking import validate
from bakeoff.runs.checks.findings import Finding

LAID = Callable[..., Path]
MEASURES = "measures: {primary: P@5(document), also: [Rprec(document)]}\n"


def targets(laid_out: LAID, folder: Path, more: str) -> tuple[list[Finding], float]:
    experiment = laid_out(folder)
    text = "corpus: {folder: corpus}\nqueries: queries.yaml\nmodes: [bm25]\n"
    experiment.write_text(text + MEASURES + more)
    report = validate(experiment, home=folder / "home")
    best = next(row.best for row in report.ceilings if row.measure == "P@5(document)")
    assert best is not None
    return [finding for finding in report.findings if finding.code == "target"], best


def test_f05_a_target_above_the_ceiling_is_an_error_that_says_the_ceiling(
    laid_out: LAID, tmp_path: Path
) -> None:
    (found,), best = targets(laid_out, tmp_path, "targets: {P@5: 0.8}\n")
    # eleven queries with one relevant document, one with two
    assert best == pytest.approx((11 * 0.2 + 0.4) / 12)
    assert (found.level, found.where) == ("error", "bakeoff.yaml, line 5")
    assert found.code == "target" and "mean is 0.217" in found.message
    assert (
        "12 queries" in found.message and "4 relevant documents" in found.message and "Rprec" in found.message
    )


def test_f05_a_target_at_the_ceiling_is_accepted(laid_out: LAID, tmp_path: Path) -> None:
    found, _ = targets(laid_out, tmp_path, f"targets: {{P@5: {(11 * 0.2 + 0.4) / 12}, Rprec: 1.0}}\n")
    assert found == []


def test_f05_a_preset_s_target_is_a_warning(laid_out: LAID, tmp_path: Path) -> None:
    (found,), _ = targets(laid_out, tmp_path, "preset: lineage\n")
    assert found.level == "warning" and found.message.startswith("preset lineage: P@5(document) ≥ 0.8")


def test_f05_the_experiment_s_own_target_takes_the_place_of_the_preset_s(
    laid_out: LAID, tmp_path: Path
) -> None:
    found, _ = targets(laid_out, tmp_path, "preset: lineage\ntargets: {P@5: 0.2}\n")
    assert found == []


def test_f05_a_target_of_a_measure_that_is_not_listed_is_held_against_its_ceiling_too(
    laid_out: LAID, tmp_path: Path
) -> None:
    (found,), _ = targets(laid_out, tmp_path, "targets: {P@10: 0.2}\n")
    assert found.level == "error" and "mean is 0.108" in found.message


def test_f05_the_command_prints_every_ceiling_and_rejects(laid_out: LAID, tmp_path: Path, cli: Any) -> None:
    experiment = laid_out(tmp_path)
    also = "measures: {primary: P@5(document), also: [R@1, nDCG@10, Rprec]}\ntargets: {P@5: 0.8}\n"
    experiment.write_text("corpus: {folder: corpus}\nqueries: queries.yaml\nmodes: [bm25]\n" + also)
    done = cli("validate", experiment, "--quiet")
    rows = {line.split()[0]: line.split()[1] for line in done.out.splitlines() if "(document) " in line}
    assert done.code == 2 and "can't be reached" in done.out
    best = {"P@5": "0.217", "R@1": "0.958", "nDCG@10": "1.000", "Rprec": "1.000"}
    assert {name: rows[f"{name}(document)"] for name in best} == best


@pytest.mark.parametrize("relevant", [1, 2, 3, 7, 12])
def test_f05_a_ceiling_is_what_the_best_ranking_scores(relevant: int) -> None:
    """Of every measure of judgments at several depths: reached by the ideal order, so neither too high nor too low."""
    names = [f"{name}@{k}" for name in ("P", "R", "R_cap", "Hit", "RR", "AP", "nDCG") for k in (1, 5, 10)]
    measures = [parse(name) for name in [*names, "Rprec", "AP", "RBP(p=0.8)", "RBP@5(p=0.8)"]]
    items = [f"d{number:02d}" for number in range(20)]
    grades = {item: int(place < relevant) for place, item in enumerate(items)}
    perfect = evaluate({"q": grades}, {"q": items}, measures).mean
    judged = JudgmentArrays(np.zeros(20, int), np.arange(20), np.array(list(grades.values())))
    for measure in measures:
        assert ceiling(measure, judged)[0] == pytest.approx(perfect[str(measure)]), measure
