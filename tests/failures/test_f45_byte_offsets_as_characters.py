"""F45: tree-sitter counts bytes, a text counts characters."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bakeoff.corpus.grammars.parsing import to_characters
from bakeoff.plugins.chunkers.semantic import SemanticChunker
from bakeoff.types import Document

PYTHON = '''"""Größenmaß 📏."""

ÜBER = "日本語テキスト 👩‍👩‍👧 e\u0301"


def первый():
    return "ééé"


class Zähler:
    def zähle(self):
        """Zählt 1️⃣."""
'''


def test_f45_pieces_start_at_their_definitions_after_non_ascii_text() -> None:
    chunker = SemanticChunker(SemanticChunker.Params(merge_below=0))
    found = {p.symbol: PYTHON[p.start : p.end] for p in chunker.chunk(Document("a.py", PYTHON, "python"))}
    assert found["первый"] == 'def первый():\n    return "ééé"'
    assert found["Zähler"] == "class Zähler:"
    assert found["Zähler.zähle"] == '    def zähle(self):\n        """Zählt 1️⃣."""'


@given(st.text(max_size=80), st.data())
def test_f45_every_offset_is_that_of_the_character(text: str, data: st.DataObject) -> None:
    places = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    bytes_before = [len(text[:place].encode()) for place in places]
    assert to_characters(text, text.encode(), bytes_before) == places
