"""Qdrant's Rust engine embedded in this process: one edge shard per collection."""

from __future__ import annotations

import json
import shutil
import sys
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import qdrant_edge as edge

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import installed_engine
from bakeoff.plugins.kit.existing import no_such_collection
from bakeoff.plugins.kit.payload import Payload, Term
from bakeoff.plugins.kit.server import translate_server_errors
from bakeoff.plugins.stores._qdrant import (
    INDEXES,
    SPARSE,
    THRESHOLD_KB,
    Build,
    Points,
    QdrantSearch,
    QdrantShape,
    QdrantWords,
)
from bakeoff.types import Metric, Storage

SHARD_SETTINGS = "edge_config.json"


@translate_server_errors("Qdrant", Exception)  # the binding raises plain exceptions for engine errors
class QdrantEdge(QdrantWords):
    """One edge shard per collection; declared payload fields are indexed, so that the graph knows them."""

    models: ClassVar[Any] = edge
    float_range: ClassVar[Any] = edge.RangeFloat
    request_rows = sys.maxsize
    distances: ClassVar[dict[Metric, Any]] = {
        Metric.COSINE: edge.Distance.Cosine,
        Metric.DOT: edge.Distance.Dot,
        Metric.L2: edge.Distance.Euclid,
    }
    maxsim: ClassVar[Any] = edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim)
    smaller: ClassVar[dict[Storage, dict[str, Any]]] = {
        "float32": {},
        "float16": {"datatype": edge.VectorStorageDatatype.Float16},
        "int8": {"quantization_config": edge.ScalarQuantizationConfig(edge.ScalarType.Int8, always_ram=True)},
        "binary": {"quantization_config": edge.BinaryQuantizationConfig(always_ram=True)},
    }

    def __init__(self, home: Path, build: Build) -> None:
        self._home, self._build, self._folder = home, build, home
        self._open_shard: edge.EdgeShard | None = None

    @property
    def _shard(self) -> edge.EdgeShard:
        assert self._open_shard is not None
        return self._open_shard

    def _date_range(self, **bound: datetime) -> Any:
        return edge.RangeDateTime(**{name: value.isoformat() for name, value in bound.items()})

    def _equal(self, field: str, value: bool) -> Any:
        raise StoreError(
            f"the embedded engine's client reads {value} as a number, so it can't filter {field!r}."
        )

    def version(self) -> str:
        return installed_engine("qdrant-edge-py")

    def collections(self) -> list[str]:
        return []

    def drop(self, collection: str) -> None:
        """Nothing to do: the folder belongs to one run."""

    def create(self, collection: str, shape: QdrantShape) -> None:
        self.close()
        self._folder = self._home / collection
        shutil.rmtree(self._folder, ignore_errors=True)
        dense = edge.EdgeVectorParams(**self._dense_settings(shape))
        sparse = shape.kind == "sparse"
        config = edge.EdgeConfig(
            vectors=None if sparse else dense,
            sparse_vectors={SPARSE: edge.EdgeSparseVectorParams()} if sparse else None,
            hnsw_config=edge.HnswIndexConfig(
                self._build.m, self._build.ef_construction, full_scan_threshold=THRESHOLD_KB
            ),
            optimizers=edge.EdgeOptimizersConfig(indexing_threshold=THRESHOLD_KB),
        )
        self._open_shard = edge.EdgeShard.create(str(self._folder), config)
        for field in shape.fields:
            kind = getattr(edge.PayloadSchemaType, INDEXES[field.kind])
            self._shard.update(edge.UpdateOperation.create_field_index(field.name, kind))

    def insert(self, ids: list[int], vectors: list[Any], payloads: list[Payload] | None) -> None:
        points = map(edge.Point, ids, vectors, payloads or [{}] * len(ids))
        self._shard.update(edge.UpdateOperation.upsert_points(list(points)))

    def ready(self, shape: QdrantShape, rows: int) -> None:
        self._shard.optimize()
        self._shard.flush()
        self._shard.close()
        self._load()  # completes the files the first time, so that later openings leave them unchanged
        self._assert_indexed(shape, rows)

    def open(self, collection: str, shape: QdrantShape) -> int:
        self._folder = self._home / collection
        rows = self._load()
        if shape.kind != "sparse":  # a shard rejects another dimension
            zeros: Any = [0.0] * shape.dims if shape.kind == "dense" else [[0.0] * shape.dims]
            self.search(zeros, QdrantSearch(k=1, ef=1))
        self._assert_indexed(shape, rows)
        return rows

    def open_existing(self, collection: str) -> tuple[int, dict[str, tuple[int, str]]]:
        """Open an existing shard, in the folder of its name; its metric is in its own settings file."""
        self._folder = self._home / collection
        if not self._folder.is_dir():
            known = [one.name for one in self._home.iterdir() if one.is_dir()]
            raise no_such_collection("Qdrant", collection, known)
        rows = self._load()
        vectors = json.loads((self._folder / SHARD_SETTINGS).read_text(encoding="utf-8"))["vectors"]
        return rows, {name: (int(one["size"]), one["distance"]) for name, one in vectors.items()}

    def search(self, vector: Any, search: QdrantSearch) -> Points:
        request = edge.SearchRequest(
            edge.Query.Nearest(vector, search.using),
            search.k,
            filter=self._filter(search.where),
            params=self._params(search),
            with_payload=bool(search.id_field),
        )
        return self._shard.search(request)

    def search_many(self, vectors: np.ndarray, search: QdrantSearch) -> list[Points]:
        params = self._params(search)
        requests = [
            edge.QueryRequest(search.k, query=edge.Query.Nearest(row), params=params)
            for row in vectors.tolist()
        ]
        return list(self._shard.query_batch(edge.QueryBatchRequest(requests)))

    def read(self, limit: int, where: tuple[Term, ...], after: Any, vector: str | None) -> tuple[Points, Any]:
        page: Any = {"offset": after, "limit": limit, "filter": self._filter(where)}
        return self._shard.scroll(
            edge.ScrollRequest(**page, with_payload=True, with_vector=vector is not None)
        )

    def payloads(self, ids: list[int]) -> dict[int, Payload]:
        points: Any = self._shard.retrieve([*ids], True, False)
        return {point.id: point.payload for point in points}

    def delete(self, ids: list[int]) -> None:
        self._shard.update(edge.UpdateOperation.delete_points([*ids]))
        self._shard.flush()

    def close(self) -> None:
        if self._open_shard is not None:
            self._open_shard.close()
        self._open_shard = None

    def _load(self) -> int:
        self._open_shard = edge.EdgeShard.load(str(self._folder))
        return int(self._shard.count(edge.CountRequest(exact=True)))

    def _assert_indexed(self, shape: QdrantShape, rows: int) -> None:
        state = self._shard.info()
        if state.points_count != rows or state.indexed_vectors_count < shape.rows_to_index(rows):
            raise StoreError(
                f"Qdrant holds {state.points_count} of {rows} rows, {state.indexed_vectors_count} of them "
                "in its HNSW index."
            )
