"""The table of requirements is complete: every number once, every command, setting and test it names exists."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

import bakeoff
from bakeoff import registry
from bakeoff.cli.app import app
from bakeoff.config.experiment_file import ExperimentFile
from bakeoff.config.modes import MODES
from bakeoff.errors import BakeoffError
from bakeoff.measures.conventions import Conventions
from bakeoff.measures.names import parse
from bakeoff.measures.presets import preset

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([SC]\d?-\d+) \| (.+) \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)
ROWS = ROW.findall(PAGE)
LAST = {"S0": 48, "S1": 11, "S2": 33, "S3": 29, "S4": 83, "C": 30}
"""The last number of each list."""
NUMBER = re.compile(r"\b(S\d|C)-(\d+)\b")
STATE = re.compile(r"^\*\*(whole|partial|no|outside)\*\*(?:[:;] (.+))?$")


def test_every_number_is_there_once_and_in_order() -> None:
    wanted = [f"{kind}-{number}" for kind, last in LAST.items() for number in range(1, last + 1)]
    assert [row[0] for row in ROWS] == wanted


def is_explained(row: tuple[str, ...]) -> bool:
    """Whether a row names a command and a test, or says what is missing and why."""
    _, _, shown, test, state = row
    found = STATE.match(state)
    if found is None or (found[1] in ("whole", "partial") and "–" in (shown, test)):
        return False
    return found[1] == "whole" or len((found[2] or "").split()) > 2


def test_every_row_names_its_test_or_its_reason() -> None:
    assert [row[0] for row in ROWS if not is_explained(row)] == []


def test_every_test_that_is_named_exists() -> None:
    named = {path for row in ROWS for path in re.findall(r"`([^`]+)`", row[3])}
    assert len(named) > 50
    assert [path for path in sorted(named) if not (ROOT / "tests" / path).is_file()] == []


def test_every_page_that_is_named_exists() -> None:
    named = {path for row in ROWS for path in re.findall(r"\bdocs/[\w/-]+\.md", row[2] + row[4])}
    assert named and [path for path in sorted(named) if not (ROOT / path).is_file()] == []


def test_every_number_in_the_source_is_in_the_table() -> None:
    table = {row[0] for row in ROWS}
    cited = Counter(
        f"{kind}-{number}"
        for path in (ROOT / "src").rglob("*.py")
        for kind, number in NUMBER.findall(path.read_text(encoding="utf-8"))
    )
    assert len(cited) > 50
    assert sorted(set(cited) - table) == []


SHOWN = sorted({text for row in ROWS for text in re.findall(r"`([^`]+)`", row[2])})
QUERY_FILE = (ROOT / "src/bakeoff/truth/queries.schema.json").read_text(encoding="utf-8")
ELSEWHERE = {
    ".env": "storage/environment.py",
    "key_metrics.parquet": "presets/goldsql/tables.py",
    "source=": "measures/names.py",
}
"""What is neither a command nor a setting of an experiment: the module that has it."""


def missing_in_command(text: str) -> list[str]:
    """Words of a command line that the program does not know: a command, or an option."""
    words = [word for word in shlex.split(text) if word not in ("bakeoff", "…")]
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands") and words:
        found = command.commands.get(words[0])
        if found is None:
            return [words[0]]
        command, words = found, words[1:]
    known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    return [word for word in words if word.startswith("--") and word not in known]


def names_parts(kind: str, given: object) -> bool:
    """Whether every part of a setting is registered; `…` and what the reader fills in are left out."""
    parts = [part if isinstance(part, str) else next(iter(part)) for part in given if part != "…"]
    if kind == "modes":
        return all(part in MODES for part in parts)
    return all(part in registry.names(kind) for part in parts)


def names_a_setting(text: str) -> bool:
    """Whether a snippet is a key of an experiment, of a query file or of the conventions, with known parts."""
    key, _, rest = text.partition(":")
    if key in {field.name for field in fields(Conventions)} or f'"{key}"' in QUERY_FILE:
        return True
    if key not in ExperimentFile.model_fields:
        return False
    value = yaml.safe_load(rest.replace("…", '"…"')) if rest.strip() else None
    if key == "preset":
        return preset(value).name == value
    return value is None or key not in (*registry.KINDS, "modes") or names_parts(key, value)


def is_known(text: str) -> bool:
    """Whether what a row names is there: a command, a name of the Python interface, a measure, a setting."""
    if text in ELSEWHERE:
        return text in (ROOT / "src/bakeoff" / ELSEWHERE[text]).read_text(encoding="utf-8")
    if text.startswith("bakeoff.") and not text.endswith(".yaml"):
        return hasattr(bakeoff, text.removeprefix("bakeoff.").partition("(")[0])
    if text.startswith("bakeoff ") or text in ("import-review", "final-report"):
        return not missing_in_command(text)
    if names_a_setting(text):
        return True
    try:
        return parse(text.replace("@K", "@10")) is not None
    except BakeoffError:
        return False


@pytest.mark.parametrize("text", SHOWN)
def test_what_shows_an_item_is_there(text: str) -> None:
    assert is_known(text)


@pytest.mark.parametrize(
    "text",
    [
        "bakeoff reports RUN",
        "bakeoff models fetch NAME",
        "bakeoff export RUN --presets lineage",
        "bakeoff.calculate_metrics",
        "preset: lineages",
        "chunkers: [lines]",
        "modes: [hybrids]",
        "k_count",
        "Z@5",
    ],
)
def test_a_renamed_command_or_setting_would_be_noticed(text: str) -> None:
    with contextlib.suppress(BakeoffError):  # a preset that nobody knows
        assert not is_known(text)
