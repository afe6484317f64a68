"""What an adapter's file is: short, and no copy of another's."""

from itertools import combinations
from pathlib import Path

import bakeoff.plugins.stores as stores

FILES = sorted(Path(stores.__path__[0]).glob("*.py"))
LINES, RUN = 150, 6


def code(path: Path) -> list[str]:
    """The lines that say something, without their indentation."""
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def runs(path: Path) -> set[tuple[str, ...]]:
    lines = code(path)
    return {tuple(lines[i : i + RUN]) for i in range(len(lines) - RUN + 1)}


def test_an_adapter_is_under_150_lines() -> None:
    long = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name: count for name, count in long.items() if count >= LINES and name[0] != "_"} == {}


def test_no_two_files_share_a_run_of_six_lines() -> None:
    found = {path.name: runs(path) for path in FILES}
    shared = {(a, b): found[a] & found[b] for a, b in combinations(found, 2)}
    assert {pair: lines for pair, lines in shared.items() if lines} == {}
