"""Definitions of Python files against ast's own reading of the source."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path

import pytest

from bakeoff.errors import TruthError
from bakeoff.truth.symbols import definitions, python

STDLIB = Path(sysconfig.get_paths()["stdlib"])
FILES = sorted([*STDLIB.glob("*.py"), *STDLIB.glob("json/*.py"), *STDLIB.glob("email/*.py")])[::3]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_spans_are_those_of_ast(path: Path) -> None:
    text = path.read_text(encoding="utf-8", errors="replace")
    found = {text[start:end] for spans in python(text, path.name).values() for start, end in spans}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef) and not node.decorator_list and node.col_offset == 0:
            assert ast.get_source_segment(text, node) in found


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_line_breaks_byte_order_marks_and_wide_characters(newline: str, bom: str) -> None:
    source = '"""😀 ü"""; é = 1\n\n\nclass Ä:\n\tß = "😀"; ö = 2\n\n\t@deco(\n\t\t"ü"\n\t)\n\tdef f(self): return "é"\n'
    text = bom + source.replace("\n", newline)
    found = python(text, "x.py")
    texts = {name: [text[start:end] for start, end in spans] for name, spans in found.items()}
    assert texts["é"] == ["é = 1"]
    assert texts["Ä.ß"] == ['ß = "😀"']
    assert texts["Ä.ö"] == ["ö = 2"]
    assert texts["Ä.f"] == ['@deco(\n\t\t"ü"\n\t)\n\tdef f(self): return "é"'.replace("\n", newline)]
    assert texts["Ä"][0].startswith("class Ä")


def test_form_feeds_and_other_separators_are_no_lines() -> None:
    text = 'a = "x\x0cy"\n\x0cb = 2\nc = "\u2028"\nd = 4\n'
    assert [text[start:end] for ((start, end),) in python(text, "x.py").values()] == [
        'a = "x\x0cy"', "b = 2", 'c = "\u2028"', "d = 4",
    ]  # fmt: skip


def test_definitions_inside_blocks_and_twice() -> None:
    text = """
try:
    def f(): pass
except ImportError:
    def f(): return 1
else:
    class A:
        if True:
            def g(self): pass
        @property
        def p(self): pass
        @p.setter
        def p(self, v): pass
match 1:
    case 1:
        x: int = 3
"""
    found = python(text, "x.py")
    assert [len(found[name]) for name in ("f", "A.g", "A.p", "x")] == [2, 1, 2, 1]


def test_other_kinds_are_refused_by_name() -> None:
    with pytest.raises(TruthError, match=r'"main\.kt"'):
        definitions("", "kotlin", "main.kt")
    assert "f" in definitions("def f(): pass", "text", "odd.py")


@pytest.mark.parametrize("text", ["print 'x'", "def f(:", "x = '\x00'"])
def test_what_does_not_parse_is_an_error(text: str) -> None:
    with pytest.raises(TruthError):
        python(text, "x.py")
