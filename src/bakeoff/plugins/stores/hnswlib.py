"""hnswlib, embedded: the HNSW graph that many vector databases are built around."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Annotated, ClassVar

import hnswlib
import numpy as np
from pydantic import Field

from bakeoff.plugins.kit.adapter import (
    GraphBuild,
    GraphQuery,
    PackagedEngine,
    Settings,
    make_hits,
    require_open,
    score_from_distance,
    translate_errors,
)
from bakeoff.plugins.kit.graph_file import GRAPH_ERRORS, GraphFile, Neighbors
from bakeoff.plugins.kit.payload import FLOAT32_ONLY, NO_LIMIT, VECTORS_ONLY
from bakeoff.plugins.kit.sidecar import SidecarPayloads, SidecarPayloadsMixin
from bakeoff.types import Batch, Hits, Metric, Where

SPACES = {Metric.COSINE: "cosine", Metric.DOT: "ip", Metric.L2: "l2"}
SEED = 7


class Build(GraphBuild):
    """Build settings of the graph."""

    threads: Annotated[int | None, Field(ge=1, description="None: every core; 1: reproducible graph")] = None


class HnswlibParams(Settings):
    """How an hnswlib index is built."""

    build: Build = Build()


@translate_errors("", *GRAPH_ERRORS)
class HnswlibStore(PackagedEngine, SidecarPayloadsMixin, GraphFile[Build]):
    """One hnswlib graph in a file; payloads are a separate table, and a filter is checked for each row visited."""

    version: ClassVar[str] = "3"
    engine = "hnswlib"
    package = "hnswlib"
    Params = HnswlibParams
    Query = GraphQuery
    gaps: ClassVar[dict[str, str]] = {
        **FLOAT32_ONLY,
        **VECTORS_ONLY,
        **NO_LIMIT,
        "delete": "the graph marks rows and still counts them",
    }

    def __init__(self, params: HnswlibParams, home: Path) -> None:
        super().__init__(params, home)
        self._sidecar = SidecarPayloads()

    def _name(self, collection: str) -> None:
        super()._name(collection)
        self._sidecar.keep_at(self._home / f"{collection}.arrow")

    def replace(self, batch: Batch) -> None:
        """Add rows again: a row with an existing id replaces it."""
        self._index.add_items(batch.vectors, batch.ids, num_threads=1)
        self._sidecar.remove(batch.ids)
        self._sidecar.add(batch)
        self._save()

    def search_where(self, vector: np.ndarray, k: int, query: GraphQuery, where: Where) -> Hits:
        require_open(self.engine, self._index)
        allowed = set(self._sidecar.matching_ids(where).tolist())
        if not allowed:
            return make_hits([], [])
        k = min(k, len(allowed))
        self._index.set_ef(max(query.ef, k))
        ids, far = self._index.knn_query(self._row(vector), k, num_threads=1, filter=allowed.__contains__)
        return make_hits(ids[0], score_from_distance(far[0], self._metric))

    def _empty(self) -> hnswlib.Index:
        self._sidecar.clear()
        index = hnswlib.Index(SPACES[self._metric], self._dims)
        index.init_index(1, M=self._build.m, ef_construction=self._build.ef_construction, random_seed=SEED)
        return index

    def _add(self, batch: Batch) -> None:
        self._index.resize_index(max(self._rows, 1))
        self._index.add_items(batch.vectors, batch.ids, num_threads=self._build.threads or -1)
        self._sidecar.add(batch)

    def _row_count(self) -> int:
        return int(self._index.element_count)

    def _save(self) -> None:
        self._index.save_index(str(self._file))
        self._sidecar.save()

    def _read(self) -> int:
        self._index = hnswlib.Index(SPACES[self._metric], self._dims)
        self._index.load_index(str(self._file))
        self._sidecar.load()
        with self._file.open("rb") as file:  # only where a vector ends and begins in a row tells its length
            *_, end, begin = struct.unpack("6Q", file.read(48))
        return int(end - begin) // 4

    def _nearest(self, rows: np.ndarray, k: int, ef: int) -> Neighbors:
        self._index.set_ef(max(ef, k))
        ids, far = self._index.knn_query(rows, k, num_threads=1)
        return ids, far
