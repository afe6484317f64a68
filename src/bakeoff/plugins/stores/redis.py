"""Redis vector sets: one key per collection, an HNSW graph in memory, payload as element attributes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import unquote

import numpy as np
import redis
from pydantic import Field
from redis.backoff import NoBackoff
from redis.retry import Retry

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import (
    GraphBuild,
    GraphQuery,
    Settings,
    SmallVectors,
    TunedByEf,
    expect_dims,
    expect_rows,
    guarantee,
    make_hits,
)
from bakeoff.plugins.kit.payload import (
    NO_LIMIT,
    VECTORS_ONLY,
    Payload,
    PayloadSchemaMixin,
    in_order,
    payload_of,
    terms,
)
from bakeoff.plugins.kit.server import (
    Address,
    ThreadLocalConnections,
    own_collections,
    password,
    request_timeout,
    server_of,
    translate_server_errors,
)
from bakeoff.protocols import Guarantee
from bakeoff.types import Batch, Hits, Metric, Storage, Where

PREFIX, BESIDE = "bakeoff:", ":is"
CONNECTING = 5.0
PART = 1000  # commands per round trip
QUANT = {"none": ("NOQUANT", "f32"), "int8": ("Q8", "int8"), "binary": ("BIN", "bin")}
"""Names of a quantisation in commands and in the engine's answers."""
ESCAPES = {code: f"%{code:02X}" for code in (*range(32), *map(ord, '"\\%'), 127)}
Value = str | int | float


class Build(GraphBuild):
    """Build settings of the graph."""

    quantization: Literal["none", "int8", "binary"] = "none"


def client(url: str | None) -> redis.Redis:
    """A client with one connection, to the given URL or the environment's; a URL that can't be parsed is not
    shown."""
    server = server_of("redis", "BAKEOFF_REDIS_URL", url)
    secret = password("redis", server) if url else {}
    try:
        once, seconds = Retry(NoBackoff(), 0), request_timeout()
        limits = {"socket_timeout": seconds, "socket_connect_timeout": min(CONNECTING, seconds)}
        return redis.from_url(
            server.url, protocol=3, retry=once, single_connection_client=True, **limits, **secret
        )
    except ValueError:
        raise StoreError("Redis: the URL can't be parsed. Use redis://host:6379/0.") from None


def add_commands(
    store: PayloadSchemaMixin, key: str, batch: Batch, build: Build
) -> Iterator[list[list[object]]]:
    """Yield commands that add or replace rows, grouped into round trips."""
    vectors = np.ascontiguousarray(batch.vectors, np.float32)
    payloads = batch.payloads if store.fields else None
    shape = (QUANT[build.quantization][0], "EF", build.ef_construction, "M", build.m)
    for begin in range(0, len(vectors), PART):
        part = []
        for place in range(begin, min(begin + PART, len(vectors))):
            payload = ["SETATTR", attributes(store, payloads[place])] if payloads else []
            row = [vectors[place].tobytes(), str(batch.ids[place])]
            part.append(["VADD", key, "FP32", *row, *shape, *payload])
        yield part


def search_command(key: str, vector: np.ndarray, k: int, ef: int) -> tuple[object, ...]:
    """The command that finds the nearest rows."""
    raw = np.ascontiguousarray(vector, np.float32).tobytes()
    return ("VSIM", key, "FP32", raw, "WITHSCORES", "COUNT", k, "EF", max(ef, k))


def pipeline(client: redis.Redis, commands: Iterable[Sequence[object]]) -> list[Any]:
    """The answers to many commands sent at once."""
    pipe = client.pipeline(transaction=False)
    for command in commands:
        pipe.execute_command(*command)
    return list(pipe.execute())


def written(value: Value) -> Value:
    """A value as an attribute: filters compare JSON text, so no character may be escaped."""
    return value.translate(ESCAPES) if isinstance(value, str) else value


def attributes(store: PayloadSchemaMixin, payload: Payload) -> str:
    """A payload as an element's attributes."""
    values = {column: written(payload[field.name]) for column, field in store.columns().items()}
    return json.dumps(values, ensure_ascii=False)


def payload(store: PayloadSchemaMixin, attributes: bytes) -> Payload:
    """The payload in an element's attributes."""
    values = json.loads(attributes).values()
    plain = tuple(unquote(value) if isinstance(value, str) else value for value in values)
    return payload_of(store.fields, plain)


def condition(store: PayloadSchemaMixin, where: Where) -> str:
    """A filter in the engine's language."""
    names, parts = store.column_of(), []
    for term in terms(store.fields, where):
        values = [json.dumps(written(value), ensure_ascii=False) for value in term.values]
        right = f"in [{', '.join(values)}]" if term.sign == "in" else f"{term.sign} {values[0]}"
        parts.append(f".{names[term.field]} {right}")
    return " and ".join(parts) or "1"


def answer(found: dict[bytes, float]) -> Hits:
    """Hits with cosines from (1 + cosine) / 2; a missing set answers with an empty list."""
    scores = found.values() if found else ()
    return make_hits(list(map(int, found)), [2.0 * score - 1.0 for score in scores])


