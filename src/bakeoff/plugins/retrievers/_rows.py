"""Converts rows of external answers to ours."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bakeoff.errors import RetrieverError
from bakeoff.types import RetrievedRow, Where

ID = ("document", "document_id", "doc_id", "docno", "id", "_id", "source")
TEXT = ("text", "content", "page_content", "passage")
START, END = ("start", "start_index", "start_char_idx"), ("end", "end_index", "end_char_idx")
SCORE = ("score", "_score", "similarity", "relevance_score")


def to_rows(answer: object) -> Iterator[RetrievedRow]:
    """Rows of an answer: texts, mappings, objects with fields, (id, score) pairs, or a mapping of those."""
    if isinstance(answer, Mapping):
        answer = list(answer.items())
    if isinstance(answer, str) or not isinstance(answer, Iterable):
        raise RetrieverError(
            f"the answer is a {type(answer).__name__}, not a list of results. Return rows with id, text or both."
        )
    for one in answer:
        yield to_row(one)


def to_row(one: object) -> RetrievedRow:
    """One result."""
    if isinstance(one, RetrievedRow):
        return one
    if isinstance(one, str):
        return RetrievedRow(text=one)
    if isinstance(one, tuple) and len(one) == 2:
        return RetrievedRow(document=str(one[0]), score=number(one[1]))
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        one = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
    if not isinstance(one, Mapping):
        raise RetrieverError(
            f"a result is a {type(one).__name__}. Return a mapping with id, text, start, end, score; a text; or a "
            "pair of id and score."
        )
    return row_of(one)


def row_of(one: Mapping[str, object]) -> RetrievedRow:
    """A result with named fields, under their usual names."""
    found = {name: first(one, names) for name, names in (("id", ID), ("text", TEXT), ("score", SCORE))}
    if found["id"] is None and found["text"] is None:
        raise RetrieverError(
            f"a result has the fields {', '.join(map(str, one)) or 'none'}, and neither an id ({', '.join(ID)}) nor a "
            f"text ({', '.join(TEXT)})."
        )
    return RetrievedRow(
        document=None if found["id"] is None else str(found["id"]),
        start=integer(first(one, START)),
        end=integer(first(one, END)),
        text=None if found["text"] is None else str(found["text"]),
        score=number(found["score"]),
    )


def first(one: Mapping[str, object], names: Iterable[str]) -> object:
    """Value of the first name that exists."""
    return next((one[name] for name in names if one.get(name) is not None), None)


def number(value: Any) -> float | None:
    """A score; None if missing."""
    if value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError) as exc:
        raise RetrieverError(f"a score is {value!r}, which is not a number.") from exc


def integer(value: Any) -> int | None:
    """A character position; None if missing."""
    if value is None:
        return None
    try:
        return int(value)
    except (TypeError, ValueError) as exc:
        raise RetrieverError(f"a place in a document is {value!r}, which is not a whole number.") from exc


def refuse_filter(where: Where) -> None:
    """Raise for a filtered query, which must not be searched without its filter."""
    if where:
        raise RetrieverError("this retriever does not support filters. Remove it or the filters.")
