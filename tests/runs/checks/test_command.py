"""bakeoff validate as a user sees it: what is printed, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bakeoff.cli import checks

Make = Callable[..., Any]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))


def test_a_sound_experiment_ends_with_what_to_do_next(lab: Make, capsys: pytest.CaptureFixture[str]) -> None:
    made = lab()
    assert checks.validate(made.experiment, quiet=True) == 0
    shown = capsys.readouterr().out
    assert shown.rstrip().splitlines()[-1] == f"ready: bakeoff run {made.experiment}"
    assert "12 documents" in shown and "4: 3 judged, 1 negative" in shown
    assert "nDCG@5(document)          1.000        3" in shown
    assert "0.200" in shown  # P@5 with one relevant document a query
    assert "assumed" in shown and "--pilot" in shown


def test_errors_are_named_counted_and_end_with_code_2(lab: Make, capsys: pytest.CaptureFixture[str]) -> None:
    made = lab(queries=(("[trains.md]", "[planes.md]"),))
    assert checks.validate(made.experiment, quiet=True) == 2
    shown = capsys.readouterr().out
    assert "queries.yaml" in shown and "line 4" in shown
    assert shown.rstrip().splitlines()[-1].startswith("1 error:")


def test_strict_counts_warnings(lab: Make, capsys: pytest.CaptureFixture[str]) -> None:
    made = lab()
    assert checks.validate(made.experiment, strict=True, quiet=True) == 2
    assert "1 error (1 of them warnings, by --strict): not ready" in capsys.readouterr().out


def test_verbose_shows_every_rule(lab: Make, capsys: pytest.CaptureFixture[str]) -> None:
    more = "".join(
        f"  - {{id: m{i}, text: alpha{i} beta{i}, truth: {{any: [{{documents: [auth.md]}}, {{documents: [mail.md]}}]}}}}\n"
        for i in range(20)
    )
    made = lab(queries=(("  - {id: none", f"{more}  - {{id: none"),))
    checks.validate(made.experiment, quiet=True)
    assert "truth.any.1" not in capsys.readouterr().out
    checks.validate(made.experiment, verbose=True, quiet=True)
    shown = capsys.readouterr().out
    assert shown.count("truth.any.1") == 20 and "m19" in shown


def test_many_findings_of_a_kind_are_cut_short_and_counted(
    lab: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    more = "".join(
        f"  - {{id: m{i}, text: alpha{i} beta{i}, truth: {{file: gone{i}.md}}}}\n" for i in range(20)
    )
    made = lab(queries=(("  - {id: none", f"{more}  - {{id: none"),))
    assert checks.validate(made.experiment, quiet=True) == 2
    shown = capsys.readouterr().out
    assert "12" in shown and "--verbose" in shown and "gone19" not in shown
    checks.validate(made.experiment, verbose=True, quiet=True)
    assert "gone19" in capsys.readouterr().out


def test_json_has_everything(lab: Make, capsys: pytest.CaptureFixture[str]) -> None:
    made = lab(queries=(("[trains.md]", "[planes.md]"),))
    assert checks.validate(made.experiment, as_json=True) == 2
    said = json.loads(capsys.readouterr().out)
    assert said["ready"] is False and said["errors"] == 1
    assert said["findings"][0]["code"] == "truth"
    assert said["queries"][0]["hits"] == {"": 1}
    assert said["power"]["queries"] == 2
    assert said["conventions"]["rel"] == 1


def test_a_folder_and_a_pilot_can_be_given(ran: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder = ran.result.path.parent
    assert checks.validate(folder, pilot=ran.result.path, quiet=True) == 0
    assert "measured: median of" in " ".join(capsys.readouterr().out.split())


def test_a_broken_experiment_is_said_in_json_too(lab: Make, capsys: pytest.CaptureFixture[str]) -> None:
    made = lab(experiment="corpus: [\n")
    assert checks.validate(made.experiment, as_json=True) == 2
    assert json.loads(capsys.readouterr().out)["findings"][0]["code"] == "experiment"
