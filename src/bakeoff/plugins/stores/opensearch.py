"""OpenSearch by URL with its k-NN plug-in: HNSW of Lucene or of Faiss."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from bakeoff.consent import Destination, secret_for
from bakeoff.plugins.stores._base import Settings
from bakeoff.plugins.stores._lucene import Clauses, LuceneQuery, LuceneStore
from bakeoff.plugins.stores._lucene_index import LuceneBuild, Words
from bakeoff.plugins.stores._rest import Rest
from bakeoff.plugins.stores._server import Address, server_of
from bakeoff.types import Metric

SPACES = {Metric.COSINE: "cosinesimil", Metric.DOT: "innerproduct", Metric.L2: "l2"}


class Build(LuceneBuild):
    """What shapes the graph, and who builds it."""

    engine: Annotated[
        Literal["lucene", "faiss"],
        Field(description="faiss needs the plug-in's native library on the server"),
    ] = "lucene"


class OpensearchParams(Settings):
    """Where OpenSearch is and how its index is built; BAKEOFF_OPENSEARCH_USER and _PASSWORD say who asks."""

    url: Address = None
    build: Build = Build()
    words: Words = Words()


class OpensearchStore(LuceneStore):
    """One index of an OpenSearch server, version 2.16 or later."""

    version: ClassVar[str] = "1"
    engine = "OpenSearch"
    Params = OpensearchParams
    max_dims: ClassVar[int] = 16_000
    gaps: ClassVar[dict[str, str]] = {}

    def __init__(self, params: OpensearchParams, home: Path) -> None:
        server = server_of("opensearch", "BAKEOFF_OPENSEARCH_URL", params.url)
        rest = Rest(self.engine, server.url, _credentials(server))
        super().__init__(rest, params.build, params.words)
        self._maker = params.build.engine

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "knn": True}

    def _vector_type(self, dims: int, metric: Metric) -> dict[str, Any]:
        graph = {"m": self._build.m, "ef_construction": self._build.ef_construction}
        method = {"name": "hnsw", "engine": self._maker, "space_type": SPACES[metric], "parameters": graph}
        return {"type": "knn_vector", "dimension": dims, "method": method}

    def _held(self, mapped: dict[str, Any]) -> int:
        return int(mapped["dimension"])

    def _near(self, vector: np.ndarray, k: int, query: LuceneQuery, clauses: Clauses = ()) -> dict[str, Any]:
        asked: dict[str, Any] = {"vector": np.ascontiguousarray(vector, np.float32), "k": k}
        asked["method_parameters"] = {"ef_search": max(query.ef, k)}
        if clauses:
            asked["filter"] = {"bool": {"filter": clauses}}
        return {"query": {"knn": {"vector": asked}}}

    def _both(self, near: dict[str, Any], match: dict[str, Any], weight: float) -> dict[str, Any]:
        vector = {"vector": {**near["query"]["knn"]["vector"], "boost": weight}}
        return {"query": {"bool": {"should": [match, {"knn": vector}]}}}


def _credentials(server: Destination) -> dict[str, str]:
    """Basic authentication, where a user is set."""
    user = secret_for("BAKEOFF_OPENSEARCH_USER", server)
    password = secret_for("BAKEOFF_OPENSEARCH_PASSWORD", server) or ""
    if not user:
        return {}
    return {"Authorization": "Basic " + b64encode(f"{user}:{password}".encode()).decode()}
