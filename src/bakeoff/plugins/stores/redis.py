"""Redis vector sets: one key a collection, an HNSW graph in memory, payload as the elements' attributes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import redis
from pydantic import Field

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import GraphQuery, Settings, TunedByEf, expect_dims, guarantee
from bakeoff.plugins.kit.payload import NO_LIMIT, VECTORS_ONLY, Payload, PayloadSchemaMixin, in_order
from bakeoff.plugins.kit.server import Address, ThreadLocalConnections, translate_server_errors
from bakeoff.plugins.stores import _vector_sets as vs
from bakeoff.protocols import Guarantee
from bakeoff.types import Batch, Hits, Metric, Where


class RedisParams(Settings):
    """Where Redis is (BAKEOFF_REDIS_URL) and how the graph is built."""

    url: Address = None
    build: vs.Build = vs.Build()
    wait_aof: Annotated[
        bool,
        Field(description="an index is ready when its rows are in the server's log on disk, if it keeps one"),
    ] = True


class RedisQuery(GraphQuery):
    """What shapes a search."""

    filter_effort: Annotated[int, Field(ge=1, description="nodes looked at for a filter")] = 1_000_000


@translate_server_errors("Redis", redis.RedisError)
class RedisStore(TunedByEf, PayloadSchemaMixin):
    """A vector set and, beside it, a hash that says what it is, for an empty set is no key at all."""

    version: ClassVar[str] = "1"
    Params, Query = RedisParams, RedisQuery
    gaps: ClassVar[dict[str, str]] = {
        **VECTORS_ONLY,
        **NO_LIMIT,
        **dict.fromkeys(("dot", "l2"), "vector sets compare by cosine only"),
    }

    @classmethod
    def guarantees(cls, params: RedisParams, query: RedisQuery) -> tuple[Guarantee, ...]:  # noqa: ARG003
        """Whether a build waits for the disk; the engine by itself answers before."""
        return (guarantee("durability", "wait_aof", params, own="False"),)

    def __init__(self, params: RedisParams, home: Path) -> None:
        self._build, self._key, self._rows = params.build, "", 0
        self._wait_aof = params.wait_aof
        self._threads = ThreadLocalConnections(lambda: vs.client(params.url))

    def engine_version(self) -> str:
        return f"Redis {self._client.info('server')['redis_version']}"

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        if metric is not Metric.COSINE:
            raise StoreError(f"Redis vector sets have no {metric.value}. Use metric: cosine with them.")
        self._key, self._rows = vs.key(collection), 0
        vs.drop(self._client, self._key)
        self._client.hset(self._key + vs.BESIDE, mapping={"dims": dims})

    def collections(self) -> list[str]:
        return vs.collections(self._client)

    def drop(self, collection: str) -> None:
        vs.drop(self._client, vs.key(collection))

    def insert(self, batch: Batch) -> None:
        self._put(batch)
        self._rows += len(batch.ids)

    def replace(self, batch: Batch) -> None:
        """VADD of an element that is there puts the new vector and attributes in its place."""
        self._put(batch)

    def ready(self) -> None:
        """A row is in the graph when VADD answers; where the server keeps a log, it reaches the disk here."""
        vs.expect(self._client, self._key, self._rows, self._build.quantization)
        if self._wait_aof and self._client.info("persistence")["aof_enabled"]:
            self._client.execute_command("WAITAOF", 1, 0, 0)

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._key = vs.key(collection)
        expect_dims("Redis", vs.dimensions(self._client, self._key), dims)
        self._rows = int(self._client.execute_command("VCARD", self._key))
        vs.expect(self._client, self._key, self._rows, self._build.quantization)
        return self._rows

    def search(self, vector: np.ndarray, k: int, query: RedisQuery) -> Hits:
        return vs.answer(self._client.execute_command(*vs.search_command(self._key, vector, k, query.ef)))

    def search_where(self, vector: np.ndarray, k: int, query: RedisQuery, where: Where) -> Hits:
        among = ("FILTER", vs.condition(self, where), "FILTER-EF", query.filter_effort)
        asked = vs.search_command(self._key, vector, k, query.ef)
        return vs.answer(self._client.execute_command(*asked, *among))

    def search_many(self, vectors: np.ndarray, k: int, query: RedisQuery) -> list[Hits]:
        commands = [vs.search_command(self._key, vector, k, query.ef) for vector in vectors]
        return [vs.answer(found) for found in vs.pipeline(self._client, commands)]

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        told = vs.pipeline(self._client, [["VGETATTR", self._key, str(number)] for number in ids.tolist()])
        pairs = zip(ids.tolist(), told, strict=True)
        return in_order(ids, {number: vs.payload(self, one) for number, one in pairs if one})

    def delete(self, ids: np.ndarray) -> None:
        vs.pipeline(self._client, [["VREM", self._key, str(number)] for number in ids.tolist()])

    def close(self) -> None:
        self._threads.close()

    @property
    def _client(self) -> redis.Redis:
        return self._threads.mine()

    def _put(self, batch: Batch) -> None:
        for commands in vs.add_commands(self, self._key, batch, self._build):
            vs.pipeline(self._client, commands)
