"""F11: universal sections quietly widened until accuracy rose from 0.48 to 0.62."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bakeoff.errors import ComparisonError
from bakeoff.measures.conventions import DEFAULT, Conventions, check_same
from bakeoff.measures.sections import section_scores
from bakeoff.report.render.markdown import write_markdown
from bakeoff.runs.analysis import open_run
from bakeoff.runs.checks.checking import validate
from bakeoff.runs.compare_runs import compare_across
from bakeoff.runs.run import run

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


@pytest.fixture
def sections(small: Path) -> Path:
    """An experiment that asks for section accuracy with universal sections, and for nothing beside it."""
    Path("queries.yaml").write_text(
        "queries:\n  - {id: a, text: money back, truth: {sections: {of: [Refunds], universal: [Taxes]}}}\n"
    )
    text = re.sub(r"chunkers: .*", "chunkers: [semantic]", small.read_text())
    small.write_text(text + "measures: {primary: RR@10(document), also: [SecAcc@10]}\n")
    return small


def test_f11_validate_shows_the_list_and_who_widens_it(sections: Path) -> None:
    report = validate(sections)
    found = [finding for finding in report.findings if finding.code == "universal-sections"]
    assert [finding.level for finding in found] == ["warning", "note"]
    assert "Taxes" in found[0].message
    assert "SYNOPSIS" in found[1].message
    assert report.conventions["universal_sections"] == list(DEFAULT.universal_sections)


def test_f11_a_run_measures_and_prints_both_whatever_was_asked_for(sections: Path, cli: Any) -> None:
    """Refunds and Taxes are two chunks: one is the target, the other only a universal section of this query."""
    assert cli("run", "--quiet", "--out", "run").code == 0
    result = open_run(Path("run"))
    assert result.record.measures == ["RR@10(document)", "SecAcc@10", "SecAcc_primary@10"]
    wide, narrow = (
        result.summaries(name)[result.done[0]].mean for name in ("SecAcc@10", "SecAcc_primary@10")
    )
    assert (wide, narrow) == (0.2, 0.1)
    page = write_markdown(result).read_text(encoding="utf-8").replace("\\", "")
    assert "SecAcc@10" in page and "SecAcc_primary@10" in page and "SYNOPSIS, EXECUTIVE SUMMARY" in page
    assert result.record.conventions["universal_sections"] == list(DEFAULT.universal_sections)


def test_f11_runs_with_another_list_are_not_compared(sections: Path) -> None:
    result = run(sections, out=Path("one"))
    shutil.copytree("one", "other")
    record = json.loads(Path("other/run.json").read_text())
    record["conventions"]["universal_sections"].append("CONCLUSIONS")
    Path("other/run.json").write_text(json.dumps(record))
    with pytest.raises(ComparisonError, match="CONCLUSIONS"):
        compare_across(result, open_run(Path("other")))
