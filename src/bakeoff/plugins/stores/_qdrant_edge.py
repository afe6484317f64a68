"""Qdrant's Rust engine embedded in this process: one edge shard per collection."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import ClassVar, NoReturn

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
    PointId,
    QdrantSearch,
    QdrantShape,
    QdrantWords,
    ScoredPoint,
    StoredPoint,
)
from bakeoff.types import Metric, Storage

SHARD_SETTINGS = "edge_config.json"
DISTANCES = {
    Metric.COSINE: edge.Distance.Cosine,
    Metric.DOT: edge.Distance.Dot,
    Metric.L2: edge.Distance.Euclid,
}
MAXSIM = edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim)
DATATYPES: dict[Storage, edge.VectorStorageDatatype] = {"float16": edge.VectorStorageDatatype.Float16}
QUANTISATION: dict[Storage, edge.ScalarQuantizationConfig | edge.BinaryQuantizationConfig] = {
    "int8": edge.ScalarQuantizationConfig(edge.ScalarType.Int8, always_ram=True),
    "binary": edge.BinaryQuantizationConfig(always_ram=True),
}


@translate_server_errors("Qdrant", Exception)  # the binding raises plain exceptions for engine errors
class QdrantEdge(QdrantWords[edge.Filter, edge.SearchParams]):
    """One edge shard per collection; declared payload fields are indexed, so that the graph knows them."""

    models: ClassVar[ModuleType] = edge
    request_rows = sys.maxsize

    def __init__(self, home: Path, build: Build) -> None:
        self._home, self._build, self._folder = home, build, home
        self._open_shard: edge.EdgeShard | None = None

    @property
    def _shard(self) -> edge.EdgeShard:
        assert self._open_shard is not None
        return self._open_shard

    def _float_range(self, **bounds: float) -> edge.RangeFloat:
        return edge.RangeFloat(**bounds)

    def _date_range(self, **bound: datetime) -> edge.RangeDateTime:
        return edge.RangeDateTime(**{name: value.isoformat() for name, value in bound.items()})

    def _equal(self, field: str, value: bool) -> NoReturn:
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
        dense = edge.EdgeVectorParams(
            size=shape.dims,
            distance=DISTANCES[shape.metric],
            multivector_config=MAXSIM if shape.kind == "tokens" else None,
            datatype=DATATYPES.get(shape.storage),
            quantization_config=QUANTISATION.get(shape.storage),
        )
        config = edge.EdgeConfig(
            vectors=None if shape.is_sparse else dense,
            sparse_vectors={SPARSE: edge.EdgeSparseVectorParams()} if shape.is_sparse else None,
            hnsw_config=edge.HnswIndexConfig(
                self._build.m, self._build.ef_construction, full_scan_threshold=THRESHOLD_KB
            ),
            optimizers=edge.EdgeOptimizersConfig(indexing_threshold=THRESHOLD_KB),
        )
        self._open_shard = edge.EdgeShard.create(str(self._folder), config)
        for field in shape.fields:
            kind = getattr(edge.PayloadSchemaType, INDEXES[field.kind])
            self._shard.update(edge.UpdateOperation.create_field_index(field.name, kind))

    def insert(self, ids: list[int], vectors: list[edge.Vector], payloads: list[Payload] | None) -> None:
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
            zeros: edge.NamedVector = [0.0] * shape.dims if shape.kind == "dense" else [[0.0] * shape.dims]
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

    def search(self, vector: edge.NamedVector, search: QdrantSearch) -> Sequence[ScoredPoint]:
        request = edge.SearchRequest(
            edge.Query.Nearest(vector, search.using),
            search.k,
            filter=self._filter(search.where),
            params=self._params(search),
            with_payload=bool(search.id_field),
        )
        return self._shard.search(request)

    def search_many(self, vectors: np.ndarray, search: QdrantSearch) -> Sequence[Sequence[ScoredPoint]]:
        params = self._params(search)
        requests = [
            edge.QueryRequest(search.k, query=edge.Query.Nearest(row), params=params)
            for row in vectors.tolist()
        ]
        return self._shard.query_batch(edge.QueryBatchRequest(requests))

    def read(
        self, limit: int, where: tuple[Term, ...], after: PointId | None, vector: str | None
    ) -> tuple[Sequence[StoredPoint], PointId | None]:
        request = edge.ScrollRequest(
            offset=after,
            limit=limit,
            filter=self._filter(where),
            with_payload=True,
            with_vector=vector is not None,
        )
        return self._shard.scroll(request)

    def payloads(self, ids: list[int]) -> dict[int, Payload]:
        points = self._shard.retrieve([*ids], True, False)
        return {int(point.id): point.payload or {} for point in points}

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
