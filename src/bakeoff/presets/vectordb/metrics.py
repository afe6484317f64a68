"""S3's metrics module by its own names (S3-3..6, S3-11), computed by this engine on the documents behind chunks.

The first k chunks are taken, and a document has the rank of its first chunk. `precision` is divided by k (C-1); the
source's own, divided by the distinct documents, is `precision_unique`. Without relevant documents the value is missing
(C-17): None, where the source has 0.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bakeoff.errors import DataError
from bakeoff.measures.names import Measure, parse
from bakeoff.measures.reference import RankedGrades, score

K_VALUES = (1, 3, 5, 10, 20)
Values = dict[int, float | None]


def recall_at_k(retrieved_chunks: Sequence[object], ground_truth: object, k: int) -> float | None:
    """Relevant documents among those of the first k chunks / relevant documents."""
    return _score_chunks(retrieved_chunks, ground_truth, k, "R")


def precision_at_k(retrieved_chunks: Sequence[object], ground_truth: object, k: int) -> float | None:
    """Relevant documents among those of the first k chunks / k."""
    return _score_chunks(retrieved_chunks, ground_truth, k, "P")


def precision_unique_at_k(retrieved_chunks: Sequence[object], ground_truth: object, k: int) -> float | None:
    """Relevant documents among those of the first k chunks / distinct documents among them; not precision."""
    return _score_chunks(retrieved_chunks, ground_truth, k, "P_unique")


def ndcg_at_k(retrieved_chunks: Sequence[object], ground_truth: object, k: int) -> float | None:
    """nDCG of the documents of the first k chunks, binary."""
    return _score_chunks(retrieved_chunks, ground_truth, k, "nDCG")


def mrr(retrieved_chunks: Sequence[object], ground_truth: object) -> float | None:
    """1 / the rank of the first CHUNK of a relevant document, 0 if there is none; no cut-off but the list's end."""
    return _score_chunks(retrieved_chunks, ground_truth, max(len(retrieved_chunks), 1), "RR")


def calculate_mean_mrr(values: Iterable[float | None]) -> float | None:
    """The mean over queries that have a value; None if none has (the source returns 0.0)."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def calculate_all_metrics(
    retrieved_chunks: Sequence[object], ground_truth: object, k_values: Sequence[int] = K_VALUES
) -> dict[str, object]:
    """One query: recall, precision, precision_unique and ndcg by k, mrr, and the depth mrr looked to."""

    def at(name: str) -> Values:
        return {k: _score_chunks(retrieved_chunks, ground_truth, k, name) for k in k_values}

    return {
        "recall": at("R"),
        "precision": at("P"),
        "precision_unique": at("P_unique"),
        "ndcg": at("nDCG"),
        "mrr": mrr(retrieved_chunks, ground_truth),
        "mrr_depth": len(retrieved_chunks),
    }


calculate_recall_at_k = recall_at_k
calculate_precision_at_k = precision_unique_at_k
"""The source's name for its own formula (S3-5)."""
calculate_mrr = mrr


def doc_id(chunk: object) -> str:
    """The document of a chunk: a name, a mapping with doc_id, or anything with metadata; '' if there is none."""
    if isinstance(chunk, str):
        return chunk
    inner = chunk if isinstance(chunk, Mapping) else {"metadata": getattr(chunk, "metadata", None)}
    metadata = inner.get("metadata")
    found = (metadata if isinstance(metadata, Mapping) else inner).get("doc_id")
    return "" if found is None else str(found)


def _relevant(ground_truth: Any) -> set[str]:
    """Document ids, or a test case that holds them as `relevant_doc_ids`."""
    named = ground_truth.get("relevant_doc_ids", ()) if isinstance(ground_truth, Mapping) else ground_truth
    if isinstance(named, str):
        raise DataError(
            f"the relevant documents are a single string, {named!r}. Give a list of document ids."
        )
    return {str(one) for one in named if one}


def _score_chunks(chunks: Sequence[object], ground_truth: object, k: int, name: str) -> float | None:
    measure: Measure = parse(f"{name}@{k}(document)")
    relevant = _relevant(ground_truth)
    if not relevant:
        return None
    documents = [doc_id(chunk) for chunk in chunks[:k]]
    if measure.definition.chunk_depth:  # the ranking contains each document once
        documents = [one for one in dict.fromkeys(documents) if one]
    first = {document: place for place, document in reversed(list(enumerate(documents)))}
    grades = [
        1 if document in relevant and first[document] == place else None
        for place, document in enumerate(documents)
    ]
    return score(RankedGrades(grades, [1] * len(relevant)), measure)
