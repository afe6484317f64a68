"""whole, tokens, sentences and recursive: what each promises beside the invariants."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from pydantic import ValidationError

from bakeoff.errors import DataError, ModelNotFoundError
from bakeoff.plugins.chunkers.recursive import RecursiveChunker
from bakeoff.plugins.chunkers.sentences import SentencesChunker
from bakeoff.plugins.chunkers.tokens import TokensChunker
from bakeoff.plugins.chunkers.whole import WholeChunker
from bakeoff.protocols import Chunker
from bakeoff.types import Document

TEXT = (
    "Dr. Who came at 5 p.m. yesterday. He left! Why? Nobody knows. See Fig. 3 for it.\n\nNew paragraph here"
)


def bodies(chunker: Chunker, text: str) -> list[str]:
    return [text[p.start : p.end] for p in chunker.chunk(Document("a", text))]


def test_whole_is_the_document_without_blank_ends() -> None:
    assert bodies(WholeChunker(WholeChunker.Params()), "\n\n a b \n") == [" a b"]


def test_words_are_counted_and_repeated() -> None:
    chunker = TokensChunker(TokensChunker.Params(size=3, overlap=1, tokenizer="words"))
    assert bodies(chunker, "a b c d e") == ["a b c", "c d e"]


def test_scripts_without_blanks_count_by_dictionary_words() -> None:
    chunker = TokensChunker(TokensChunker.Params(size=2, overlap=0, tokenizer="words"))
    assert bodies(chunker, "日本語で書く") == ["日本語で", "書く"]


def test_no_window_has_more_tokens_than_asked() -> None:
    from tokenizers import Tokenizer

    from bakeoff.plugins.chunkers.tokens import _path

    tokenizer = Tokenizer.from_file(str(_path("wordllama")))
    text = "Größe matters: tokenisation of naïve words, 数字 123 and more. " * 30
    pieces = bodies(TokensChunker(TokensChunker.Params(size=32, overlap=8)), text)
    assert len(pieces) > 10
    # a window that starts inside a sentence gets one token for the blank that a model puts before a text
    assert all(len(tokenizer.encode(body, add_special_tokens=False).ids) <= 33 for body in pieces)


def test_a_long_text_has_the_tokens_of_its_parts() -> None:
    text = "word " * 90_000
    pieces = list(TokensChunker(TokensChunker.Params(size=1000, overlap=0)).chunk(Document("a", text)))
    assert 90 <= len(pieces) <= 92


def test_a_tokenizer_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError):
        TokensChunker(TokensChunker.Params(tokenizer=str(tmp_path / "none.json")))


@pytest.mark.parametrize(("content", "message"), [("{", "not JSON"), ("{}", "no 'model'"), ("3", "not JSON")])
def test_a_file_that_is_no_tokenizer_is_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        TokensChunker(TokensChunker.Params(tokenizer=str(path)))


def test_sentences_end_where_people_end_them() -> None:
    chunker = SentencesChunker(SentencesChunker.Params(size=1, overlap=0))
    assert bodies(chunker, TEXT) == [
        "Dr. Who came at 5 p.m. yesterday.",
        "He left!",
        "Why?",
        "Nobody knows.",
        "See Fig. 3 for it.",
        "New paragraph here",
    ]


def test_sentences_overlap_and_end_with_the_text() -> None:
    chunker = SentencesChunker(SentencesChunker.Params(size=2, overlap=1))
    assert bodies(chunker, "A one. B two. C three.") == ["A one. B two.", "B two. C three."]


def test_recursive_prefers_paragraphs_and_keeps_to_its_size() -> None:
    text = "\n\n".join(["Alpha beta gamma."] * 3 + ["word " * 30 + "end."] + ["Omega."])
    pieces = bodies(RecursiveChunker(RecursiveChunker.Params(size=60, overlap=0)), text)
    assert pieces[0] == "\n\n".join(["Alpha beta gamma."] * 3)
    assert all(len(body) <= 60 for body in pieces)


def test_recursive_repeats_whole_words() -> None:
    text = " ".join(f"w{n}" for n in range(100))
    pieces = bodies(RecursiveChunker(RecursiveChunker.Params(size=60, overlap=20)), text)
    assert all(body.startswith("w") for body in pieces)
    assert all(after.split()[0] in before.split() for before, after in pairwise(pieces))


@pytest.mark.parametrize(
    "make",
    [
        lambda: TokensChunker.Params(size=3, overlap=3),
        lambda: SentencesChunker.Params(size=1, overlap=1),
        lambda: RecursiveChunker.Params(size=10, overlap=4),
    ],
)
def test_an_overlap_that_would_not_move_on_is_refused(make) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValidationError, match="overlap"):
        make()
