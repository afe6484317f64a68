"""bakeoff suggest as a user sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bakeoff.cli import checks
from bakeoff.truth.queries import read_queries


def test_it_says_what_it_drafted_and_what_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    experiment = tmp_path / "bakeoff.yaml"
    folder = json.dumps(str(Path(json.__file__).parent))
    experiment.write_text(f"corpus: {{folder: {folder}, include: ['*.py']}}\nqueries: suggested.yaml\n")
    out = tmp_path / "suggested.yaml"
    assert checks.suggest(experiment, n=5, out=out, masked=tmp_path / "masked") == 0
    shown = capsys.readouterr().out
    assert "5  docstring" in shown and str(out) in shown and str(tmp_path / "masked") in shown
    assert "bakeoff validate" in shown.splitlines()[-1]
    assert len(read_queries(out).queries) == 5
    assert (tmp_path / "masked" / "decoder.py").is_file()
