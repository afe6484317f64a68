"""F15: a headline at one level beside a table at another. The level is part of every name in the report."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

from bakeoff.report.build import build_report
from bakeoff.report.render.html import write_html
from bakeoff.runs.analysis import open_run

_place = Path(__file__).resolve().parents[1] / "report" / "conftest.py"
_spec = importlib.util.spec_from_file_location("report_run_f15", _place)
assert _spec
assert _spec.loader
made_up = sys.modules[_spec.name] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made_up)

TWO_LEVELS = ("nDCG@10(document)", "RR@10(answer)", "Hit@5(chunk)")


def test_f15_every_measure_in_the_report_names_its_unit(tmp_path: Path) -> None:
    result = made_up.write_run(tmp_path / "run", made_up.Made(systems=3, measures=TWO_LEVELS))
    text = write_html(result).read_text(encoding="utf-8").replace("<wbr>", "")
    bare = re.findall(r"(?:nDCG|RR|Hit)@\d+(?!\d|\()", text)
    assert bare == []


def test_f15_verdict_table_and_decision_are_at_one_level(tmp_path: Path) -> None:
    result = made_up.write_run(tmp_path / "run", made_up.Made(systems=3, measures=TWO_LEVELS))
    report = build_report(result)
    assert report.systems.measures[0].label == "nDCG@10(document)"
    verdict = " ".join([report.headline.sentence, *report.headline.reasons])
    assert "nDCG@10(document)" in verdict
    assert not re.search(r"\((answer|chunk)\)", verdict)


def test_f15_a_measure_stored_without_its_unit_is_printed_with_it(tmp_path: Path) -> None:
    result = made_up.write_run(
        tmp_path / "run", made_up.Made(systems=2, measures=("nDCG@10", "RR@10"), primary="nDCG@10")
    )
    assert [note.label for note in build_report(result).systems.measures] == [
        "nDCG@10(document)",
        "RR@10(document)",
    ]


def test_f15_a_run_keeps_the_level_of_every_measure_and_prints_it(small: Path, cli: Any) -> None:
    """Names written without a level: the stored rows, the terminal and the report's first column all have it."""
    small.write_text(
        small.read_text() + "measures: {primary: nDCG@10, also: [RR@10(answer), Hit@5(chunk)]}\n"
    )
    printed = cli("run", "--out", "run").out
    result = open_run(Path("run"))
    assert result.record.primary == "nDCG@10(document)"
    assert {unit for unit in result.scores["unit"].to_pylist() if not unit} == set()
    heading = [line for line in printed.splitlines() if "nDCG@10" in line or "(document)" in line]
    assert any("nDCG@10" in line for line in heading)
    at = next(line.index("nDCG@10") for line in heading if "nDCG@10" in line)
    assert any("(document)" in line[max(0, at - 6) : at + 20] for line in heading)
