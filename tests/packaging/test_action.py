"""The composite action: its own scripts, run with real inputs, pass an equal run and fail a worse one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]


def scripts() -> dict[str, dict[str, Any]]:
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    return {step["name"]: step for step in steps if "run" in step}


def play(step: dict[str, Any], inputs: dict[str, str], folder: Path) -> int:
    """One step as a runner plays it: inputs are put into its environment, then bash runs the script."""
    given = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], value)
        for name, value in step.get("env", {}).items()
    }
    env = {
        **os.environ,
        **given,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }
    env.pop("PYTEST_CURRENT_TEST", None)
    return subprocess.run(["bash", "-e", "-c", step["run"]], cwd=folder, env=env, check=False).returncode


def test_every_input_that_a_script_uses_is_declared() -> None:
    text = (ROOT / "action.yml").read_text()
    declared = set(yaml.safe_load(text)["inputs"])
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == declared


@pytest.mark.slow
def test_the_action_runs_reports_and_gates(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    words = ["amber", "birch", "cobalt", "dune", "ember", "fjord"]
    for word in words:
        (docs / f"{word}.md").write_text(f"# {word}\n\nThis page is about {word} and nothing else.\n")
    queries = [
        {"id": word, "text": f"page about {word}", "truth": {"documents": [f"{word}.md"]}} for word in words
    ]
    (tmp_path / "queries.yaml").write_text(yaml.safe_dump({"queries": queries}))
    experiment = {
        "corpus": {"folder": "docs"},
        "queries": "queries.yaml",
        "chunkers": ["whole"],
        "modes": ["bm25"],
    }
    (tmp_path / "bakeoff.yaml").write_text(yaml.safe_dump(experiment))
    inputs = {"experiment": "bakeoff.yaml", "baseline": "", "margin": "0.02", "out": "runs/ci"}
    steps = scripts()
    assert play(steps["Run"], inputs, tmp_path) == 0
    assert play(steps["Gate"], inputs, tmp_path) == 0
    assert (tmp_path / "output").read_text() == "run=runs/ci\n"
    assert (tmp_path / "summary.md").stat().st_size > 0
    later = {**inputs, "baseline": "runs/ci", "out": "runs/later"}
    assert play(steps["Run"], later, tmp_path) == 0
    assert play(steps["Gate"], later, tmp_path) == 0
    for word in words[:4]:  # the right pages no longer have the words of their questions
        (docs / f"{word}.md").write_text("# Moved\n\nNothing here any more.\n")
        (docs / f"other-{word}.md").write_text(f"# Other\n\npage about {word} page about {word}\n")
    worse = {**inputs, "baseline": "runs/ci", "out": "runs/worse"}
    assert play(steps["Run"], worse, tmp_path) == 0
    assert play(steps["Gate"], worse, tmp_path) == 1
    absent = {**inputs, "baseline": "runs/none", "out": "runs/worse"}
    (tmp_path / "summary.md").unlink()
    assert (tmp_path / "gate.md").exists()
    assert play(steps["Gate"], absent, tmp_path) == 2
    assert "can't be compared" in (tmp_path / "summary.md").read_text()  # not the summary of the gate before
