"""Weaviate's query language as text: values, filters, and requests for rows."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np

from bakeoff.errors import StoreError
from bakeoff.plugins.stores._payload import Declared, Term, terms
from bakeoff.plugins.stores._rest import Rest, packed, words
from bakeoff.plugins.stores._weaviate_schema import OWN
from bakeoff.types import Where

ASKED = 50  # searches a request
Found = tuple[list[int], np.ndarray]
"""The integers in the UUIDs of rows, and their scores."""
VALUES = {"text": "valueText", "integer": "valueInt", "number": "valueNumber"}
SIGNS = {"in": "ContainsAny", ">=": "GreaterThanEqual", "<=": "LessThanEqual"}


def literal(value: Any) -> str:
    """A value in the language, whose literals are those of JSON."""
    return packed(value).decode()


def fresh(consistency: str) -> str:
    """How many copies of a shard must answer, where it is not the engine's own number."""
    return "" if consistency == OWN else f" consistencyLevel:{consistency}"


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


def conditions(store: Declared, where: Where) -> str:
    """A `where` in which every condition holds, or nothing where there are none."""
    columns = store.column_of()
    operands = [
        f'{{path:["{columns[term.field]}"] operator:{SIGNS[term.sign]} {VALUES[term.kind]}:{_operand(term)}}}'
        for term in terms(store.fields, where)
    ]
    return f" where:{{operator:And operands:[{' '.join(operands)}]}}" if operands else ""


def _operand(term: Term) -> str:
    return literal(term.values if term.sign == "in" else term.values[0])


def rows(rest: Rest, collection: str, asked: list[str], k: int, score: str) -> list[Found]:
    """What is found for each request, several of them at a time."""
    begins = range(0, len(asked), ASKED)
    return [one for i in begins for one in _rows(rest, collection, asked[i : i + ASKED], k, score)]


def _rows(rest: Rest, collection: str, asked: list[str], k: int, score: str) -> list[Found]:
    parts = [
        f"a{i}:{collection}({one} limit:{k}){{_additional{{id {score}}}}}" for i, one in enumerate(asked)
    ]
    got = answer(rest, f"{{Get{{{' '.join(parts)}}}}}")["Get"]
    each = [[row["_additional"] for row in got[f"a{i}"]] for i in range(len(asked))]
    return [
        ([UUID(row["id"]).int for row in found], np.array([row[score] for row in found], np.float64))
        for found in each
    ]


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
