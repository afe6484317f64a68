"""The page that walks a query through the code names the functions a real run calls, in their order."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import FrameType

import bakeoff
from bakeoff.cli.app import app

PAGE = Path(__file__).resolve().parents[2] / "docs" / "walk.md"
STEP = re.compile(r"^\d+\. `([\w/]+\.py)` · `([\w.]+)`", re.MULTILINE)
STEPS = STEP.findall(PAGE.read_text(encoding="utf-8"))
ROOT = Path(bakeoff.__file__).parent


def first_calls(*words: str) -> list[tuple[str, str]]:
    """The functions of the package that a command calls on its own thread, in the order of their first calls."""
    called: dict[tuple[str, str], None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT)):
            called.setdefault((Path(code.co_filename).relative_to(ROOT).as_posix(), code.co_qualname))

    sys.setprofile(note)
    try:
        code = app(list(words), standalone_mode=False)
    finally:
        sys.setprofile(None)
    assert not code
    return list(called)


def test_a_run_calls_the_steps_of_the_walk_in_their_order(tiny: Path) -> None:
    called = first_calls("run", "--quiet", "--out", "walked")
    missing = [step for step in STEPS if step not in called]
    assert not missing
    assert sorted(STEPS, key=called.index) == STEPS


def test_the_walk_is_short_and_starts_and_ends_where_it_says() -> None:
    files = [file for file, _ in STEPS]
    assert len(files) == len(set(files)) <= 14
    assert (files[0], files[-1]) == ("cli/runs.py", "stats/verdict.py")


def test_every_other_name_exists() -> None:
    for name in re.findall(r"`((?:[a-z_]+\.)+[A-Z]\w+)`", PAGE.read_text(encoding="utf-8")):
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(f"bakeoff.{module}"), attribute), name
