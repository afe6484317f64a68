"""Elasticsearch by URL through elasticsearch-py: HNSW of Lucene, or its quantised forms."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from elastic_transport import NodeConfig, Urllib3HttpNode
from elasticsearch import ApiError, Elasticsearch, NotFoundError, OrjsonSerializer, TransportError
from elasticsearch.exceptions import (
    ElasticsearchWarning,
    GeneralAvailabilityWarning,
    UnsupportedProductError,
)
from elasticsearch.helpers import parallel_bulk
from pydantic import Field

from bakeoff.plugins.kit.adapter import Settings
from bakeoff.plugins.kit.bounded_pool import BoundedPool, endpoint_of
from bakeoff.plugins.kit.client_errors import Reply
from bakeoff.plugins.kit.server import Address, request_timeout, server_of
from bakeoff.plugins.stores._lucene import Clauses, LuceneQuery, LuceneStore
from bakeoff.plugins.stores._lucene_index import LuceneBuild, LuceneClient, LuceneWords
from bakeoff.storage.consent import secret_for
from bakeoff.types import Metric

for notice in (ElasticsearchWarning, GeneralAvailabilityWarning):  # a line per request otherwise
    warnings.simplefilter("ignore", notice)
logging.getLogger("elastic_transport").setLevel(logging.ERROR)
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
    words: LuceneWords = LuceneWords()


class ElasticsearchStore(LuceneStore):
    """One index of an Elasticsearch server, version 8 or later."""

    version: ClassVar[str] = "1"
    engine = "Elasticsearch"
    client_errors = (ApiError, TransportError, UnsupportedProductError)
    not_found = NotFoundError
    Params = ElasticsearchParams
    max_dims: ClassVar[int] = 4096
    gaps: ClassVar[dict[str, str]] = {}

    def __init__(self, params: ElasticsearchParams, home: Path) -> None:
        server = server_of("elasticsearch", "BAKEOFF_ELASTICSEARCH_URL", params.url)
        key = secret_for("BAKEOFF_ELASTICSEARCH_KEY", server)
        super().__init__(_connect(server.url, key), params.build, params.words)
        self._kind = params.build.index

    def reply_of(self, exc: Exception) -> Reply | None:
        return (exc.meta.status, exc.body) if isinstance(exc, ApiError) else None

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


class BoundedNode(Urllib3HttpNode):
    """The client's node with our limits."""

    def __init__(self, config: NodeConfig) -> None:
        super().__init__(config)
        self.pool: Any = BoundedPool(f"{config.scheme}://{config.host}:{config.port}", request_timeout())


def _connect(url: str, key: str | None) -> LuceneClient:
    """A client of one node that sends nothing twice."""
    at = endpoint_of(ElasticsearchStore.engine, url)
    node = {"scheme": at.scheme, "host": at.host, "port": at.port, "path_prefix": at.path}
    client = Elasticsearch(
        [node],
        api_key=key,
        node_class=BoundedNode,
        serializer=OrjsonSerializer(),
        request_timeout=request_timeout(),
        max_retries=0,
    )
    return LuceneClient(client, parallel_bulk, at.place)
