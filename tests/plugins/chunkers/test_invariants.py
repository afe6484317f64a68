"""What holds for every chunker and every text (F44): order, bounds, and that no character is lost."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff.corpus.document_kinds import CODE, DATA, DOCS
from bakeoff.plugins.chunkers.line import LineChunker
from bakeoff.plugins.chunkers.recursive import RecursiveChunker
from bakeoff.plugins.chunkers.semantic import SemanticChunker
from bakeoff.plugins.chunkers.sentences import SentencesChunker
from bakeoff.plugins.chunkers.tokens import TokensChunker
from bakeoff.plugins.chunkers.whole import WholeChunker
from bakeoff.protocols import Chunker
from bakeoff.types import Document, Piece

MAKERS: dict[str, Callable[[], Chunker]] = {
    "line": lambda: LineChunker(LineChunker.Params()),
    "line-small": lambda: LineChunker(
        LineChunker.Params(code_lines=2, doc_lines=3, max_chars=11, overlap=0.5)
    ),
    "semantic": lambda: SemanticChunker(SemanticChunker.Params()),
    "semantic-small": lambda: SemanticChunker(
        SemanticChunker.Params(max_chars=13, max_lines=2, merge_below=0, context="signature")
    ),
    "whole": lambda: WholeChunker(WholeChunker.Params()),
    "tokens": lambda: TokensChunker(TokensChunker.Params()),
    "tokens-small": lambda: TokensChunker(TokensChunker.Params(size=3, overlap=2)),
    "words": lambda: TokensChunker(TokensChunker.Params(size=4, overlap=1, tokenizer="words")),
    "sentences": lambda: SentencesChunker(SentencesChunker.Params()),
    "sentences-small": lambda: SentencesChunker(SentencesChunker.Params(size=2, overlap=1, max_chars=9)),
    "recursive": lambda: RecursiveChunker(RecursiveChunker.Params()),
    "recursive-small": lambda: RecursiveChunker(RecursiveChunker.Params(size=7, overlap=2)),
}


def slow(*values: str) -> list[Any]:
    """Values of a parameter that only make test-slow tries."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


KINDS = sorted(CODE | DOCS | DATA | {"a kind nobody knows"})

FRAGMENTS = [
    "def f(x):\n    return 'é'\n", "class A:\n", "    def m(self): pass\n", "# Heading\n", "## Zweite Überschrift ##\n",
    "```\n# no heading\n```\n", "~~~", "Title\n=====\n", "=====\nTitle\n=====\n", "1.7 Meteorological Information\n",
    "(b) PROBABLE CAUSE\n", "impl X { fn y() {} }\n", "/* c */", "// c\r\n", "\r\n\r\n", "\r", "\n", "\n\n\n", " ", "\t", "\x0c",
    "\u2028", "\x85", "\ufeff", "\u200b", "日本語。これは文です。", "👩‍👩‍👧‍👦", "e\u0301\u0323", "Ünïcödé ", "A sentence. ", "Dr. Who? ",
    "{", "}", "(", '"""', "'", "<b>", "CREATE TABLE t (a INT);\n", "x" * 40, "package a\nfunc (s *T) F() {}\n", "\U0001d518",
]  # fmt: skip
texts = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join))


def check(text: str, pieces: list[Piece]) -> None:
    """The invariants of one chunking."""
    lost, reached = [], 0
    for piece in pieces:
        assert 0 <= piece.start < piece.end <= len(text)
        assert text[piece.start : piece.end].strip(), "a blank piece"
        lost.append(text[reached : piece.start].strip())
        reached = max(reached, piece.end)
    assert [p.start for p in pieces] == sorted(p.start for p in pieces)
    lost.append(text[reached:].strip())
    assert not any(lost), f"characters in no piece: {[gap for gap in lost if gap][:3]}"


@pytest.fixture(scope="module", params=MAKERS)
def chunker(request: pytest.FixtureRequest) -> Chunker:
    return MAKERS[request.param]()


@settings(max_examples=40, deadline=None)
@given(text=texts, kind=st.sampled_from(KINDS))
def test_every_character_is_kept_whatever_the_text(chunker: Chunker, text: str, kind: str) -> None:
    check(text, list(chunker.chunk(Document("a/b", text, kind))))


@pytest.mark.parametrize("kind", ["python", "markdown", "text", "sql"])
def test_blank_documents_have_no_pieces(chunker: Chunker, kind: str) -> None:
    for text in ("", " ", "\n", "\r\n \t\n", "\u2003\u2028\x0c"):
        assert list(chunker.chunk(Document("blank", text, kind))) == [], repr(text)


def long_lines(length: int) -> dict[str, str]:
    """Lines of so many characters."""
    return {
        "one word": "x" * length,
        "blanks": " " * (length - 1) + "x",
        "words": "word " * (length // 5),
        "non-ascii": "é😀" * (length // 2),
        "statements": "a = 1; " * (length // 7),
        "a hash and blanks": "# " + " " * (length - 2),
    }


@pytest.mark.parametrize("kind", ["python", "markdown", *slow("text", "javascript", "rst")])
@pytest.mark.parametrize("length", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_one_very_long_line_is_cut_not_dropped_and_in_linear_time(
    chunker: Chunker, kind: str, length: int
) -> None:
    for name, line in long_lines(length).items():
        started = time.process_time()
        pieces = list(chunker.chunk(Document("long", line, kind)))
        assert time.process_time() - started < length / 2000, name
        check(line, pieces)


def test_the_standard_library_is_kept_whole(chunker: Chunker) -> None:
    for path in sorted(Path(json.__file__).parent.glob("*.py")):
        text = path.read_bytes().decode()
        check(text, list(chunker.chunk(Document(path.name, text, "python"))))


SHARED = Path(__file__).resolve().parents[3].parent / "shared/data/span-questions"


@pytest.mark.skipif(not SHARED.is_dir(), reason="shared/data/span-questions is not here")
@pytest.mark.parametrize("kind", ["markdown", *slow("text")])
@pytest.mark.parametrize("length", [6_000, pytest.param(60_000, marks=pytest.mark.slow)])
def test_real_prose_is_kept_whole(chunker: Chunker, kind: str, length: int) -> None:
    for path in sorted(SHARED.glob("*.md")):
        text = path.read_bytes().decode()[:length]
        check(text, list(chunker.chunk(Document(path.name, text, kind))))


@pytest.mark.parametrize("name", [name for name in MAKERS if name.endswith("small")])
def test_crlf_and_lf_texts_are_cut_into_the_same_words(name: str) -> None:
    unix = "One two.\n\nThree four five.\n\n# Six\n\nSeven eight nine ten.\n" * 3
    check(dos := unix.replace("\n", "\r\n"), list(MAKERS[name]().chunk(Document("a", dos, "markdown"))))
