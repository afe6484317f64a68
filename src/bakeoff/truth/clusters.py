"""Clusters of queries: those with the same `cluster:`, and those answered by the same documents (F59)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bakeoff.fingerprint import fingerprint
from bakeoff.types import Query

if TYPE_CHECKING:
    import pyarrow as pa

NAMED_DOCUMENTS = 3
"""A larger cluster is named by its first document and a hash of all."""

BROAD = 10
"""An answer in this many documents, and in over half of the corpus, does not tie a query to any of them."""


def query_clusters(
    queries: Sequence[Query], judgments: pa.Table, documents: Sequence[str] = (), *, corpus: int = 0
) -> tuple[str, ...]:
    """Cluster of each query: its own `cluster:`, else the documents with its highest grade, else the query alone.

    A query that most documents answer is also alone: no single document can make it fail. `judgments` number
    queries and documents by position; `documents` are ids for naming clusters, `corpus` is the number of
    documents, 0 if unknown.
    """
    answers = {query: found for query, found in _answers(judgments).items() if not _broad(len(found), corpus)}
    return tuple(
        query.cluster or _name(answers.get(place, ()), documents) or f"query {query.id}"
        for place, query in enumerate(queries)
    )


def _broad(documents: int, corpus: int) -> bool:
    return bool(corpus) and documents >= BROAD and 2 * documents > corpus


def _answers(judgments: pa.Table) -> dict[int, tuple[int, ...]]:
    """For each query, the documents with its highest grade above 0, ascending."""
    best: dict[int, int] = {}
    answers: dict[int, set[int]] = {}
    columns = (judgments[name].to_pylist() for name in ("query", "doc", "grade"))
    for query, document, grade in zip(*columns, strict=True):
        if grade > best.get(query, 0):
            best[query], answers[query] = grade, set()
        if grade > 0 and grade == best[query]:
            answers[query].add(document)
    return {query: tuple(sorted(numbers)) for query, numbers in answers.items()}


def _name(numbers: tuple[int, ...], documents: Sequence[str]) -> str:
    names = [documents[number] if documents else str(number) for number in numbers]
    if len(names) <= NAMED_DOCUMENTS:
        return " + ".join(names)
    return f"{names[0]} + {len(names) - 1} documents {fingerprint(names)[:8]}"
