"""SECURITY.md names tests that exist, and every test of this folder holds a promise."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent


def test_every_named_test_exists_and_every_test_is_named() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:tests/\w+/)?test_\w+\.py)`", text))
    missing = [name for name in named if not (ROOT / name).exists() and not (HERE / name).exists()]
    assert missing == []
    others = {path.name for path in HERE.glob("test_*.py")} - {Path(name).name for name in named}
    assert others - {"test_promises.py"} == set()


def test_every_promise_has_a_test() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    rows = text.partition("## Promises")[2].partition("\n## ")[0].splitlines()
    promises = [row for row in rows if row.startswith("| ") and not row.startswith("| promise")]
    assert len(promises) >= 14
    assert all(re.search(r"`[\w/]*test_\w+\.py`", row.rsplit("|", 2)[1]) for row in promises)
