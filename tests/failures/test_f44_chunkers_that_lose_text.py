"""F44: chunkers of syntax trees that lose text: between definitions, and in leaves that are too long."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bakeoff import registry
from bakeoff.pipeline.chunking.worker import chunk_documents
from bakeoff.plugins.chunkers.semantic import SemanticChunker
from bakeoff.runs.run import run
from bakeoff.types import Document, Piece

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


@pytest.mark.parametrize("name", sorted(set(registry.names("chunkers")) - {"existing"}))
@pytest.mark.parametrize(
    "text", [BETWEEN, LONG_LEAF, ONE_LINE, BROKEN], ids=["between", "leaf", "line", "errors"]
)
@pytest.mark.parametrize("kind", ["python", "markdown"])
def test_f44_no_chunker_loses_text_and_every_chunk_is_its_span(name: str, text: str, kind: str) -> None:
    plugin = registry.load("chunkers", name)
    documents = pa.table({"id": ["a"], "text": [text], "kind": [kind], "title": [""]})
    _, rows = chunk_documents(plugin(plugin.Params()), documents)
    inside: set[int] = set()
    for row in rows.to_pylist():
        assert text[row["start"] : row["end"]] == row["text"]
        inside.update(range(row["start"], row["end"]))
    assert [c for at, c in enumerate(text) if not c.isspace() and at not in inside] == []


@pytest.mark.parametrize(
    "pieces",
    [[(0, 12), (17, 40)], [(5, 40)], [(0, 20), (20, 41)], []],
    ids=["middle", "beginning", "outside", "all"],
)
def test_f44_a_chunker_that_loses_text_fails_its_systems(
    small: Path, register: Any, pieces: list[tuple[int, int]]
) -> None:
    """Whoever wrote it, and though it keeps every other document whole: what it made is not measured."""
    text = "abcdefghij klmno pqrs uvwxyz abcdefghijk"

    class Losing(registry.load("chunkers", "line")):
        def chunk(self, document: Document) -> Iterator[Piece]:
            found = pieces if document.text == text else [(0, len(document.text))]
            return iter([Piece(*span, "") for span in found])

    register("chunkers", "losing", Losing)
    Path("corpus/guide/auth.md").write_text(text, encoding="utf-8")
    small.write_text(small.read_text().replace("{line: {doc_lines: 4, code_lines: 6}}", "line, losing"))
    result = run(small, out=Path("run"))
    assert [system.split(" · ")[0] for system in result.done] == ["line"]
    (reason,) = result.failed.values()
    assert "the chunker" in reason
