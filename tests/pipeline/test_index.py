from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.errors import StoreError
from bakeoff.pipeline import index as module
from bakeoff.pipeline.embed import embed_chunks
from bakeoff.pipeline.index import IndexContent, open_index
from bakeoff.types import Metric


@pytest.fixture
def content(bench: Any, part: Any) -> IndexContent:
    wordllama = part("embedders/wordllama", dims=64)
    model = registry.load("embedders", "wordllama")(wordllama.params)
    chunking = bench.chunking("line", doc_lines=3)
    return IndexContent(chunking, embed_chunks(wordllama, model, chunking, bench.context))


def test_vectors_are_found_by_their_row(bench: Any, part: Any, content: IndexContent) -> None:
    for name in ("exact", "faiss"):
        index = open_index(part(f"stores/{name}"), content, Metric.COSINE, bench.context)
        query = registry.load("stores", name).Query()
        for row in (0, content.rows - 1):
            assert index.store.search(content.vectors.matrix[row], 1, query).ids.tolist() == [row]
        index.store.close()


def test_batches_hold_every_row_once(content: IndexContent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 4)
    ids = np.concatenate([batch.ids for batch in content.batches()])
    assert ids.tolist() == list(range(content.rows))
    texts = [text for batch in IndexContent(content.chunking, None).batches() for text in batch.texts or []]
    assert len(texts) == content.rows


def test_an_index_is_built_once_and_opened_again(bench: Any, part: Any, content: IndexContent) -> None:
    built = open_index(part("stores/faiss"), content, Metric.COSINE, bench.context)
    assert built.insert_seconds is not None and built.index_seconds is not None and built.bytes > 0
    opened = open_index(part("stores/faiss"), content, Metric.COSINE, bench.context)
    assert (opened.insert_seconds, opened.index_seconds) == (built.insert_seconds, built.index_seconds)
    assert built.measured == "" and opened.measured.startswith("measured 20")
    assert opened.bytes == built.bytes


def test_a_store_that_cannot_reopen_is_built_each_time(bench: Any, part: Any, content: IndexContent) -> None:
    for _ in range(2):
        index = open_index(part("stores/exact"), content, Metric.COSINE, bench.context)
        assert index.insert_seconds is not None
        assert index.bytes == content.vectors.matrix.nbytes


def test_metric_and_parameters_are_other_indexes(bench: Any, part: Any, content: IndexContent) -> None:
    open_index(part("stores/faiss"), content, Metric.COSINE, bench.context)
    other = open_index(part("stores/faiss"), content, Metric.L2, bench.context)
    flat = open_index(part("stores/faiss", build={"index": "flat"}), content, Metric.L2, bench.context)
    assert other.insert_seconds is not None and flat.insert_seconds is not None


def test_an_index_with_too_few_rows_is_built_again(
    bench: Any, part: Any, content: IndexContent, register: Any
) -> None:
    lies = [1, 0]

    class Forgetful(registry.load("stores", "faiss")):
        def open(self, collection: str, dims: int, metric: Metric) -> int:
            return super().open(collection, dims, metric) - lies.pop(0)

    register("stores", "forgetful", Forgetful)
    lies.insert(0, 0)
    open_index(part("stores/forgetful"), content, Metric.COSINE, bench.context)
    again = open_index(part("stores/forgetful"), content, Metric.COSINE, bench.context)
    assert again.insert_seconds is not None and lies == []


def test_a_build_that_fails_leaves_nothing(
    bench: Any, part: Any, content: IndexContent, register: Any
) -> None:
    closed: list[int] = []

    class Failing(registry.load("stores", "faiss")):
        def ready(self) -> None:
            raise StoreError("out of memory")

        def close(self) -> None:
            closed.append(1)

    register("stores", "failing", Failing)
    with pytest.raises(StoreError, match="out of memory"):
        open_index(part("stores/failing"), content, Metric.COSINE, bench.context)
    assert closed and not list(Path(bench.context.cache.root).glob("index/*/*"))
    assert list((bench.context.cache.root / "aside").iterdir()) == []
