from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import bakeoff
from bakeoff.errors import ComparisonError
from bakeoff.report.run_history import runs_section
from bakeoff.runs.compare_runs import check_comparable, compare_runs


def test_results_under_other_conventions_are_not_compared(ran: Any, tmp_path: Path) -> None:
    other = Path(shutil.copytree(ran.result.path, tmp_path / "run"))
    record = json.loads((other / "run.json").read_text())
    record["conventions"]["rel"] = 2
    (other / "run.json").write_text(json.dumps(record))
    with pytest.raises(ComparisonError, match="rel"):
        check_comparable(ran.result, bakeoff.open_run(other))
    assert check_comparable(ran.result, bakeoff.open_run(other), allow_mixed=True)
    assert check_comparable(ran.result, bakeoff.open_run(ran.result.path)) == ()


def run_of(folder: Path, laid_out: Any, name: str, embedder: str) -> bakeoff.Result:
    """A run of one embedder, as if of another day."""
    text = (
        "corpus: {folder: corpus}\nqueries: queries.yaml\nchunkers: [whole]\n"
        f"embedders: [{embedder}]\nmodes: [dense]\ndepth: 20\n"
    )
    return bakeoff.run(laid_out(folder, text), out=folder / name)


def test_runs_without_a_common_system_are_compared_as_one(home: Path, laid_out: Any) -> None:
    here = Path.cwd()
    one = run_of(here, laid_out, "day1", "{wordllama: {dims: 64, as: small}}")
    other = run_of(here, laid_out, "day2", "{wordllama: {as: large}}")
    text = (
        "corpus: {folder: corpus}\nqueries: queries.yaml\nchunkers: [whole]\n"
        "embedders: [{wordllama: {dims: 64, as: small}}, {wordllama: {as: large}}]\nmodes: [dense]\ndepth: 20\n"
    )
    together = bakeoff.run(laid_out(here, text), out=here / "both").comparison
    found = compare_runs([one, other])
    pair = found.comparison.pair("whole · small · dense", "whole · large · dense")
    expected = together.pair("whole · small · dense", "whole · large · dense")
    assert (pair.difference, pair.n, pair.counts) == (expected.difference, expected.n, expected.counts)
    assert {(row.name, row.run) for row in found.systems} == {
        ("whole · small · dense", "day1"),
        ("whole · large · dense", "day2"),
    }
    section = runs_section(found, "rules")
    assert {row[1] for row in section.grids[0].rows} == {"day1", "day2"}


def test_systems_that_two_runs_share_have_the_run_in_their_name(home: Path, laid_out: Any) -> None:
    here = Path.cwd()
    results = [run_of(here, laid_out, name, "{wordllama: {dims: 64, as: small}}") for name in ("a", "b")]
    names = {row.name for row in compare_runs(results).systems}
    assert names == {"whole · small · dense @ a", "whole · small · dense @ b"}


def test_runs_of_different_truth_are_refused(home: Path, laid_out: Any) -> None:
    here = Path.cwd()
    one = run_of(here, laid_out, "day1", "{wordllama: {dims: 64, as: small}}")
    other = run_of(here, laid_out, "day2", "{wordllama: {as: large}}")
    record = json.loads((other.path / "run.json").read_text())
    record["truth_fingerprint"] = "another"
    (other.path / "run.json").write_text(json.dumps(record))
    with pytest.raises(ComparisonError):
        compare_runs([one, bakeoff.open_run(other.path)])
