from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import typer

import bakeoff
from bakeoff.cli.app import GROUPS, app

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


def test_help_has_every_command_in_one_group(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = cli("--help")
    commands: Any = typer.main.get_command(app)
    grouped = [name for names in GROUPS.values() for name in names]
    assert done.code == 0
    assert sorted(grouped) == sorted(name for name, one in commands.commands.items() if not one.hidden)
    shown = [
        line.split()[0] for line in done.out.splitlines() if line.startswith("  ") and line[2:3].isalpha()
    ]
    assert [word for word in shown if word in grouped] == grouped
    assert "..." not in done.out.partition("Options:")[2] and max(map(len, done.out.splitlines())) <= 80


def test_version(cli: Any) -> None:
    assert cli("version").out == f"bakeoff {bakeoff.__version__}\n"


@pytest.mark.parametrize("words", [("rnu",), ("run", "--depth", "3"), ("list",)])
def test_an_unknown_command_exits_with_2(cli: Any, words: tuple[str, ...]) -> None:
    done = cli(*words)
    assert done.code == 2 and done.out == "" and "Traceback" not in done.err
