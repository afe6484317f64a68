"""Weaviate's query language as text: values, filters, and requests for rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

import numpy as np

from bakeoff.errors import StoreError
from bakeoff.plugins.stores._payload import Term
from bakeoff.plugins.stores._rest import Rest, packed, words

VALUES = {"text": "valueText", "integer": "valueInt", "number": "valueNumber"}
SIGNS = {"in": "ContainsAny", ">=": "GreaterThanEqual", "<=": "LessThanEqual"}


def literal(value: Any) -> str:
    """A value in the language, whose literals are those of JSON."""
    return packed(value).decode()


def near(vector: np.ndarray) -> str:
    """The rows nearest to a vector."""
    return f"nearVector:{{vector:{_numbers(vector)}}}"


def bm25(text: str) -> str:
    """The rows best for some words."""
    return f'bm25:{{query:{literal(text)} properties:["text"]}}'


def hybrid(text: str, vector: np.ndarray, alpha: float, fusion: str) -> str:
    """The rows best by both."""
    how = f'alpha:{alpha} fusionType:{fusion} properties:["text"]'
    return f"hybrid:{{query:{literal(text)} vector:{_numbers(vector)} {how}}}"


def _numbers(vector: np.ndarray) -> str:
    return literal(np.ascontiguousarray(vector, np.float32))


def conditions(terms: Iterable[Term], columns: dict[str, str]) -> str:
    """A `where` in which every term holds, or nothing where there are none."""
    operands = [
        f'{{path:["{columns[term.field]}"] operator:{SIGNS[term.sign]} {VALUES[term.kind]}:{_operand(term)}}}'
        for term in terms
    ]
    return f" where:{{operator:And operands:[{' '.join(operands)}]}}" if operands else ""


def _operand(term: Term) -> str:
    return literal(term.values if term.sign == "in" else term.values[0])


def rows(rest: Rest, collection: str, asked: list[str], k: int, score: str) -> list[list[dict[str, Any]]]:
    """For each request the rows found: `id`, and the score by the name it has."""
    parts = [
        f"a{i}:{collection}({one} limit:{k}){{_additional{{id {score}}}}}" for i, one in enumerate(asked)
    ]
    found = answer(rest, f"{{Get{{{' '.join(parts)}}}}}")["Get"]
    return [[row["_additional"] for row in found[f"a{i}"]] for i in range(len(asked))]


def count(rest: Rest, collection: str) -> int:
    """How many rows a collection has."""
    told = answer(rest, f"{{Aggregate{{{collection}{{meta{{count}}}}}}}}")
    return int(told["Aggregate"][collection][0]["meta"]["count"])


def answer(rest: Rest, query: str) -> Any:
    """What a query gives; its errors come with a good status, so they are looked for."""
    told = rest("POST", "/v1/graphql", {"query": query})
    if told.get("errors"):
        raise StoreError(f"Weaviate: {words(packed(told['errors']))}")
    return told["data"]


def numbered(found: list[dict[str, Any]]) -> list[int]:
    """The integers in the UUIDs of rows."""
    return [UUID(row["id"]).int for row in found]
