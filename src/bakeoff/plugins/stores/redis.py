"""Redis vector sets: one key a collection, an HNSW graph in memory, payload as the elements' attributes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import redis
from pydantic import Field

from bakeoff.errors import StoreError
from bakeoff.plugins.stores import _vector_sets as vs
from bakeoff.plugins.stores._base import GraphBuild, GraphQuery, Settings, expect_dims, expect_rows
from bakeoff.plugins.stores._payload import NO_LIMIT, VECTORS_ONLY, Declared, Payload, in_order
from bakeoff.plugins.stores._server import Address, address, password, speaking_of
from bakeoff.types import Batch, Hits, Metric, Where

PART = 1000  # commands a round trip
QUANT = {"none": ("NOQUANT", "f32"), "int8": ("Q8", "int8"), "binary": ("BIN", "bin")}


class Build(GraphBuild):
    """What shapes the graph."""

    quantization: Literal["none", "int8", "binary"] = "none"


class RedisParams(Settings):
    """Where Redis is (BAKEOFF_REDIS_URL) and how the graph is built."""

    url: Address = None
    build: Build = Build()


class RedisQuery(GraphQuery):
    """What shapes a search."""

    filter_effort: Annotated[int, Field(ge=1, description="nodes looked at for a filter")] = 1_000_000


@speaking_of("Redis", redis.RedisError)
class RedisStore(Declared):
    """A vector set and, beside it, a hash that says what it is, for an empty set is no key at all."""

    version: ClassVar[str] = "1"
    Params, Query = RedisParams, RedisQuery
    gaps: ClassVar[dict[str, str]] = {
        **VECTORS_ONLY,
        **NO_LIMIT,
        **dict.fromkeys(("dot", "l2"), "vector sets compare by cosine only"),
    }

    def __init__(self, params: RedisParams, home: Path) -> None:
        self._build, self._given = params.build, params.url
        self._key, self._rows = "", 0
        self._made: redis.Redis | None = None

    def engine_version(self) -> str:
        return f"Redis {self._client.info('server')['redis_version']}"

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        if metric is not Metric.COSINE:
            raise StoreError(f"Redis vector sets have no {metric.value}. Use metric: cosine with them.")
        self._key, self._rows = f"bakeoff:{collection}", 0
        self._client.delete(self._key)
        self._client.hset(f"{self._key}:is", mapping={"dims": dims})

    def insert(self, batch: Batch) -> None:
        for begin in range(0, len(batch.ids), PART):
            places = range(begin, min(begin + PART, len(batch.ids)))
            vs.together(self._client, [self._added(batch, place) for place in places])
        self._rows += len(batch.ids)

    def ready(self) -> None:
        """A row is in the graph when VADD answers; where the server keeps a log, it reaches the disk here."""
        self._assert_state()
        if self._client.info("persistence")["aof_enabled"]:
            self._client.execute_command("WAITAOF", 1, 0, 0)

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._key = f"bakeoff:{collection}"
        held = self._client.hget(f"{self._key}:is", "dims")
        if held is None:
            raise StoreError(f"Redis has no collection {self._key}.")
        expect_dims("Redis", int(held), dims)
        self._rows = int(self._client.execute_command("VCARD", self._key))
        self._assert_state()
        return self._rows

    def search(self, vector: np.ndarray, k: int, query: RedisQuery) -> Hits:
        return vs.answer(self._client.execute_command(*self._asked(vector, k, query)))

    def search_where(self, vector: np.ndarray, k: int, query: RedisQuery, where: Where) -> Hits:
        among = ["FILTER", vs.condition(self, where), "FILTER-EF", query.filter_effort]
        return vs.answer(self._client.execute_command(*self._asked(vector, k, query), *among))

    def search_many(self, vectors: np.ndarray, k: int, query: RedisQuery) -> list[Hits]:
        commands = [self._asked(vector, k, query) for vector in vectors]
        return [vs.answer(found) for found in vs.together(self._client, commands)]

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        told = vs.together(self._client, [["VGETATTR", self._key, str(number)] for number in ids.tolist()])
        pairs = zip(ids.tolist(), told, strict=True)
        return in_order(ids, {number: vs.payload(self, one) for number, one in pairs if one})

    def delete(self, ids: np.ndarray) -> None:
        vs.together(self._client, [["VREM", self._key, str(number)] for number in ids.tolist()])

    def replace(self, batch: Batch) -> None:
        """VADD of an element that is there puts the new vector and attributes in its place."""
        before = self._rows
        self.insert(batch)
        self._rows = before

    def close(self) -> None:
        if self._made is not None:
            self._made.close()
        self._made = None

    @property
    def _client(self) -> redis.Redis:
        if self._made is None:
            at = address("redis", "BAKEOFF_REDIS_URL", self._given)
            self._made = vs.client(at, **(password("redis") if self._given else {}))
        return self._made

    def _added(self, batch: Batch, place: int) -> list[Any]:
        assert batch.vectors is not None
        raw, build = np.ascontiguousarray(batch.vectors[place], np.float32).tobytes(), self._build
        told = (
            ["SETATTR", vs.attributes(self, batch.payloads[place])] if batch.payloads and self.fields else []
        )
        shape = [QUANT[build.quantization][0], "EF", build.ef_construction, *told, "M", build.m]
        return ["VADD", self._key, "FP32", raw, str(int(batch.ids[place])), *shape]

    def _asked(self, vector: np.ndarray, k: int, query: RedisQuery) -> list[Any]:
        raw = np.ascontiguousarray(vector, np.float32).tobytes()
        return ["VSIM", self._key, "FP32", raw, "WITHSCORES", "COUNT", k, "EF", max(query.ef, k)]

    def _assert_state(self) -> None:
        expect_rows("Redis", int(self._client.execute_command("VCARD", self._key)), self._rows)
        state, quant = self._client.execute_command("VINFO", self._key), QUANT[self._build.quantization][1]
        held = state[b"quant-type"].decode() if state else quant
        if held != quant:
            raise StoreError(f"Redis holds this collection as {held}, not as {quant}.")
