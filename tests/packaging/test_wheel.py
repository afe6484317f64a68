"""The package as a user gets it: built, installed in an empty environment, and asked for its demo; extras resolve."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEMO_SECONDS = 900


def clean_environment(home: Path) -> dict[str, str]:
    """The user's environment without anything of this one."""
    dropped = {"PYTHONPATH", "VIRTUAL_ENV", "BAKEOFF_CACHE"}
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "BAKEOFF_HOME": str(home), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def test_the_core_has_the_parts_of_the_default_experiment_and_no_torch() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.match(r"[\w-]+", line)[0] for line in project["dependencies"]}  # type: ignore[index]
    assert {"tantivy", "wordllama", "onnxruntime", "tokenizers", "tree-sitter-python", "chardet"} <= names
    assert not names & {"torch", "sentence-transformers"}


def test_the_citation_and_the_package_have_the_same_version() -> None:
    import bakeoff

    assert f"version: {bakeoff.__version__}\n" in (ROOT / "CITATION.cff").read_text()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_plain_install_runs_a_demo(tmp_path: Path) -> None:
    wheels, place, env = tmp_path / "wheels", tmp_path / "empty", clean_environment(tmp_path / "home")
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(wheels), str(ROOT)]
    subprocess.run(build, check=True)
    (wheel,) = wheels.glob("bakeoff-*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    subprocess.run([place / "bin" / "python", "-m", "pip", "install", "-q", str(wheel)], check=True, env=env)
    command = place / "bin" / "bakeoff"
    version = subprocess.run([command, "--version"], capture_output=True, text=True, check=True, env=env)
    assert version.stdout.startswith("bakeoff ")
    words = [command, "demo", "lineage", "--quiet", "--out", "runs/demo"]
    done = subprocess.run(
        words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=DEMO_SECONDS
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs" / "demo" / "report.html").is_file()


@pytest.mark.slow
def test_every_extra_resolves() -> None:
    uv = pytest.importorskip("uv").find_uv_bin()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    compile_ = [uv, "pip", "compile", "-q", "--no-header", "pyproject.toml", "-o", os.devnull]
    failed = {}
    for extra in extras:
        done = subprocess.run(
            [*compile_, "--extra", extra], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode:
            failed[extra] = done.stderr[-300:]
    assert failed == {}
