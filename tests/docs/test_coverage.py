"""The table of requirements is complete: every number once, every test it names exists, every number in the source is in it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

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
