"""Size and language of the package: what a tool can check of the rules that CONTRIBUTING.md leaves to people."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "bakeoff"
MOST_MODULE_LINES, MOST_FUNCTION_LINES, MOST_MODULES_PER_ROOM = 400, 60, 30
IDIOMS = re.compile(
    r"\b(told apart|(is|are) (said|told)|so many|goes on|stands? (in|at|beside)|falls? over|is no (file|number|date|name))\b"
)


@cache
def _modules() -> dict[Path, ast.Module]:
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def _texts() -> Iterator[tuple[Path, int, str]]:
    """Every string of the package: docstrings, messages and help."""
    for path, tree in _modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path.relative_to(PACKAGE), node.lineno, node.value


def test_modules_read_in_one_sitting() -> None:
    lines = {
        path.relative_to(PACKAGE).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in _modules()
    }
    assert {name for name, count in lines.items() if count > MOST_MODULE_LINES} == set()


def test_functions_do_one_thing() -> None:
    long = [
        f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}"
        for path, tree in _modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno > MOST_FUNCTION_LINES
    ]
    assert long == []


def test_no_room_has_too_many_modules() -> None:
    rooms = {path.parent for path in _modules()}
    crowded = {room.name: len(list(room.glob("[!_]*.py"))) for room in rooms}
    assert {name: count for name, count in crowded.items() if count > MOST_MODULES_PER_ROOM} == {}


def test_texts_of_the_package_avoid_idioms() -> None:
    found = [f"{path}:{line}: {hit[0]}" for path, line, text in _texts() if (hit := IDIOMS.search(text))]
    assert found == []


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/tutorial.md"])
def test_first_pages_avoid_idioms(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [hit[0] for hit in IDIOMS.finditer(text)] == []
