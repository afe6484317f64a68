"""Weaviate by URL: objects in batches over REST, searches over GraphQL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from bakeoff.plugins.stores import _graphql as graphql
from bakeoff.plugins.stores._base import GraphBuild, GraphQuery, Settings, expect_rows, hits
from bakeoff.plugins.stores._payload import Declared, Payload, payload_of
from bakeoff.plugins.stores._rest import Rest, bearer
from bakeoff.plugins.stores._server import Address, address
from bakeoff.plugins.stores._weaviate_rows import Rows
from bakeoff.types import Batch, Hits, Metric, Where

DISTANCES = {Metric.COSINE: "cosine", Metric.DOT: "dot", Metric.L2: "l2-squared"}


class WeaviateParams(Settings):
    """Where Weaviate is and how its index is built; a key comes from BAKEOFF_WEAVIATE_KEY."""

    url: Address = None
    build: GraphBuild = GraphBuild()
    k1: Annotated[float, Field(ge=0)] = 1.2
    b: Annotated[float, Field(ge=0, le=1)] = 0.75


class WeaviateQuery(GraphQuery):
    """What shapes a search; the engine keeps `ef` with the collection, so a new value is written there first."""

    alpha: Annotated[float, Field(ge=0, le=1, description="hybrid: the share of the vector")] = 0.5
    fusion: Literal["relativeScoreFusion", "rankedFusion"] = "relativeScoreFusion"


class WeaviateStore(Declared):
    """One collection of a Weaviate server, with whole vectors in its HNSW graph."""

    version: ClassVar[str] = "1"
    Params = WeaviateParams
    Query = WeaviateQuery
    max_dims: ClassVar[int] = 65_535
    gaps: ClassVar[dict[str, str]] = {}

    def __init__(self, params: WeaviateParams, home: Path) -> None:
        url = address("weaviate", "BAKEOFF_WEAVIATE_URL", params.url)
        self._rest = Rest("Weaviate", url, bearer("weaviate"))
        self._params, self._metric = params, Metric.COSINE
        self._rows, self._inserted = Rows(self._rest, ""), 0

    def engine_version(self) -> str:
        return f"Weaviate {self._rest('GET', '/v1/meta')['version']}"

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._rows, self._metric, self._inserted = Rows(self._rest, collection), metric, 0
        params, shape = self._params, {"distance": DISTANCES[metric], "maxConnections": self._params.build.m}
        graph = {**shape, "efConstruction": params.build.ef_construction}
        self._rows.create(graph, {"k1": params.k1, "b": params.b}, self.columns())

    def insert(self, batch: Batch) -> None:
        self._rows.put(batch, self.columns())
        self._inserted += len(batch.ids)

    def replace(self, batch: Batch) -> None:
        self._rows.put(batch, self.columns())
        self._rows.settle()

    def delete(self, ids: np.ndarray) -> None:
        self._rows.delete(ids)

    def ready(self) -> None:
        """Every shard's vector queue is empty, its graph on disk, and every row counted."""
        self._rows.settle()
        expect_rows("Weaviate", graphql.count(self._rest, self._rows.name), self._inserted)

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._rows, self._metric = Rows(self._rest, collection), metric
        self._rows.check(dims)
        self._inserted = graphql.count(self._rest, self._rows.name)
        return self._inserted

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        kept = map(self._rows.kept, ids.tolist())
        return [payload_of(self.fields, tuple(one[name] for name in self.columns())) for one in kept]

    def search(self, vector: np.ndarray, k: int, query: WeaviateQuery) -> Hits:
        return self.search_where(vector, k, query, ())

    def search_where(self, vector: np.ndarray, k: int, query: WeaviateQuery, where: Where) -> Hits:
        return self._near([vector], k, query, where)[0]

    def search_many(self, vectors: np.ndarray, k: int, query: WeaviateQuery) -> list[Hits]:
        return self._near(list(vectors), k, query)

    def _near(self, vectors: list[np.ndarray], k: int, query: WeaviateQuery, where: Where = ()) -> list[Hits]:
        self._rows.tune(query.ef)
        asked = [graphql.near(one) + graphql.conditions(self, where) for one in vectors]
        top = 1.0 if self._metric is Metric.COSINE else 0.0
        each = graphql.rows(self._rest, self._rows.name, asked, k, "distance")
        return [hits(ids, top - far) for ids, far in each]

    def search_text(self, text: str, k: int, query: WeaviateQuery) -> Hits:
        return self.search_text_where(text, k, query, ())

    def search_text_where(self, text: str, k: int, query: WeaviateQuery, where: Where) -> Hits:
        if not text.strip():
            return hits([], [])  # the engine refuses a query without words
        return self._scored(graphql.bm25(text) + graphql.conditions(self, where), k)

    def search_hybrid(self, text: str, vector: np.ndarray, k: int, query: WeaviateQuery) -> Hits:
        self._rows.tune(query.ef)
        return self._scored(graphql.hybrid(text, vector, query.alpha, query.fusion), k)

    def _scored(self, asked: str, k: int) -> Hits:
        return hits(*graphql.rows(self._rest, self._rows.name, [asked], k, "score")[0])

    def close(self) -> None:
        self._rest.close()
