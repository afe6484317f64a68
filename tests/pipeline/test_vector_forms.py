from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.config.plan import PluginSpec, System
from bakeoff.errors import EmbedderError, SettingError
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.embed import ChunkVectors
from bakeoff.pipeline.vector_forms import (
    FormedStore,
    cut,
    cut_vectors,
    form_notes,
    order_by_full_vectors,
    require_unit_vectors,
)
from bakeoff.protocols import CompleteStore
from bakeoff.storage.cache import Cache
from bakeoff.types import Batch, Metric, ModelInfo, Storage, VectorForm

MODEL = ModelInfo("test", 32, None, "1", "none", normalised=True)


def rows(count: int = 200, dims: int = 32) -> np.ndarray:
    drawn = np.random.default_rng(5).normal(size=(count, dims)).astype(np.float32)
    return cut(drawn, dims)


def vectors(matrix: np.ndarray) -> ChunkVectors:
    return ChunkVectors(
        matrix=matrix, fingerprint="full", seconds=1.0, fresh=0, reused=len(matrix), embedder="model"
    )


def embedder(dims: int) -> PluginSpec:
    plugin = registry.load("embedders", "wordllama")
    return PluginSpec(
        "embedders",
        "wordllama",
        f"wordllama(dims={dims})",
        plugin.Params(),
        form=VectorForm(dims),
        family="wordllama",
    )


def store(storage: Storage, matrix: np.ndarray) -> CompleteStore:
    plugin = registry.load("stores", "exact")
    made = plugin(plugin.Params(), Path())
    made.set_storage(storage)
    made.create("rows", matrix.shape[1], Metric.COSINE)
    made.insert(Batch(np.arange(len(matrix)), vectors=matrix))
    made.ready()
    return cast(CompleteStore, made)


def test_leading_dimensions_have_length_one_again() -> None:
    kept = cut(rows(), 8)
    assert kept.shape == (200, 8) and np.allclose(np.linalg.norm(kept, axis=1), 1)
    assert np.allclose(kept, cut(rows()[:, :8], 8))
    assert cut(np.zeros(32, np.float32), 8).tolist() == [0.0] * 8


def test_cut_vectors_are_kept_in_the_cache(tmp_path: Path) -> None:
    context, full = StageContext(Cache(tmp_path)), vectors(rows())
    made = cut_vectors(full, embedder(8), MODEL, context)
    again = cut_vectors(full, embedder(8), MODEL, context)
    assert np.array_equal(made.matrix[:], cut(rows(), 8))
    assert made.fingerprint == again.fingerprint != full.fingerprint
    assert made.seconds == full.seconds, "the time is that of the one embedding"
    assert len(list((tmp_path / "vectors").iterdir())) == 1


def test_all_dimensions_are_the_full_vectors(tmp_path: Path) -> None:
    full = vectors(rows())
    assert (
        cut_vectors(full, embedder(32), MODEL, StageContext(Cache(tmp_path))).fingerprint == full.fingerprint
    )


def test_more_dimensions_than_the_model_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"dims: 64 .* 32"):
        cut_vectors(vectors(rows()), embedder(64), MODEL, StageContext(Cache(tmp_path)))


@pytest.mark.parametrize("storage", ["int8", "binary"])
def test_lengths_that_matter_are_not_thrown_away(storage: Storage) -> None:
    long = vectors(rows() * np.float32(3))
    with pytest.raises(EmbedderError, match="length 1"):
        require_unit_vectors(long, VectorForm(storage=storage), Metric.DOT)
    require_unit_vectors(long, VectorForm(storage=storage), Metric.COSINE)
    require_unit_vectors(vectors(rows()), VectorForm(storage=storage), Metric.DOT)


@pytest.mark.parametrize("metric", list(Metric))
def test_full_vectors_order_the_candidates(metric: Metric) -> None:
    matrix, asked = rows(), rows()[7] + np.float32(0.1)
    ids = np.arange(50)[::-1]
    hits = order_by_full_vectors(ids, matrix[ids], asked, metric, 10)
    plugin = registry.load("stores", "exact")
    exact = plugin(plugin.Params(), Path())
    exact.create("rows", 32, metric)
    exact.insert(Batch(np.arange(50), vectors=matrix[:50]))
    wanted = exact.search(asked, 10, plugin.Query())
    assert hits.ids.tolist() == wanted.ids.tolist()
    assert np.allclose(hits.scores, wanted.scores, atol=1e-6)


@pytest.mark.parametrize(
    "form", [VectorForm(8, "float32", 20), VectorForm(8, "binary", 20), VectorForm(None, "int8", 3)]
)
def test_a_rescored_search_of_every_row_is_exact(form: VectorForm) -> None:
    full, asked = rows(), rows()[3] + np.float32(0.05)
    small = cut(full, form.dims) if form.dims else full
    formed = FormedStore(store(form.storage, small), form, vectors(full), Metric.COSINE)
    hits = formed.search(asked, 10, registry.load("stores", "exact").Query())
    scores = full @ asked / np.linalg.norm(asked)
    assert hits.ids.tolist() == np.argsort(-scores, kind="stable")[:10].tolist()
    assert formed.kept_bytes == full.nbytes


def test_without_rescoring_only_the_leading_dimensions_are_searched() -> None:
    full, asked = rows(), rows()[3] + np.float32(0.05)
    formed = FormedStore(store("float32", cut(full, 8)), VectorForm(8), None, Metric.COSINE)
    hits = formed.search(asked, 10, registry.load("stores", "exact").Query())
    assert hits.ids.tolist() == np.argsort(-(cut(full, 8) @ cut(asked, 8)), kind="stable")[:10].tolist()
    assert formed.kept_bytes == 0


def test_lengths_a_model_was_not_trained_for_are_noted() -> None:
    def system(part: PluginSpec) -> System:
        return System(part, part, embedder=part)

    assert form_notes([system(embedder(64)), system(embedder(256))]) == []
    (note,) = form_notes([system(embedder(48))])
    assert note.startswith("wordllama(dims=48): ") and "256, 128, 64 dimensions" in note
    minilm = registry.load("embedders", "minilm")
    part = replace(embedder(64), name="minilm", params=minilm.Params(), label="minilm(dims=64)")
    (note,) = form_notes([system(part)])
    assert "trained for 64" in note


def test_bytes_of_a_vector() -> None:
    forms = [VectorForm(), VectorForm(64), VectorForm(storage="float16"), VectorForm(100, "binary")]
    assert [form.vector_bytes(384) for form in forms] == [1536, 256, 768, 13]
