"""Windows of lines (S2-18)."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from bakeoff.plugins.chunkers.line import LineChunker
from bakeoff.types import Document


def lines(count: int) -> str:
    return "".join(f"line {n}\n" for n in range(1, count + 1))


def spans(text: str, kind: str, **params: object) -> list[tuple[str, str]]:
    """First and last line of each chunk."""
    pieces = LineChunker(LineChunker.Params.model_validate(params)).chunk(
        Document("src/config.rs", text, kind)
    )
    bodies = [text[p.start : p.end].split("\n") for p in pieces]
    return [(body[0], body[-1]) for body in bodies]


def test_code_has_50_lines_and_repeats_a_quarter() -> None:
    assert spans(lines(100), "rust") == [
        ("line 1", "line 50"),
        ("line 39", "line 88"),
        ("line 77", "line 100"),
    ]


def test_documents_have_100_lines() -> None:
    assert spans(lines(180), "markdown") == [
        ("line 1", "line 100"),
        ("line 76", "line 175"),
        ("line 151", "line 180"),
    ]


def test_a_document_of_exactly_one_window_is_one_chunk() -> None:
    assert spans(lines(50), "python") == [("line 1", "line 50")]


def test_the_file_stands_before_each_chunk_with_a_blank_line() -> None:
    (piece,) = LineChunker(LineChunker.Params()).chunk(Document("src/config.rs", "let a = 1;\n", "rust"))
    assert piece.context == "[file: src/config.rs]\n\n"


def test_the_context_can_be_left_out() -> None:
    (piece,) = LineChunker(LineChunker.Params(context="none")).chunk(Document("a", "b"))
    assert piece.context == ""


def test_windows_of_long_lines_are_cut_further_and_stay_in_order() -> None:
    text = "".join("word " * 40 + f"{n}\n" for n in range(30))
    pieces = list(
        LineChunker(LineChunker.Params(doc_lines=10, max_chars=500)).chunk(Document("a", text, "text"))
    )
    assert max(p.end - p.start for p in pieces) <= 500
    assert [p.start for p in pieces] == sorted(p.start for p in pieces)


def test_an_overlap_of_all_lines_is_refused() -> None:
    with pytest.raises(ValidationError):
        LineChunker.Params(overlap=1.0)


def test_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(ValidationError):
        LineChunker.Params.model_validate({"lines": 3})
