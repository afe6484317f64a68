"""Elasticsearch by URL: HNSW of Lucene, or its quantised forms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from bakeoff.plugins.stores._base import Settings
from bakeoff.plugins.stores._lucene import Clauses, LuceneQuery, LuceneStore
from bakeoff.plugins.stores._lucene_index import LuceneBuild, Words
from bakeoff.plugins.stores._rest import Rest, bearer
from bakeoff.plugins.stores._server import Address, server_of
from bakeoff.types import Metric

SIMILARITIES = {Metric.COSINE: "cosine", Metric.DOT: "max_inner_product", Metric.L2: "l2_norm"}


class Build(LuceneBuild):
    """What shapes the graph, and what it keeps of a vector."""

    index: Annotated[
        Literal["hnsw", "int8_hnsw", "int4_hnsw", "bbq_hnsw"],
        Field(description="hnsw: whole vectors; the others: 8, 4 or 1 bit a number, and scores of those"),
    ] = "hnsw"


class ElasticsearchParams(Settings):
    """Where Elasticsearch is and how its index is built; a key comes from BAKEOFF_ELASTICSEARCH_KEY."""

    url: Address = None
    build: Build = Build()
    words: Words = Words()


class ElasticsearchStore(LuceneStore):
    """One index of an Elasticsearch server, version 8 or later."""

    version: ClassVar[str] = "1"
    engine = "Elasticsearch"
    Params = ElasticsearchParams
    max_dims: ClassVar[int] = 4096
    gaps: ClassVar[dict[str, str]] = {}

    def __init__(self, params: ElasticsearchParams, home: Path) -> None:
        server = server_of("elasticsearch", "BAKEOFF_ELASTICSEARCH_URL", params.url)
        rest = Rest(self.engine, server.url, bearer("elasticsearch", server, "ApiKey"))
        super().__init__(rest, params.build, params.words)
        self._kind = params.build.index

    def _vector_type(self, dims: int, metric: Metric) -> dict[str, Any]:
        graph = {"type": self._kind, "m": self._build.m, "ef_construction": self._build.ef_construction}
        shape = {"dims": dims, "similarity": SIMILARITIES[metric], "index": True}
        return {"type": "dense_vector", "index_options": graph, **shape}

    def _held(self, mapped: dict[str, Any]) -> int:
        return int(mapped["dims"])

    def _near(self, vector: np.ndarray, k: int, query: LuceneQuery, clauses: Clauses = ()) -> dict[str, Any]:
        asked = {"field": "vector", "query_vector": np.ascontiguousarray(vector, np.float32), "k": k}
        return {"knn": {**asked, "num_candidates": max(query.ef, k), "filter": clauses}}

    def _both(self, near: dict[str, Any], match: dict[str, Any], weight: float) -> dict[str, Any]:
        return {"knn": {**near["knn"], "boost": weight}, "query": match}
