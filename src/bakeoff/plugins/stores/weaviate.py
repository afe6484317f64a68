"""Weaviate by URL: objects in batches over REST, searches over gRPC where its port is known, else over GraphQL."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import numpy as np

from bakeoff.plugins.stores import _graphql as graphql
from bakeoff.plugins.stores import _weaviate_rows as rows
from bakeoff.plugins.stores._base import TunedByEf, expect_rows, guarantee, hits
from bakeoff.plugins.stores._payload import Declared, Payload, payload_of
from bakeoff.plugins.stores._rest import Rest, bearer
from bakeoff.plugins.stores._server import server_of
from bakeoff.plugins.stores._weaviate_grpc import Channel
from bakeoff.plugins.stores._weaviate_schema import OWN, WeaviateParams, WeaviateQuery
from bakeoff.protocols import Guarantee
from bakeoff.types import Batch, Hits, Metric, Where


class WeaviateStore(TunedByEf, Declared):
    """One collection of a Weaviate server, with whole vectors in its HNSW graph."""

    version: ClassVar[str] = "1"
    Params = WeaviateParams
    Query = WeaviateQuery
    max_dims: ClassVar[int] = 65_535
    gaps: ClassVar[dict[str, str]] = {}

    @classmethod
    def guarantees(cls, params: WeaviateParams, query: WeaviateQuery) -> tuple[Guarantee, ...]:
        """How many copies of a shard a search and a write wait for."""
        return (
            guarantee("consistency", "query.consistency_level", query),
            guarantee("consistency", "write_consistency", params),
        )

    def __init__(self, params: WeaviateParams, home: Path) -> None:
        server = server_of("weaviate", "BAKEOFF_WEAVIATE_URL", params.url)
        (url, _, port), key = server.url.partition("?grpc="), bearer("weaviate", server)
        self._rest = Rest("Weaviate", url, key)
        self._channel = Channel(url, port, key) if port else None
        self._params, self._metric = params, Metric.COSINE
        self._rows, self._inserted = rows.Rows(self._rest, ""), 0

    def engine_version(self) -> str:
        return f"Weaviate {self._rest('GET', '/v1/meta')['version']}"

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._rows, self._metric, self._inserted = self._of(collection), metric, 0
        self._rows.create(self._params, metric, self.columns())

    def _of(self, collection: str) -> rows.Rows:
        return rows.Rows(self._rest, collection, self._params.write_consistency)

    def collections(self) -> list[str]:
        return rows.collections(self._rest)

    def drop(self, collection: str) -> None:
        rows.Rows(self._rest, collection).drop()

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
        self._rows, self._metric = self._of(collection), metric
        self._rows.check(dims, self._params.build)
        self._inserted = graphql.count(self._rest, self._rows.name)
        return self._inserted

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        kept = map(self._rows.kept, ids.tolist())
        return [payload_of(self.fields, tuple(one[name] for name in self.columns())) for one in kept]

    def search(self, vector: np.ndarray, k: int, query: WeaviateQuery) -> Hits:
        if self._channel is None:
            return self.search_where(vector, k, query, ())
        self._rows.tune(query.ef)
        return self._nearest(*self._channel.near(self._rows.name, vector, k, self._level(query)))

    def search_where(self, vector: np.ndarray, k: int, query: WeaviateQuery, where: Where) -> Hits:
        return self._near([vector], k, query, where)[0]

    def search_many(self, vectors: np.ndarray, k: int, query: WeaviateQuery) -> list[Hits]:
        return self._near(list(vectors), k, query)

    def _near(self, vectors: list[np.ndarray], k: int, query: WeaviateQuery, where: Where = ()) -> list[Hits]:
        self._rows.tune(query.ef)
        rest = graphql.conditions(self, where) + graphql.fresh(self._level(query))
        asked = [graphql.near(one) + rest for one in vectors]
        return [
            self._nearest(*one) for one in graphql.rows(self._rest, self._rows.name, asked, k, "distance")
        ]

    def _level(self, query: WeaviateQuery) -> str:
        """The consistency to ask for; a collection of one copy does not take the argument."""
        return query.consistency_level if self._params.build.replicas else OWN

    def _nearest(self, ids: list[int], far: Iterable[float]) -> Hits:
        top = 1.0 if self._metric is Metric.COSINE else 0.0
        return hits(ids, [top - one for one in far])

    def search_text(self, text: str, k: int, query: WeaviateQuery) -> Hits:
        return self.search_text_where(text, k, query, ())

    def search_text_where(self, text: str, k: int, query: WeaviateQuery, where: Where) -> Hits:
        if not text.strip():
            return hits([], [])  # the engine refuses a query without words
        rest = graphql.conditions(self, where) + graphql.fresh(self._level(query))
        return self._scored(graphql.bm25(text) + rest, k)

    def search_hybrid(self, text: str, vector: np.ndarray, k: int, query: WeaviateQuery) -> Hits:
        self._rows.tune(query.ef)
        both = graphql.hybrid(text, vector, query.alpha, query.fusion)
        return self._scored(both + graphql.fresh(self._level(query)), k)

    def _scored(self, asked: str, k: int) -> Hits:
        return hits(*graphql.rows(self._rest, self._rows.name, [asked], k, "score")[0])

    def close(self) -> None:
        self._rest.close()
        if self._channel is not None:
            self._channel.close()
