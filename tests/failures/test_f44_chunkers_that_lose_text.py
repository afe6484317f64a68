"""F44: chunkers of syntax trees that lose text: between definitions, and in leaves that are too long."""

from __future__ import annotations

import pytest

from bakeoff.plugins.chunkers.semantic import SemanticChunker
from bakeoff.types import Document

BETWEEN = "import os\n\nX = 1  # why\n\ndef f():\n    return X\n\nprint(f())\n# the end\n"
LONG_LEAF = "DATA = {\n" + "".join(f"    'key{n}': 'välue {n}',\n" for n in range(500)) + "}\n"
ONE_LINE = "var a=" + "+".join(f"function(){{return {n}}}" for n in range(2000)) + ";"
BROKEN = "def f(:\n    retrun (\nclass :\n  x = [1, 2\n" * 5


def kept(text: str, kind: str, **params: object) -> set[int]:
    chunker = SemanticChunker(SemanticChunker.Params.model_validate(params))
    return {at for piece in chunker.chunk(Document("a", text, kind)) for at in range(piece.start, piece.end)}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (BETWEEN, "python"),
        (LONG_LEAF, "python"),
        (ONE_LINE, "javascript"),
        (BROKEN, "python"),
        (BETWEEN, "rust"),
    ],
    ids=["between definitions", "a long leaf", "one line", "syntax errors", "the wrong language"],
)
@pytest.mark.parametrize("max_chars", [40, 2500])
def test_f44_no_character_is_lost(text: str, kind: str, max_chars: int) -> None:
    inside = kept(text, kind, max_chars=max_chars, merge_below=30)
    assert [c for at, c in enumerate(text) if not c.isspace() and at not in inside] == []


def test_f44_an_over_long_leaf_is_cut_not_dropped() -> None:
    pieces = list(
        SemanticChunker(SemanticChunker.Params(max_chars=900)).chunk(Document("a", LONG_LEAF, "python"))
    )
    assert len(pieces) > 10
    assert max(p.end - p.start for p in pieces) <= 900
