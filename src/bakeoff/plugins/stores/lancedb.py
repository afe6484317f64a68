"""LanceDB, embedded: columnar files with IVF, quantised or HNSW-inside-IVF indexes, or none."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

os.environ.setdefault("LANCEDB_LOG", "error")  # else new tables are announced on the terminal; read at import

import lancedb

from bakeoff.plugins.kit import arrow_rows
from bakeoff.plugins.kit.adapter import PackagedEngine, expect_dims, guarantee, require_open, translate_errors
from bakeoff.plugins.kit.payload import NO_LIMIT, VECTORS_ONLY, Payload, PayloadSchemaMixin, sql_text
from bakeoff.plugins.stores._lance_kinds import (
    LancedbParams,
    LancedbQuery,
    answer,
    build_search,
    expect_indexed,
    index_of,
    knob,
)
from bakeoff.protocols import Guarantee, SearchKnob
from bakeoff.types import Batch, Hits, Metric, Where

ENGINE = translate_errors("LanceDB", ValueError, RuntimeError, OSError, pa.ArrowException)


class LancedbStore(PackagedEngine, PayloadSchemaMixin):
    """One LanceDB table for each collection, in a folder; a filter is applied before the search."""

    version: ClassVar[str] = "2"
    package = "lancedb"
    Params = LancedbParams
    Query = LancedbQuery
    gaps: ClassVar[dict[str, str]] = VECTORS_ONLY | NO_LIMIT

    @classmethod
    def guarantees(cls, params: LancedbParams, query: LancedbQuery) -> tuple[Guarantee, ...]:  # noqa: ARG003
        """Whether a search looks for rows that another process wrote."""
        return (guarantee("consistency", "read_consistency", params),)

    @classmethod
    def search_knob(cls, params: LancedbParams) -> SearchKnob | None:
        """The candidates of a graph, or the cells looked at."""
        return knob(params.build)

    def __init__(self, params: LancedbParams, home: Path) -> None:
        self._build, self._home, seconds = params.build, home, params.read_consistency
        self._fresh = None if seconds is None else timedelta(seconds=seconds)
        self._metric, self._rows = Metric.COSINE, 0
        self._table: Any = None

    @ENGINE
    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._metric, self._rows = metric, 0
        self._table = self._connected().create_table(
            collection, schema=arrow_rows.schema(self, dims), mode="overwrite"
        )

    @ENGINE
    def insert(self, batch: Batch) -> None:
        self._table.add(arrow_rows.table(self, batch))
        self._rows += len(batch.ids)

    @ENGINE
    def ready(self) -> None:
        self._table.optimize(cleanup_older_than=timedelta(milliseconds=1), delete_unverified=True)
        if self._indexed():
            self._table.create_index("vector", config=index_of(self._build, self._metric))
            expect_indexed(self._table, self._rows, self._build.index)

    @ENGINE
    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._metric = metric
        self._table = self._connected().open_table(collection)
        expect_dims("LanceDB", self._table.schema.field("vector").type.list_size, dims)
        self._rows = self._table.count_rows()
        if self._indexed():
            expect_indexed(self._table, self._rows, self._build.index)
        return self._rows

    @ENGINE
    def search(self, vector: np.ndarray, k: int, query: LancedbQuery) -> Hits:
        return self._answer(self._asked(vector, k, query).to_arrow(), query)

    @ENGINE
    def search_where(self, vector: np.ndarray, k: int, query: LancedbQuery, where: Where) -> Hits:
        search = self._asked(vector, k, query)
        return self._answer(search.where(sql_text(self, where), prefilter=True).to_arrow(), query)

    @ENGINE
    def search_many(self, vectors: np.ndarray, k: int, query: LancedbQuery) -> list[Hits]:
        if not len(vectors):
            return []
        found = self._asked(vectors, k, query).to_arrow()
        whose = found["query_index"].to_numpy()
        return [self._answer(found.filter(whose == i), query) for i in range(len(vectors))]

    @ENGINE
    def payloads(self, ids: np.ndarray) -> list[Payload]:
        rows = self._table.search().where(_among(ids)).select(["id", *self.columns()]).limit(len(ids))
        return arrow_rows.payloads(self, ids, rows.to_arrow())

    @ENGINE
    def delete(self, ids: np.ndarray) -> None:
        self._table.delete(_among(ids))
        self._rows = self._table.count_rows()

    @ENGINE
    def replace(self, batch: Batch) -> None:
        self._table.merge_insert("id").when_matched_update_all().execute(arrow_rows.table(self, batch))
        self._table.optimize()  # the new vectors go into the index too

    def close(self) -> None:
        self._table = None

    def _asked(self, vectors: np.ndarray, k: int, query: LancedbQuery) -> Any:
        return build_search(require_open("LanceDB", self._table), vectors, k, self._metric, query)

    def _connected(self) -> Any:
        return lancedb.connect(self._home, read_consistency_interval=self._fresh)

    def _answer(self, found: pa.Table, query: LancedbQuery) -> Hits:
        quantised = self._indexed() and self._build.index in ("ivf_pq", "ivf_hnsw_sq") and not query.refine
        return answer(found, self._metric, quantised)

    def _indexed(self) -> bool:
        return self._build.index != "none" and self._rows >= max(self._build.flat_below, 1)


def _among(ids: np.ndarray) -> str:
    return f"id IN ({', '.join(map(str, ids.tolist()))})"
