"""LanceDB, embedded: columnar files with IVF, quantised or HNSW-inside-IVF indexes, or none."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

os.environ.setdefault(
    "LANCEDB_LOG", "error"
)  # otherwise new tables are announced on the terminal; read at import

import lancedb
from lancedb.index import HnswFlat, HnswSq, IvfFlat, IvfPq, IvfRq

from bakeoff.errors import StoreError
from bakeoff.plugins.kit import arrow_rows
from bakeoff.plugins.kit.adapter import (
    EF,
    PROBES,
    GraphBuild,
    GraphQuery,
    PackagedEngine,
    Settings,
    SmallVectors,
    expect_dims,
    guarantee,
    make_hits,
    require_open,
    score_from_distance,
    translate_errors,
)
from bakeoff.plugins.kit.encoded import HoldsKind, require_tokens
from bakeoff.plugins.kit.payload import (
    NO_LIMIT,
    VECTORS_ONLY,
    Payload,
    PayloadSchemaMixin,
    sql_text,
)
from bakeoff.protocols import Guarantee, SearchKnob
from bakeoff.types import Batch, Hits, Metric, Storage, Where


class Build(GraphBuild):
    """Build settings of the index."""

    index: Literal["none", "ivf_flat", "ivf_pq", "ivf_rq", "ivf_hnsw_flat", "ivf_hnsw_sq"] = "ivf_hnsw_flat"
    partitions: Annotated[int | None, Field(ge=1, description="IVF: cells; None is the engine's choice")] = (
        None
    )
    sub_vectors: Annotated[int | None, Field(ge=1, description="PQ: codes a vector; None is dims/16")] = None
    flat_below: Annotated[int, Field(ge=0, description="smallest collection that gets an index")] = 256


class LancedbParams(Settings):
    """Build parameters of a LanceDB index; PQ needs 256 training rows, and smaller collections are searched
    exactly."""

    build: Build = Build()
    read_consistency: Annotated[
        float | None,
        Field(
            ge=0,
            description="seconds after which a search looks for newer rows of other processes; None: never",
        ),
    ] = None


class LancedbQuery(GraphQuery):
    """Search settings."""

    probes: Annotated[int, Field(ge=1, description="IVF: cells searched")] = 20
    refine: Annotated[
        int | None, Field(ge=1, description="quantised: k·refine rows are compared in full")
    ] = None


def index_of(build: Build, metric: Metric) -> object:
    """The index LanceDB is asked to build."""
    shared = {"distance_type": metric.value, "num_partitions": build.partitions}
    graph = {"m": build.m, "ef_construction": build.ef_construction}
    if build.index == "ivf_flat":
        return IvfFlat(**shared)
    if build.index == "ivf_rq":
        return IvfRq(**shared)
    if build.index == "ivf_pq":
        return IvfPq(**shared, num_sub_vectors=build.sub_vectors)
    return (HnswSq if build.index == "ivf_hnsw_sq" else HnswFlat)(**shared, **graph)


QUANTISED: dict[Storage, str] = {"int8": "ivf_hnsw_sq", "binary": "ivf_rq"}
"""The index of each storage; RaBitQ keeps one bit a number. The table has the full vectors too."""


@translate_errors("LanceDB", ValueError, RuntimeError, OSError, pa.ArrowException)
class LancedbStore(HoldsKind, PackagedEngine, SmallVectors, PayloadSchemaMixin):
    """One LanceDB table per collection, in a folder; filters are applied before the search."""

    version: ClassVar[str] = "2"
    package = "lancedb"
    Params = LancedbParams
    Query = LancedbQuery
    storages = ("int8", "binary")
    rescores: ClassVar[tuple[Storage, ...]] = storages
    gaps: ClassVar[dict[str, str]] = VECTORS_ONLY | NO_LIMIT

    @classmethod
    def guarantees(cls, params: LancedbParams, query: LancedbQuery) -> tuple[Guarantee, ...]:  # noqa: ARG003
        """Whether a search checks for rows that another process wrote."""
        return (guarantee("consistency", "read_consistency", params),)

    @classmethod
    def search_knob(cls, params: LancedbParams) -> SearchKnob | None:
        """The setting that trades recall for speed; a graph within cells is tuned by its candidates."""
        if params.build.index == "none":
            return None
        cells = replace(PROBES, high=params.build.partitions or PROBES.high)
        return EF if "hnsw" in params.build.index else cells

    def __init__(self, params: LancedbParams, home: Path) -> None:
        self._build, self._home, seconds = params.build, home, params.read_consistency
        self._fresh = None if seconds is None else timedelta(seconds=seconds)
        self._metric, self._rows = Metric.COSINE, 0
        self._table: lancedb.table.Table = None

    def set_storage(self, storage: Storage) -> None:
        super().set_storage(storage)
        self._build = self._build.model_copy(update={"index": QUANTISED[storage]})

    def search_rescored(
        self, vector: np.ndarray, k: int, query: LancedbQuery, candidates: int, where: Where = ()
    ) -> Hits:
        refined = query.model_copy(update={"refine": -(-candidates // k), "ef": max(query.ef, candidates)})
        return self.search_where(vector, k, refined, where) if where else self.search(vector, k, refined)

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._metric, self._rows = metric, 0
        self._table = self._connect().create_table(
            collection, schema=arrow_rows.schema(self, dims, tokens=self.kind == "tokens"), mode="overwrite"
        )

    def insert(self, batch: Batch) -> None:
        if self.kind == "tokens":
            require_tokens("LanceDB", batch)
        self._table.add(arrow_rows.table(self, batch))
        self._rows += len(batch.ids)

    def ready(self) -> None:
        self._table.optimize(cleanup_older_than=timedelta(milliseconds=1), delete_unverified=True)
        if self._has_index():
            self._table.create_index("vector", config=index_of(self._build, self._metric))
            self._expect_indexed()

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._metric = metric
        self._table = self._connect().open_table(collection)
        held = self._table.schema.field("vector").type
        expect_dims("LanceDB", (held.value_type if self.kind == "tokens" else held).list_size, dims)
        self._rows = self._table.count_rows()
        if self._has_index():
            self._expect_indexed()
        return self._rows

    def search(self, vector: np.ndarray, k: int, query: LancedbQuery) -> Hits:
        return self._answer(self._search(vector, k, query).to_arrow(), query)

    def search_where(self, vector: np.ndarray, k: int, query: LancedbQuery, where: Where) -> Hits:
        search = self._search(vector, k, query)
        return self._answer(search.where(sql_text(self, where), prefilter=True).to_arrow(), query)

    def search_tokens(self, tokens: np.ndarray, k: int, query: LancedbQuery, where: Where = ()) -> Hits:
        """MaxSim over every row; the engine's distance is the sum of 1 − cosine over the query's tokens."""
        table = require_open("LanceDB", self._table)
        search = table.search(tokens, vector_column_name="vector").distance_type("cosine")
        search = search.limit(k).select(["id", "_distance"])
        search = search.where(sql_text(self, where), prefilter=True) if where else search
        found = search.to_arrow()
        return make_hits(found["id"], len(tokens) - found["_distance"].to_numpy())

    def search_many(self, vectors: np.ndarray, k: int, query: LancedbQuery) -> list[Hits]:
        if not len(vectors):
            return []
        found = self._search(vectors, k, query).to_arrow()
        whose = found["query_index"].to_numpy()
        return [self._answer(found.filter(whose == i), query) for i in range(len(vectors))]

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        rows = self._table.search().where(_among(ids)).select(["id", *self.columns()]).limit(len(ids))
        return arrow_rows.payloads(self, ids, rows.to_arrow())

    def delete(self, ids: np.ndarray) -> None:
        self._table.delete(_among(ids))
        self._rows = self._table.count_rows()

    def replace(self, batch: Batch) -> None:
        self._table.merge_insert("id").when_matched_update_all().execute(arrow_rows.table(self, batch))
        self._table.optimize()  # add the new vectors to the index too

    def close(self) -> None:
        self._table = None

    def _search(
        self, vectors: np.ndarray, k: int, query: LancedbQuery
    ) -> lancedb.query.LanceVectorQueryBuilder:
        """A search for the k nearest rows to one or several vectors."""
        table = require_open("LanceDB", self._table)
        search = table.search(vectors, vector_column_name="vector").distance_type(self._metric.value)
        search = search.limit(k).nprobes(query.probes).ef(max(query.ef, k)).select(["id", "_distance"])
        return search.refine_factor(query.refine) if query.refine else search

    def _connect(self) -> lancedb.DBConnection:
        return lancedb.connect(self._home, read_consistency_interval=self._fresh)

    def _answer(self, found: pa.Table, query: LancedbQuery) -> Hits:
        """Hits from a table; quantised indexes return cosine as the distance of unit vectors, 2·(1 − cosine)."""
        small = self._build.index in ("ivf_pq", "ivf_rq", "ivf_hnsw_sq") and not query.refine
        unit = 0.5 if small and self._has_index() and self._metric is Metric.COSINE else 1.0
        return make_hits(found["id"], score_from_distance(found["_distance"].to_numpy() * unit, self._metric))

    def _expect_indexed(self) -> None:
        """Raise unless the index covers every row."""
        state = self._table.index_stats("vector_idx")
        covered = state.num_indexed_rows if state else 0
        if covered != self._rows:
            raise StoreError(f"LanceDB has indexed {covered} of {self._rows} rows as {self._build.index}.")

    def _has_index(self) -> bool:
        small = self._rows < max(self._build.flat_below, 1)
        return self._build.index != "none" and self.kind == "dense" and not small


def _among(ids: np.ndarray) -> str:
    return f"id IN ({', '.join(map(str, ids.tolist()))})"
