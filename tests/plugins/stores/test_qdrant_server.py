"""A Qdrant server's requests for shards and copies, on a loopback service: no server of theirs can be had here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.errors import MissingExtraError, StoreError
from bakeoff.testing.reference_search import maxsim, sparse_products
from bakeoff.testing.store_checks.encoded import sparse_rows, token_rows
from bakeoff.types import Batch, Metric


class Service:
    """Makes a collection, and has as many copies of each of its shards as there are nodes."""

    def __init__(self, nodes: int) -> None:
        self.nodes, self.made = nodes, dict[str, Any]()

    def __call__(self, asked: Any) -> tuple[int, Any]:
        at, method = asked.path.partition("?")[0], asked.method
        if at == "/":
            return 200, {"title": "qdrant", "version": "1.19.0"}
        name = at.removeprefix("/collections").split("/")[1] if at.count("/") > 1 else ""
        if method == "PUT":
            self.made[name] = asked.body
            return self._said(True)
        if method == "DELETE":
            return self._said(self.made.pop(name, None) is not None)
        if at == "/collections":
            return self._said({"collections": [{"name": one} for one in (*self.made, "someone_else")]})
        return self._said(self._cluster(name) if at.endswith("/cluster") else self._collection(name))

    @staticmethod
    def _said(result: Any) -> tuple[int, Any]:
        return 200, {"result": result, "status": "ok", "time": 0.0}

    def _cluster(self, name: str) -> dict[str, Any]:
        made = self.made[name]
        shards, copies = range(made["shard_number"]), min(made["replication_factor"], self.nodes)
        local = [{"shard_id": one, "points_count": 0, "state": "Active"} for one in shards]
        remote = [
            {"shard_id": one, "peer_id": peer, "state": "Active"}
            for one in shards
            for peer in range(1, copies)
        ]
        counts = {"peer_id": 0, "shard_count": len(shards), "shard_transfers": []}
        return {**counts, "local_shards": local, "remote_shards": remote}

    def _collection(self, name: str) -> dict[str, Any]:
        made = self.made[name]
        config = {
            "params": {"vectors": made["vectors"], "shard_number": made["shard_number"]},
            "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000},
            "optimizer_config": {
                "deleted_threshold": 0.2,
                "vacuum_min_vector_number": 1000,
                "default_segment_number": 0,
                "flush_interval_sec": 5,
            },
            "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0},
        }
        counts = {"indexed_vectors_count": 0, "points_count": 0, "segments_count": 1}
        return {"status": "green", "optimizer_status": "ok", "config": config, "payload_schema": {}, **counts}


def made(url: str, home: Path, **build: int) -> Any:
    try:
        plugin = registry.load("stores", "qdrant")
    except MissingExtraError as exc:
        pytest.skip(str(exc))
    return plugin(plugin.Params(url=url, build=build), home)


def test_shards_and_copies_are_asked_for_and_read_back(loopback: Any, tmp_path: Path) -> None:
    service = Service(nodes=3)
    with loopback(service) as (url, _):
        store = made(url, tmp_path, shards=4, replicas=2)
        store.create("rows", 16, Metric.COSINE)
        assert service.made["bakeoff_rows"]["shard_number"] == 4
        assert service.made["bakeoff_rows"]["replication_factor"] == 3
        store.ready()
        assert store.collections() == ["rows"]
        store.drop("rows")
        assert store.collections() == []
        store.close()


def test_a_copy_without_a_node_is_refused(loopback: Any, tmp_path: Path) -> None:
    with loopback(Service(nodes=1)) as (url, _):
        store = made(url, tmp_path, shards=2, replicas=1)
        store.create("rows", 16, Metric.COSINE)
        with pytest.raises(StoreError, match=r"2.*0.*2.*1"):
            store.ready()
        store.close()


@pytest.mark.parametrize(("kind", "score"), [("sparse", sparse_products), ("tokens", maxsim)])
@pytest.mark.filterwarnings("ignore:Local mode")
def test_sparse_and_token_vectors_as_the_client_takes_them(kind: str, score: Any, tmp_path: Path) -> None:
    """Against the client's own engine in memory, which checks and answers the same requests."""
    client = pytest.importorskip("qdrant_client")
    store = made("http://127.0.0.1:1", tmp_path)
    store._engine._client = client.QdrantClient(":memory:")
    rows, asked = (
        sparse_rows(count, seed) if kind == "sparse" else token_rows(count, 16, seed)
        for count, seed in ((50, 1), (3, 2))
    )
    store.hold(kind)
    store.create("x", rows.shape[1], Metric.DOT)
    store.insert(Batch(np.arange(50, dtype=np.int64), **{kind: rows}))
    for query in asked:
        hits = getattr(store, f"search_{kind}")(query, 5, store.Query())
        true = score(rows, query)
        assert hits.ids.tolist() == np.argsort(-true, kind="stable")[:5].tolist()
        assert np.allclose(hits.scores, true[hits.ids], atol=1e-3)
    store.close()
