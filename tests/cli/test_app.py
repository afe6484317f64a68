from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import bakeoff

HEAVY = [
    "numpy",
    "pandas",
    "scipy",
    "pyarrow",
    "torch",
    "streamlit",
    "duckdb",
    "faiss",
    "tantivy",
    "onnxruntime",
    "sklearn",
    "plotly",
]
CHECK = """
import sys
from bakeoff.cli import console
from bakeoff.cli.app import app
code = console.run_guarded(lambda: app({words!r}, standalone_mode=False))
print(sorted({{name.split(".")[0] for name in sys.modules}} & set({heavy!r})), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["version"], ["list", "modes"]])
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    script = CHECK.format(words=words, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.strip().splitlines()[-1] == "[]"
    assert done.stdout


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = f"import sys, bakeoff; print(sorted(set(sys.modules) & set({[*HEAVY, 'pydantic', 'typer', 'rich']!r})))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_names_every_command(cli: Any) -> None:
    done = cli("--help")
    assert done.code == 0
    for word in ("run", "demo", "init", "status", "list", "models", "cache", "compare", "report"):
        assert f"  {word} " in done.out


def test_version(cli: Any) -> None:
    assert cli("version").out == f"bakeoff {bakeoff.__version__}\n"


@pytest.mark.parametrize("words", [("rnu",), ("run", "--depth", "3"), ("list",)])
def test_a_command_that_is_none_is_code_2(cli: Any, words: tuple[str, ...]) -> None:
    done = cli(*words)
    assert done.code == 2 and done.out == "" and "Traceback" not in done.err
