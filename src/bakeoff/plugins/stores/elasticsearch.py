"""Elasticsearch by URL through elasticsearch-py: HNSW of Lucene, or its quantised forms."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Annotated, ClassVar, Literal

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

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import SmallVectors
from bakeoff.plugins.kit.bounded_pool import BoundedPool, endpoint_of
from bakeoff.plugins.kit.client_errors import Reply
from bakeoff.plugins.kit.existing import metric_of
from bakeoff.plugins.kit.server import Address, request_timeout, server_of
from bakeoff.plugins.kit.words import LanguageParams
from bakeoff.plugins.stores._lucene import Clauses, LuceneQuery, LuceneStore
from bakeoff.plugins.stores._lucene_index import SPARSE, LuceneBuild, LuceneClient, LuceneWords
from bakeoff.storage.consent import secret_for
from bakeoff.types import Hits, JsonObject, Metric, Storage, Where

for notice in (ElasticsearchWarning, GeneralAvailabilityWarning):  # a line per request otherwise
    warnings.simplefilter("ignore", notice)
logging.getLogger("elastic_transport").setLevel(logging.ERROR)
# in existing collections, dot_product is also cosine: the engine accepts only vectors of length 1 for it
SIMILARITIES = {Metric.COSINE: "cosine", Metric.DOT: "max_inner_product", Metric.L2: "l2_norm"}


class Build(LuceneBuild):
    """Build settings of the graph, and its vector format."""

    index: Annotated[
        Literal["hnsw", "int8_hnsw", "int4_hnsw", "bbq_hnsw"],
        Field(description="hnsw: whole vectors; the others: 8, 4 or 1 bit a number, and scores of those"),
    ] = "hnsw"


class ElasticsearchParams(LanguageParams):
    """Where Elasticsearch is and how its index is built; a key comes from BAKEOFF_ELASTICSEARCH_KEY."""

    url: Address = None
    build: Build = Build()
    words: LuceneWords = LuceneWords()


QUANTISED: dict[Storage, str] = {"int8": "int8_hnsw", "binary": "bbq_hnsw"}
"""The index of each storage; the full vectors stay on disk, where rescoring reads them."""
MOST_OVERSAMPLED = 10.0


class ElasticsearchStore(SmallVectors, LuceneStore):
    """One index of an Elasticsearch server, version 8 or later; its own rescoring is off unless requested."""

    version: ClassVar[str] = "1"
    engine = "Elasticsearch"
    client_errors = (ApiError, TransportError, UnsupportedProductError)
    not_found = NotFoundError
    Params = ElasticsearchParams
    max_dims: ClassVar[int] = 4096
    storages = ("int8", "binary")
    rescores: ClassVar[tuple[Storage, ...]] = storages
    gaps: ClassVar[dict[str, str]] = {
        "token vectors": "rank_vectors is a feature of its licensed plug-ins, which this adapter does not use"
    }
    sparse_type = "sparse_vector"

    def __init__(self, params: ElasticsearchParams, home: Path) -> None:
        server = server_of("elasticsearch", "BAKEOFF_ELASTICSEARCH_URL", params.url)
        key = secret_for("BAKEOFF_ELASTICSEARCH_KEY", server)
        super().__init__(_connect(server.url, key), params.build, params.words, params.language)
        self._kind: str = params.build.index

    def set_storage(self, storage: Storage) -> None:
        super().set_storage(storage)
        self._kind = QUANTISED.get(storage, self._kind)

    def search_rescored(
        self, vector: np.ndarray, k: int, query: LuceneQuery, candidates: int, where: Where = ()
    ) -> Hits:
        if candidates > MOST_OVERSAMPLED * k:
            raise StoreError(
                f"Elasticsearch rescores at most {MOST_OVERSAMPLED:g} candidates for each of k = {k}, not "
                f"{candidates}. Lower rescore."
            )
        asked = self._near(vector, k, query, self._clauses(where))["knn"]
        knn = {
            **asked,
            "num_candidates": max(query.ef, candidates),
            "rescore_vector": {"oversample": candidates / k},
        }
        return self._nearest(self._ask({"knn": knn}, k))

    def reply_of(self, exc: Exception) -> Reply | None:
        return (exc.meta.status, exc.body) if isinstance(exc, ApiError) else None

    def _vector_type(self, dims: int, metric: Metric) -> dict[str, object]:
        graph = {"type": self._kind, "m": self._build.m, "ef_construction": self._build.ef_construction}
        shape = {"dims": dims, "similarity": SIMILARITIES[metric], "index": True}
        return {"type": "dense_vector", "index_options": graph, **shape}

    def _vector_dims(self, mapped: JsonObject) -> int:
        return int(mapped["dims"])

    def _vector_metric(self, mapped: JsonObject) -> Metric | None:
        held = mapped.get("similarity", "cosine")
        return metric_of(self.engine, SIMILARITIES, "cosine" if held == "dot_product" else held)

    def _near(self, vector: np.ndarray, k: int, query: LuceneQuery, clauses: Clauses = ()) -> JsonObject:
        asked = {
            "field": self._vector_field,
            "query_vector": np.ascontiguousarray(vector, np.float32),
            "k": k,
        }
        small = {"rescore_vector": {"oversample": 0}} if self._storage != "float32" else {}
        return {"knn": {**asked, "num_candidates": max(query.ef, k), "filter": clauses, **small}}

    def _weigh_term(self, term: str, weight: float) -> JsonObject:
        """A term query, which `sparse_vector` is made of; that query itself needs a licensed plug-in."""
        return {"term": {SPARSE: {"value": term, "boost": weight}}}

    def _both(self, near: JsonObject, match: JsonObject, weight: float) -> JsonObject:
        return {"knn": {**near["knn"], "boost": weight}, "query": match}


class BoundedNode(Urllib3HttpNode):
    """The client's node with our limits."""

    def __init__(self, config: NodeConfig) -> None:
        super().__init__(config)
        self.pool: object = BoundedPool(f"{config.scheme}://{config.host}:{config.port}", request_timeout())


def _connect(url: str, key: str | None) -> LuceneClient:
    """A client of one node that never retries."""
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
