"""F11: universal sections quietly widened until accuracy rose from 0.48 to 0.62."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.errors import ComparisonError
from bakeoff.measures.conventions import DEFAULT, Conventions, check_same
from bakeoff.measures.sections import section_scores
from bakeoff.validation.checking import validate

SERVED = ["2.1 PROBABLE CAUSE", "SYNOPSIS", "WEATHER", "CONCLUSIONS"]
WIDENED = replace(DEFAULT, universal_sections=(*DEFAULT.universal_sections, "CONCLUSIONS"))


def test_f11_widening_the_list_moves_one_measure_and_not_the_other() -> None:
    before, after = (section_scores(SERVED, ["PROBABLE CAUSE"], 4, each) for each in (DEFAULT, WIDENED))
    assert (before.universal, after.universal) == (0.5, 0.75)
    assert before.primary == after.primary == 0.25


def test_f11_results_with_another_list_are_not_compared() -> None:
    stored = Conventions.from_dict(WIDENED.to_dict())
    with pytest.raises(ComparisonError, match=r"universal_sections: .*CONCLUSIONS"):
        check_same(DEFAULT, stored)


def test_f11_validate_wants_both_measures_and_shows_the_list(
    laid_out: Callable[..., Path], tmp_path: Path
) -> None:
    experiment = laid_out(tmp_path)
    (tmp_path / "queries.yaml").write_text(
        "queries:\n  - {id: a, text: money back, truth: {sections: {of: [Refunds], universal: [Taxes]}}}\n"
    )
    text = "corpus: {folder: corpus}\nqueries: queries.yaml\nchunkers: [semantic]\nmodes: [bm25]\n"
    experiment.write_text(text + "measures: {primary: RR@10(document), also: [SecAcc@10]}\n")
    report = validate(experiment, home=tmp_path / "home")
    found = [finding for finding in report.findings if finding.code == "universal-sections"]
    assert [finding.level for finding in found] == ["warning", "warning", "note"]
    assert "without SecAcc_primary@10 beside it" in found[0].message
    assert "universal sections that the conventions do not have: Taxes" in found[1].message
    assert "SYNOPSIS" in found[2].message
    assert report.conventions["universal_sections"] == list(DEFAULT.universal_sections)
