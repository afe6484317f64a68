"""S3's metrics by its own names: its worked example, and the engine's own values."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import bakeoff
from bakeoff.errors import DataError
from bakeoff.presets.vectordb import metrics as metrics

CHUNKS = [{"metadata": {"doc_id": name}} for name in ("a", "a", "b", "b", "c")]
TRUTH = ["a", "d"]


@dataclass
class Chunk:
    metadata: dict[str, str]


def test_the_worked_example() -> None:
    """D-10: precision 1/5 by k, 1/3 by distinct documents; recall 1/2; MRR 1."""
    found = metrics.calculate_all_metrics(CHUNKS, TRUTH, k_values=[5])
    assert found["recall"] == {5: 0.5} and found["precision"] == {5: 0.2}
    assert found["precision_unique"] == {5: pytest.approx(1 / 3)}
    assert found["mrr"] == 1.0 and found["mrr_depth"] == 5
    assert metrics.calculate_precision_at_k(CHUNKS, TRUTH, 5) == pytest.approx(1 / 3)


def test_the_default_cut_offs_are_the_sources() -> None:
    """S3-4, S3-11."""
    assert list(metrics.calculate_all_metrics(CHUNKS, TRUTH)["recall"]) == [1, 3, 5, 10, 20]


def test_values_are_the_engines() -> None:
    documents = ["x", "b", "y", "a", "z"]
    want = bakeoff.evaluate(
        {"q": {"a": 1, "b": 1, "c": 1}}, {"q": documents}, ["R@3", "P@3", "nDCG@5", "RR"]
    ).mean
    truth = {"relevant_doc_ids": ["a", "b", "c"]}
    assert metrics.recall_at_k(documents, truth, 3) == pytest.approx(want["R@3"])
    assert metrics.precision_at_k(documents, truth, 3) == pytest.approx(want["P@3"])
    assert metrics.ndcg_at_k(documents, truth, 5) == pytest.approx(want["nDCG@5"])
    assert metrics.mrr(documents, truth) == pytest.approx(want["RR"]) == 0.5


def test_rank_is_of_chunks_and_a_chunk_without_a_document_still_has_a_place() -> None:
    """S3-6: no de-duplication; S3-3: falsy ids are no documents."""
    chunks = [Chunk({"doc_id": "x"}), Chunk({"doc_id": "x"}), Chunk({"doc_id": ""}), Chunk({"doc_id": "a"})]
    assert metrics.calculate_mrr(chunks, TRUTH) == 0.25
    assert metrics.precision_unique_at_k(chunks, TRUTH, 4) == 0.5
    assert metrics.calculate_mrr(chunks[:3], TRUTH) == 0.0


def test_without_truth_there_is_no_value_and_no_zero() -> None:
    """C-17."""
    assert metrics.recall_at_k(CHUNKS, [], 5) is None and metrics.mrr(CHUNKS, []) is None
    assert metrics.calculate_mean_mrr([1.0, None, 0.5]) == 0.75
    assert metrics.calculate_mean_mrr([None]) is None
    with pytest.raises(DataError):
        metrics.recall_at_k(CHUNKS, "doc_001", 5)
