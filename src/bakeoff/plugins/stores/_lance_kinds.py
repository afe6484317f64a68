"""LanceDB's kinds of index: what shapes each and its search, and how the engine is asked for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
from lancedb.index import HnswFlat, HnswSq, IvfFlat, IvfPq
from pydantic import Field

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import (
    EF,
    PROBES,
    GraphBuild,
    GraphQuery,
    Settings,
    make_hits,
    score_from_distance,
)
from bakeoff.protocols import SearchKnob
from bakeoff.types import Hits, Metric


class Build(GraphBuild):
    """What shapes the index."""

    index: Literal["none", "ivf_flat", "ivf_pq", "ivf_hnsw_flat", "ivf_hnsw_sq"] = "ivf_hnsw_flat"
    partitions: Annotated[int | None, Field(ge=1, description="IVF: cells; None is the engine's choice")] = (
        None
    )
    sub_vectors: Annotated[int | None, Field(ge=1, description="PQ: codes a vector; None is dims/16")] = None
    flat_below: Annotated[
        int, Field(ge=0, description="smaller collections are searched without an index")
    ] = 256


class LancedbParams(Settings):
    """How a LanceDB index is built; 256 rows are the fewest PQ can be trained on, and below it all is compared."""

    build: Build = Build()
    read_consistency: Annotated[
        float | None,
        Field(
            ge=0,
            description="seconds after which a search looks for newer rows of other processes; None: never",
        ),
    ] = None


class LancedbQuery(GraphQuery):
    """What shapes a search."""

    probes: Annotated[int, Field(ge=1, description="IVF: cells looked at")] = 20
    refine: Annotated[
        int | None, Field(ge=1, description="quantised: k·refine rows are compared in full")
    ] = None


def knob(build: Build) -> SearchKnob | None:
    """What tunes a search of such an index; a graph within cells is tuned by its candidates."""
    if build.index == "none":
        return None
    return EF if "hnsw" in build.index else replace(PROBES, high=build.partitions or PROBES.high)


def index_of(build: Build, metric: Metric) -> Any:
    """What LanceDB is asked to build."""
    shared = {"distance_type": metric.value, "num_partitions": build.partitions}
    graph = {"m": build.m, "ef_construction": build.ef_construction}
    if build.index == "ivf_flat":
        return IvfFlat(**shared)
    if build.index == "ivf_pq":
        return IvfPq(**shared, num_sub_vectors=build.sub_vectors)
    return (HnswSq if build.index == "ivf_hnsw_sq" else HnswFlat)(**shared, **graph)


def build_search(table: Any, vectors: np.ndarray, k: int, metric: Metric, query: LancedbQuery) -> Any:
    """A search of a table for the k nearest of one vector, or of each of some."""
    search = table.search(vectors, vector_column_name="vector").distance_type(metric.value)
    search = search.limit(k).nprobes(query.probes).ef(max(query.ef, k)).select(["id", "_distance"])
    return search.refine_factor(query.refine) if query.refine else search


def answer(found: pa.Table, metric: Metric, quantised: bool) -> Hits:
    """Hits from a table; quantised indexes answer cosine with the distance of unit vectors, 2·(1 − cosine)."""
    unit = 0.5 if quantised and metric is Metric.COSINE else 1.0
    return make_hits(found["id"], score_from_distance(found["_distance"].to_numpy() * unit, metric))


def expect_indexed(table: Any, rows: int, kind: str) -> None:
    """The index covers every row."""
    state = table.index_stats("vector_idx")
    covered = state.num_indexed_rows if state else 0
    if covered != rows:
        raise StoreError(f"LanceDB has indexed {covered} of {rows} rows as {kind}.")
