"""A base class for stores with one HNSW graph in memory, saved as one file (hnswlib, USearch)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import (
    GraphBuild,
    GraphQuery,
    TunedByEf,
    expect_dims,
    expect_rows,
    make_hits,
    require_open,
    score_from_distance,
    translate_errors,
)
from bakeoff.types import Batch, Hits, Metric

GRAPH_ERRORS = (RuntimeError, ValueError)
Neighbors = tuple[np.ndarray, np.ndarray]
"""Ids and distances, one row per query."""


B = TypeVar("B", bound=GraphBuild)
B_co = TypeVar("B_co", bound=GraphBuild, covariant=True)


class HasBuild(Protocol[B_co]):
    """Parameters with the build settings of a graph."""

    @property
    def build(self) -> B_co: ...


@translate_errors("", *GRAPH_ERRORS)
class GraphFile(TunedByEf, ABC, Generic[B]):
    """A store of one graph; a subclass implements `_empty`, `_add`, `_row_count`, `_save`, `_read` and `_nearest`.

    `_build` holds the build settings, `_file` the path of the graph, `_dims`, `_metric` and `_rows` the collection's.
    Engine errors of the types in `GRAPH_ERRORS` become StoreErrors.
    """

    engine: ClassVar[str]

    def __init__(self, params: HasBuild[B], home: Path) -> None:
        self._build, self._home, self._file = params.build, home, home
        self._metric, self._dims, self._rows = Metric.COSINE, 0, 0
        self._index: Any = None

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._metric, self._dims, self._rows = metric, dims, 0
        self._name(collection)
        self._index = self._empty()

    def insert(self, batch: Batch) -> None:
        self._rows += len(batch.ids)
        self._add(batch)

    def ready(self) -> None:
        expect_rows(self.engine, self._row_count(), self._rows)
        self._save()

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._name(collection)
        if not self._file.exists():
            raise StoreError(f"{self.engine} has no index at {self._file.name}.")
        self._metric, self._dims = metric, dims
        expect_dims(self.engine, self._read(), dims)
        self._rows = self._row_count()
        return self._rows

    def search(self, vector: np.ndarray, k: int, query: GraphQuery) -> Hits:
        require_open(self.engine, self._index)
        if not self._rows:
            return make_hits([], [])
        ids, far = self._nearest(self._row(vector), min(k, self._rows), query.ef)
        return make_hits(ids[0], score_from_distance(far[0], self._metric))

    def search_many(self, vectors: np.ndarray, k: int, query: GraphQuery) -> list[Hits]:
        require_open(self.engine, self._index)
        if not self._rows or not len(vectors):
            return [make_hits([], [])] * len(vectors)
        ids, far = self._nearest(vectors, min(k, self._rows), query.ef)
        return [
            make_hits(row_ids, score_from_distance(row, self._metric))
            for row_ids, row in zip(ids, far, strict=True)
        ]

    def close(self) -> None:
        self._index = None

    def _name(self, collection: str) -> None:
        """Set the file of a collection."""
        self._file = self._home / f"{collection}.graph"

    def _row(self, vector: np.ndarray) -> np.ndarray:
        """A query as a matrix of one row; engines would read past the end of a shorter one."""
        if vector.shape != (self._dims,):
            raise StoreError(
                f"{self.engine} holds vectors of {self._dims} numbers; the query has {vector.shape}."
            )
        return vector.reshape(1, -1)

    @abstractmethod
    def _empty(self) -> Any:
        """A new graph."""

    @abstractmethod
    def _add(self, batch: Batch) -> None:
        """Add rows to the graph; `_rows` already counts them."""

    @abstractmethod
    def _row_count(self) -> int:
        """Number of rows in the graph."""

    @abstractmethod
    def _save(self) -> None:
        """Write the file."""

    @abstractmethod
    def _read(self) -> int:
        """Read the file and return the dimension of its vectors."""

    @abstractmethod
    def _nearest(self, rows: np.ndarray, k: int, ef: int) -> Neighbors:
        """The k nearest of each row."""
