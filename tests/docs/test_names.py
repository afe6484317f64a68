"""One word, one meaning: class names have one home, and the glossaries list the words that the code uses."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "bakeoff"
PER_PLUGIN = {"Params", "Query", "Build"}
"""Each plug-in defines its own; the protocols give their meaning."""
ON_SCREEN = {"question"}


def glossary(page: str) -> dict[str, str]:
    """The words of a page's table `| word | …`, with their meanings."""
    _, _, table = (ROOT / page).read_text(encoding="utf-8").partition("| word | mean")
    rows = re.findall(r"^\| ([^|]+) \| (.+) \|$", table, re.MULTILINE)
    return {word.strip(): meaning for words, meaning in rows for word in words.split(",")}


WORDS = glossary("CONTRIBUTING.md")
SOURCES = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}


def test_no_public_class_name_has_two_homes() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path, text in SOURCES.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(PACKAGE)))
    assert {name: where for name, where in homes.items() if len(where) > 1 and name not in PER_PLUGIN} == {}


def test_both_glossaries_have_the_code_words() -> None:
    assert len(WORDS) >= 25
    assert set(WORDS) - set(glossary("docs/glossary.md")) == set()


@pytest.mark.parametrize("word", sorted(WORDS))
def test_a_code_word_names_something_in_the_code(word: str) -> None:
    """As a word of an identifier; a word of the screen occurs in a text instead."""
    if word in ON_SCREEN:
        assert any(f"{word}s" in text for text in SOURCES.values())
        return
    named = re.compile(rf"(?:class|def|import) \w*(?:\b|_){word}s?(?:\b|_)|class \w*{word.capitalize()}")
    assert any(named.search(text) for text in SOURCES.values())
