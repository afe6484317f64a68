"""F05: a target no system could reach (P@5 > 0.8 where the best possible mean is 0.455)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.validation.checking import validate
from bakeoff.validation.findings import Finding

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
    assert "best possible mean is 0.217" in found.message
    assert "12 queries have fewer than 4 relevant documents" in found.message and "Rprec" in found.message


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
