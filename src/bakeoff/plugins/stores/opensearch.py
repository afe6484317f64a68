"""OpenSearch by URL with its k-NN plug-in, through opensearch-py: HNSW of Lucene or of Faiss."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from opensearchpy import JSONSerializer, NotFoundError, OpenSearch, Urllib3HttpConnection
from opensearchpy.exceptions import OpenSearchException, TransportError
from opensearchpy.helpers import parallel_bulk
from pydantic import Field

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import SmallVectors
from bakeoff.plugins.kit.bounded_pool import BoundedPool, endpoint_of
from bakeoff.plugins.kit.client_errors import Reply
from bakeoff.plugins.kit.existing import metric_of
from bakeoff.plugins.kit.rest import encode_json
from bakeoff.plugins.kit.server import Address, request_timeout, server_of
from bakeoff.plugins.kit.words import LanguageParams
from bakeoff.plugins.stores._lucene import Clauses, LuceneQuery, LuceneStore
from bakeoff.plugins.stores._lucene_index import SPARSE, LuceneBuild, LuceneClient, LuceneWords
from bakeoff.storage.consent import Destination, secret_for
from bakeoff.types import JsonObject, Metric, Storage

logging.getLogger("opensearch").setLevel(logging.ERROR)  # refusals are reported as errors already
SPACES = {Metric.COSINE: "cosinesimil", Metric.DOT: "innerproduct", Metric.L2: "l2"}


class Build(LuceneBuild):
    """Build settings of the graph, and its engine."""

    engine: Annotated[
        Literal["lucene", "faiss"],
        Field(description="faiss needs the plug-in's native library on the server"),
    ] = "lucene"


class OpensearchParams(LanguageParams):
    """Where OpenSearch is and how its index is built; BAKEOFF_OPENSEARCH_USER and _PASSWORD say who asks."""

    url: Address = None
    build: Build = Build()
    words: LuceneWords = LuceneWords()


class OpensearchStore(SmallVectors, LuceneStore):
    """One index of an OpenSearch server, version 2.16 or later; int8 is the scalar quantisation of Lucene."""

    version: ClassVar[str] = "1"
    engine = "OpenSearch"
    client_errors = (OpenSearchException,)
    not_found = NotFoundError
    Params = OpensearchParams
    max_dims: ClassVar[int] = 16_000
    storages = ("int8",)
    gaps: ClassVar[dict[str, str]] = {"token vectors": "the engine scores them from version 3.3 on"}
    sparse_type = "rank_features"

    def __init__(self, params: OpensearchParams, home: Path) -> None:
        server = server_of("opensearch", "BAKEOFF_OPENSEARCH_URL", params.url)
        super().__init__(_connect(server), params.build, params.words, params.language)
        self._maker = params.build.engine

    def set_storage(self, storage: Storage) -> None:
        super().set_storage(storage)
        if storage == "int8" and self._maker != "lucene":
            raise StoreError("OpenSearch supports int8 vectors with build.engine lucene only. Remove engine.")

    def reply_of(self, exc: Exception) -> Reply | None:
        if not isinstance(exc, TransportError) or not isinstance(exc.status_code, int):
            return None
        return exc.status_code, exc.info or exc.error

    def _settings(self) -> dict[str, object]:
        return {**super()._settings(), "knn": True}

    def _vector_type(self, dims: int, metric: Metric) -> dict[str, object]:
        graph: JsonObject = {"m": self._build.m, "ef_construction": self._build.ef_construction}
        if self._storage == "int8":
            graph["encoder"] = {"name": "sq"}
        method = {"name": "hnsw", "engine": self._maker, "space_type": SPACES[metric], "parameters": graph}
        return {"type": "knn_vector", "dimension": dims, "method": method}

    def _vector_dims(self, mapped: JsonObject) -> int:
        return int(mapped["dimension"])

    def _vector_metric(self, mapped: JsonObject) -> Metric | None:
        method = mapped.get("method") or {}
        return metric_of(self.engine, SPACES, method.get("space_type") or mapped.get("space_type", "l2"))

    def _near(
        self, vector: np.ndarray, k: int, query: LuceneQuery, clauses: Clauses = ()
    ) -> dict[str, object]:
        asked: JsonObject = {"vector": np.ascontiguousarray(vector, np.float32), "k": k}
        asked["method_parameters"] = {"ef_search": max(query.ef, k)}
        if clauses:
            asked["filter"] = {"bool": {"filter": clauses}}
        return {"query": {"knn": {self._vector_field: asked}}}

    def _weigh_term(self, term: str, weight: float) -> JsonObject:
        return {"rank_feature": {"field": f"{SPARSE}.{term}", "boost": weight, "linear": {}}}

    def _both(self, near: JsonObject, match: JsonObject, weight: float) -> JsonObject:
        vector = {"vector": {**near["query"]["knn"]["vector"], "boost": weight}}
        return {"query": {"bool": {"should": [match, {"knn": vector}]}}}


class OrjsonSerializer(JSONSerializer):
    """JSON as the Elasticsearch client writes it: the client's own serializer is slow on vectors."""

    def dumps(self, data: object) -> str | bytes:
        return data if isinstance(data, str | bytes) else encode_json(data).decode()


class BoundedConnection(Urllib3HttpConnection):
    """The client's connection with our limits; once closed, it stays closed."""

    def _create_urllib3_pool(self) -> None:
        self.pool = BoundedPool(self.host, request_timeout())

    def close(self) -> None:
        self.pool.close()


def _connect(server: Destination) -> LuceneClient:
    """A client of one node that never retries; the password is sent to this server only."""
    at = endpoint_of(OpensearchStore.engine, server.url)
    user = secret_for("BAKEOFF_OPENSEARCH_USER", server)
    password = secret_for("BAKEOFF_OPENSEARCH_PASSWORD", server) or ""
    node = {"host": at.host, "port": at.port, "url_prefix": at.path, "use_ssl": at.scheme == "https"}
    client = OpenSearch(
        [node], http_auth=(user, password) if user else None, timeout=request_timeout(), max_retries=0,
        connection_class=BoundedConnection, serializer=OrjsonSerializer(),
    )  # fmt: skip
    return LuceneClient(client, parallel_bulk, at.place)
