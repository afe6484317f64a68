"""What an engine refuses is a StoreError with the engine's words, and an index that is not whole is never searched."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from bakeoff import registry
from bakeoff.errors import MissingExtraError, StoreError
from bakeoff.types import Batch, Metric

NOBODY = "http://127.0.0.1:9"  # the discard port: nothing listens
ENGINES = ("chroma", "duckdb_vss", "hnswlib", "lancedb", "milvus", "qdrant", "sqlite_vec", "usearch")


def plugin(name: str) -> Any:
    try:
        return registry.load("stores", name)
    except MissingExtraError as exc:
        pytest.skip(str(exc))


def rows(count: int) -> Batch:
    vectors = np.random.default_rng(3).normal(size=(count, 16)).astype(np.float32)
    return Batch(np.arange(count, dtype=np.int64), vectors=vectors)


@pytest.mark.parametrize("name", ENGINES)
def test_a_query_of_another_length(name: str, tmp_path: Path) -> None:
    made = plugin(name)
    store = made(made.Params(), tmp_path)
    store.create("rows", 16, Metric.COSINE)
    store.insert(rows(300))
    store.ready()
    with pytest.raises(StoreError):
        store.search(np.ones(5, np.float32), 3, made.Query())
    store.close()


@pytest.mark.parametrize("name", ENGINES)
def test_unknown_settings_are_refused(name: str) -> None:
    made = plugin(name)
    for settings in (made.Params, made.Query):
        with pytest.raises(ValidationError):
            settings(no_such_setting=1)


def test_the_engines_words_are_kept(tmp_path: Path) -> None:
    made = plugin("lancedb")
    store = made(made.Params(), tmp_path)
    with pytest.raises(StoreError, match=r"LanceDB.*'rows'") as caught:
        store.open("rows", 16, Metric.COSINE)
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.filterwarnings("ignore:Api key is used", "ignore:Failed to obtain server version")
@pytest.mark.parametrize(
    ("name", "where", "secret"),
    [
        ("qdrant", "url", "QDRANT_API_KEY"),
        ("chroma", "url", "CHROMA_TOKEN"),
        ("milvus", "uri", "MILVUS_TOKEN"),
    ],
)
def test_a_server_that_does_not_answer(
    name: str, where: str, secret: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = plugin(name)
    monkeypatch.setenv(secret, "a-key-nobody-may-see")
    with pytest.raises(StoreError) as caught:
        made(made.Params(**{where: NOBODY}), tmp_path).create("rows", 16, Metric.COSINE)
    assert "a-key-nobody-may-see" not in str(caught.value)


def test_qdrant_does_not_search_before_its_index_is_there(tmp_path: Path) -> None:
    made = plugin("qdrant")
    import qdrant_edge as edge

    config = edge.EdgeConfig(vectors=edge.EdgeVectorParams(size=16, distance=edge.Distance.Cosine))
    shard = edge.EdgeShard.create(str(tmp_path / "rows"), config)
    batch = rows(300)
    assert batch.vectors is not None
    points = [edge.Point(i, vector.tolist(), {}) for i, vector in enumerate(batch.vectors)]
    shard.update(edge.UpdateOperation.upsert_points(points))
    shard.flush()
    shard.close()
    store = made(made.Params(), tmp_path)
    with pytest.raises(StoreError, match=r"0.*HNSW"):
        store.open("rows", 16, Metric.COSINE)
    store.close()


def test_lancedb_says_what_pq_needs(tmp_path: Path) -> None:
    made = plugin("lancedb")
    store = made(made.Params(build={"index": "ivf_pq", "flat_below": 0}), tmp_path)
    store.create("rows", 16, Metric.COSINE)
    store.insert(rows(100))
    with pytest.raises(StoreError, match=r"0.*100.*ivf_pq"):
        store.ready()


def test_lancedb_refines_what_pq_finds(tmp_path: Path) -> None:
    made = plugin("lancedb")
    store = made(made.Params(build={"index": "ivf_pq", "partitions": 1, "sub_vectors": 4}), tmp_path)
    store.create("rows", 16, Metric.COSINE)
    batch = rows(2000)
    store.insert(batch)
    store.ready()
    assert batch.vectors is not None
    vector = batch.vectors[3]
    assert store.search(vector, 5, made.Query(refine=20)).scores[0] == pytest.approx(1.0, abs=1e-3)
    assert store.search(vector, 5, made.Query()).scores[0] < 0.999


@pytest.mark.parametrize("index", ["hnsw", "ivf_flat"])
def test_milvus_lite_has_no_other_index_than_flat(index: str, tmp_path: Path) -> None:
    made = plugin("milvus")
    with pytest.raises(StoreError, match=f"milvus-lite has no {index} index"):
        made(made.Params(build={"index": index}), tmp_path)


def test_sqlite_vec_answers_up_to_its_limit(tmp_path: Path) -> None:
    made = plugin("sqlite_vec")
    store = made(made.Params(), tmp_path)
    store.create("rows", 16, Metric.L2)
    batch = rows(5000)
    store.insert(batch)
    store.ready()
    assert batch.vectors is not None
    assert len(store.search(batch.vectors[0], 4096, made.Query()).ids) == 4096
    with pytest.raises(StoreError, match="4096"):
        store.search(batch.vectors[0], 4097, made.Query())
    store.close()
