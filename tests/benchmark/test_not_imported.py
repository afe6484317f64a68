"""A run that repeats no configuration does not import the benchmark engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LIST_MODULES = "print('\\n'.join(name for name in sys.modules if name.startswith('bakeoff.benchmark')))"
FROM_PYTHON = f"import sys, bakeoff; bakeoff.run('bakeoff.yaml', out='out'); {LIST_MODULES}"
THEN_FROM_THE_SHELL = f"""
print("modules of the command:")
from bakeoff.cli.app import app
app(["run", "bakeoff.yaml", "--out", "out", "--quiet", "--json"], standalone_mode=False)
print("modules:")
{LIST_MODULES}
"""


def _run(code: str) -> list[str]:
    made = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert (Path("out") / "run.json").is_file()
    return [line for line in made.stdout.splitlines() if line]


def test_bakeoff_run_imports_only_what_reads_stored_results(small: Path) -> None:
    """From Python nothing of the engine; the command's report imports the readers of results, and nothing that measures."""
    lines = _run(FROM_PYTHON + THEN_FROM_THE_SHELL)
    command = lines.index("modules of the command:")
    assert lines[:command] == []
    modules = set(lines[lines.index("modules:") + 1 :]) - {"bakeoff.benchmark"}
    assert modules
    assert {name for name in modules if not name.startswith("bakeoff.benchmark.results")} == set()


@pytest.mark.slow
def test_depths_are_repeated_by_the_engine(small: Path) -> None:
    small.write_text(small.read_text() + "top_k: [5]\nruns: 1\n")
    assert "bakeoff.benchmark.configurations.repeats" in _run(FROM_PYTHON)
