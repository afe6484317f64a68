"""A Qdrant server's requests for shards and copies, on a loopback service: no server of theirs can be had here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bakeoff import registry
from bakeoff.errors import MissingExtraError, StoreError
from bakeoff.types import Metric


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
        with pytest.raises(StoreError, match="in 2 shards with 0 replicas; 2 with 1 were asked for"):
            store.ready()
        store.close()