class RedisParams(Settings):
    """Where Redis is (BAKEOFF_REDIS_URL) and how the graph is built."""

    url: Address = None
    build: Build = Build()
    wait_aof: Annotated[
        bool,
        Field(description="wait for the server's log on disk, if it keeps one"),
    ] = True


class RedisQuery(GraphQuery):
    """Search settings."""

    filter_effort: Annotated[int, Field(ge=1, description="nodes examined for a filter")] = 1_000_000


@translate_server_errors("Redis", redis.RedisError)
class RedisStore(TunedByEf, SmallVectors, PayloadSchemaMixin):
    """A vector set, and a hash that describes it, because an empty set has no key.

    The set keeps the numbers of `storage` instead of the vectors, like `build.quantization`.
    """

    version: ClassVar[str] = "1"
    Params, Query = RedisParams, RedisQuery
    storages = ("int8", "binary")
    gaps: ClassVar[dict[str, str]] = {
        **VECTORS_ONLY,
        **NO_LIMIT,
        **dict.fromkeys(("dot", "l2"), "vector sets compare by cosine only"),
    }

    @classmethod
    def guarantees(cls, params: RedisParams, query: RedisQuery) -> tuple[Guarantee, ...]:  # noqa: ARG003
        """Whether a build waits for the disk; by default the engine answers before."""
        return (guarantee("durability", "wait_aof", params, own="False"),)

    def __init__(self, params: RedisParams, home: Path) -> None:
        self._build, self._key, self._rows = params.build, "", 0
        self._wait_aof = params.wait_aof
        self._threads = ThreadLocalConnections(lambda: client(params.url))

    def engine_version(self) -> str:
        return f"Redis {self._client.info('server')['redis_version']}"

    def set_storage(self, storage: Storage) -> None:
        super().set_storage(storage)
        self._build = self._build.model_copy(update={"quantization": storage})

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        if metric is not Metric.COSINE:
            raise StoreError(f"Redis vector sets have no {metric.value}. Use metric: cosine with them.")
        self.drop(collection)
        self._key, self._rows = f"{PREFIX}{collection}", 0
        self._client.hset(self._key + BESIDE, mapping={"dims": dims})

    def collections(self) -> list[str]:
        described = (name.decode() for name in self._client.scan_iter(f"{PREFIX}*{BESIDE}"))
        return own_collections((name.removesuffix(BESIDE) for name in described), PREFIX)

    def drop(self, collection: str) -> None:
        self._client.delete(f"{PREFIX}{collection}", f"{PREFIX}{collection}{BESIDE}")

    def insert(self, batch: Batch) -> None:
        self._write(batch)
        self._rows += len(batch.ids)

    def replace(self, batch: Batch) -> None:
        """VADD of an existing element replaces its vector and attributes."""
        self._write(batch)

    def ready(self) -> None:
        """Wait for the log on disk if the server keeps one; a row is in the graph when VADD returns."""
        expect_rows("Redis", self._count(), self._rows)
        self._expect_quantization()
        if self._wait_aof and self._client.info("persistence")["aof_enabled"]:
            self._client.execute_command("WAITAOF", 1, 0, 0)

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._key = f"{PREFIX}{collection}"
        own_dims = self._client.hget(self._key + BESIDE, "dims")
        if own_dims is None:
            raise StoreError(f"Redis has no collection {self._key}.")
        expect_dims("Redis", int(own_dims), dims)
        self._rows = self._count()
        self._expect_quantization()
        return self._rows

    def _count(self) -> int:
        return int(self._client.execute_command("VCARD", self._key))

    def _expect_quantization(self) -> None:
        """Raise unless the set has the requested quantisation; an empty set does not exist."""
        state, wanted = self._client.execute_command("VINFO", self._key), QUANT[self._build.quantization][1]
        actual = state[b"quant-type"].decode() if state else wanted
        if actual != wanted:
            raise StoreError(f"Redis holds this collection as {actual}, not as {wanted}.")

    def search(self, vector: np.ndarray, k: int, query: RedisQuery) -> Hits:
        return answer(self._client.execute_command(*search_command(self._key, vector, k, query.ef)))

    def search_where(self, vector: np.ndarray, k: int, query: RedisQuery, where: Where) -> Hits:
        among = ("FILTER", condition(self, where), "FILTER-EF", query.filter_effort)
        asked = search_command(self._key, vector, k, query.ef)
        return answer(self._client.execute_command(*asked, *among))

    def search_many(self, vectors: np.ndarray, k: int, query: RedisQuery) -> list[Hits]:
        commands = [search_command(self._key, vector, k, query.ef) for vector in vectors]
        return [answer(found) for found in pipeline(self._client, commands)]

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        answers = pipeline(self._client, [["VGETATTR", self._key, str(number)] for number in ids.tolist()])
        pairs = zip(ids.tolist(), answers, strict=True)
        return in_order(ids, {number: payload(self, one) for number, one in pairs if one})

    def delete(self, ids: np.ndarray) -> None:
        pipeline(self._client, [["VREM", self._key, str(number)] for number in ids.tolist()])

    def close(self) -> None:
        self._threads.close()

    @property
    def _client(self) -> redis.Redis:
        return self._threads.mine()

    def _write(self, batch: Batch) -> None:
        for commands in add_commands(self, self._key, batch, self._build):
            pipeline(self._client, commands)
