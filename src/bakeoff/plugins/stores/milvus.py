"""Milvus: milvus-lite embedded (the C++ engine of 2.5, comparing every row), or a server by URI."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from milvus_lite.server_manager import server_manager_instance as lite
from pydantic import Field, model_validator
from pymilvus import DataType, MilvusClient, MilvusException

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import (
    EF,
    PROBES,
    GraphBuild,
    GraphQuery,
    Settings,
    expect_dims,
    expect_rows,
    guarantee,
    installed_engine,
    make_hits,
    translate_errors,
)
from bakeoff.plugins.kit.payload import VECTORS_ONLY, Payload, PayloadSchemaMixin, from_rows, terms
from bakeoff.plugins.kit.server import (
    PREFIX,
    ServerUrl,
    ShardSettings,
    expect_spread,
    given_server,
    own_collections,
    request_timeout,
    require_server,
    translate_server_errors,
)
from bakeoff.protocols import Guarantee, SearchKnob
from bakeoff.storage.consent import Destination, secret_for
from bakeoff.types import Batch, Hits, Metric, Where

Index = Literal["flat", "ivf_flat", "hnsw"]
METRICS = {Metric.COSINE: "COSINE", Metric.DOT: "IP", Metric.L2: "L2"}
TYPES = {"text": DataType.VARCHAR, "integer": DataType.INT64, "number": DataType.DOUBLE}
LONGEST_TEXT = 65_535
REQUESTS = (
    "create_collection", "drop_collection", "describe_collection", "list_collections", "describe_index",
    "insert", "upsert", "delete", "search", "query", "get", "get_server_version", "describe_replica",
)  # fmt: skip
WORK = ("flush", "create_index", "load_collection")
"""Calls that answer when the work is done, and what they may take: by itself the client waits for ever."""
WORK_SECONDS = 3600.0
LOGS = {"GLOG_minloglevel": "3"}
"""milvus-lite leaves log files among the temporary files at every start, unless only what ends it is worth a line."""
SETTLED = "Strong"
"""The level of a query that waits until every write so far is visible."""
PART = 2000  # rows a request, under the 64 MB of one gRPC message at 4,096 dimensions


class Build(GraphBuild, ShardSettings):
    """What shapes the index; milvus-lite has flat only: it ignores nlist and nprobe and keeps no graph."""

    index: Annotated[Index | None, Field(description="None: hnsw on a server, flat embedded")] = None
    lists: Annotated[int, Field(ge=1, description="IVF: cells")] = 128


class MilvusParams(Settings):
    """Where Milvus is and how its index is built; a server's token comes from MILVUS_TOKEN."""

    uri: ServerUrl = None
    build: Build = Build()

    @model_validator(mode="after")
    def _spread(self) -> Self:
        require_server("uri", self.uri, self.build)
        return self

    def kind(self) -> Index:
        """The kind of index; one that milvus-lite does not have is a StoreError."""
        kind: Index = self.build.index or ("hnsw" if self.uri else "flat")
        if self.uri is None and kind != "flat":
            raise StoreError(f"milvus-lite has no {kind} index. Leave it out, or give a server's uri.")
        return kind

    def knob(self) -> SearchKnob | None:
        """What tunes a search of the index; Milvus refuses to look at more cells than there are."""
        cells = replace(PROBES, high=self.build.lists)
        return {"hnsw": EF, "ivf_flat": cells}.get(self.kind())


class MilvusQuery(GraphQuery):
    """What shapes a search on a server."""

    probes: Annotated[int, Field(ge=1, description="IVF: cells looked at")] = 8
    consistency_level: Annotated[
        Literal["Strong", "Session", "Bounded", "Eventually"],
        Field(description="server: how fresh the rows are that a search waits for; Strong waits up to 0.2 s"),
    ] = "Bounded"


def connect(server: Destination | None, file: Path) -> MilvusClient:
    """A client of a server, or of milvus-lite on a file."""
    for name, value in LOGS.items():
        os.environ.setdefault(name, value)
    at = server.url if server else lite.start_and_get_uri(str(file))
    if at is None:
        raise StoreError(f"milvus-lite does not start on {file.name}. Is it open elsewhere?")
    seconds, token = request_timeout(), (secret_for("MILVUS_TOKEN", server) if server else None) or ""
    client = MilvusClient(at, token=token, dedicated=True, timeout=seconds)
    limits = dict.fromkeys(REQUESTS, seconds) | dict.fromkeys(WORK, max(seconds, WORK_SECONDS))
    for name, limit in limits.items():
        setattr(client, name, partial(getattr(client, name), timeout=limit))
    return client


def schema(client: MilvusClient, store: PayloadSchemaMixin, dims: int) -> Any:
    """The fields of a collection."""
    made = client.create_schema(auto_id=False, enable_dynamic_field=False)
    made.add_field("id", DataType.INT64, is_primary=True)
    made.add_field("vector", DataType.FLOAT_VECTOR, dim=dims)
    for column, field in store.columns().items():
        long = {"max_length": LONGEST_TEXT} if field.kind == "text" else {}
        made.add_field(column, TYPES[field.kind], **long)
    return made


def index(client: MilvusClient, build: Build, kind: Index, metric: Metric) -> Any:
    """What index to build over the vectors."""
    graph = {"M": build.m, "efConstruction": build.ef_construction}
    shape = {"hnsw": graph, "ivf_flat": {"nlist": build.lists}}.get(kind, {})
    made = client.prepare_index_params()
    made.add_index("vector", index_type=kind.upper(), metric_type=METRICS[metric], params=shape)
    return made


def expression(store: PayloadSchemaMixin, where: Where) -> str:
    """A filter as Milvus writes it; texts are quoted as JSON quotes them."""
    names = store.column_of()
    return " and ".join(
        f"{names[term.field]} {term.sign} "
        + json.dumps(list(term.values) if term.sign == "in" else term.values[0], ensure_ascii=False)
        for term in terms(store.fields, where)
    )


def requests(store: PayloadSchemaMixin, batch: Batch) -> Iterator[list[dict[str, Any]]]:
    """A batch as rows, in parts that one request takes."""
    assert batch.vectors is not None
    rows = [
        {"id": number, "vector": row} for number, row in zip(batch.ids.tolist(), batch.vectors, strict=True)
    ]
    if store.fields:
        for row, payload in zip(rows, batch.payloads or [], strict=True):
            row |= {column: payload[name] for name, column in store.column_of().items()}
    for begin in range(0, len(rows), PART):
        yield rows[begin : begin + PART]


def expect_finished(client: MilvusClient, name: str, kind: Index) -> None:
    """The index that was asked for is there, and finished over every row."""
    state = client.describe_index(name, "vector")
    waiting = state.get("pending_index_rows", 0)
    if state["index_type"] != kind.upper() or state.get("state") != "Finished" or waiting:
        raise StoreError(f"Milvus has not finished its {kind} index ({waiting} rows are waiting).")


@translate_server_errors("Milvus", MilvusException)
class MilvusStore(PayloadSchemaMixin):
    """One Milvus collection, built in the order insert, flush, index, load; a server's texts end at 65,535 bytes."""

    version: ClassVar[str] = "2"
    Params = MilvusParams
    Query = MilvusQuery
    max_dims: ClassVar[int] = 32_768
    gaps: ClassVar[dict[str, str]] = {
        **VECTORS_ONLY,
        "clients": "embedded, one client at a time has the file; a server takes many",
    }

    @classmethod
    def guarantees(cls, params: MilvusParams, query: MilvusQuery) -> tuple[Guarantee, ...]:
        """How fresh a server's answer is; embedded, every write is seen at once."""
        if params.uri is None:
            return ()
        return (guarantee("consistency", "query.consistency_level", query),)

    @classmethod
    def search_knob(cls, params: MilvusParams) -> SearchKnob | None:
        """The candidates of a graph, or the cells looked at."""
        return params.knob()

    @translate_errors("Milvus", MilvusException)
    def __init__(self, params: MilvusParams, home: Path) -> None:
        self._params, self._index, self._file = params, params.kind(), home / "milvus.db"
        self._embedded = params.uri is None
        self._name, self._metric, self._rows = "", Metric.COSINE, 0
        self._client = connect(given_server(params.uri), self._file)

    def engine_version(self) -> str:
        if self._embedded:
            return installed_engine("milvus-lite")
        return f"Milvus {self._client.get_server_version()}"

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self.drop(collection)
        self._name, self._metric, self._rows = PREFIX + collection, metric, 0
        made, shards = schema(self._client, self, dims), self._params.build.shards
        self._client.create_collection(self._name, schema=made, num_shards=shards)

    def collections(self) -> list[str]:
        return [] if self._embedded else own_collections(self._client.list_collections())

    def drop(self, collection: str) -> None:
        self._client.drop_collection(PREFIX + collection)

    def insert(self, batch: Batch) -> None:
        for rows in requests(self, batch):
            self._client.insert(self._name, rows)
        self._rows += len(batch.ids)

    def replace(self, batch: Batch) -> None:
        for rows in requests(self, batch):
            self._client.upsert(self._name, rows)
        self._settled_rows()

    def ready(self) -> None:
        self._client.flush(self._name)
        made = index(self._client, self._params.build, self._index, self._metric)
        self._client.create_index(self._name, made)
        self._load()

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._name, self._metric = PREFIX + collection, metric
        fields = {field["name"]: field for field in self._client.describe_collection(self._name)["fields"]}
        expect_dims("Milvus", int(fields["vector"]["params"]["dim"]), dims)
        self._load(counting=True)
        return self._rows

    def search(self, vector: np.ndarray, k: int, query: MilvusQuery) -> Hits:
        return self._nearest([vector], k, query)[0]

    def search_many(self, vectors: np.ndarray, k: int, query: MilvusQuery) -> list[Hits]:
        return self._nearest(list(vectors), k, query) if len(vectors) else []

    def search_where(self, vector: np.ndarray, k: int, query: MilvusQuery, where: Where) -> Hits:
        return self._nearest([vector], k, query, expression(self, where))[0]

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        names = ["id", *self.columns()]
        found = self._client.get(self._name, ids=ids.tolist(), output_fields=names)
        return from_rows(self, ids, (tuple(row[name] for name in names) for row in found))

    def delete(self, ids: np.ndarray) -> None:
        self._client.delete(self._name, ids=ids.tolist())
        self._settled_rows()

    def close(self) -> None:
        self._client.close()
        if self._embedded:
            lite.release_server(str(self._file))
        self._embedded = False  # released once; a file opened again by another instance is not ours

    def _nearest(self, vectors: list[Any], k: int, query: MilvusQuery, where: str = "") -> list[Hits]:
        how = {"hnsw": {"ef": max(query.ef, k)}, "ivf_flat": {"nprobe": query.probes}}.get(self._index, {})
        asked: dict[str, Any] = {"limit": k, "search_params": {"params": how}}
        if not self._embedded:
            asked["consistency_level"] = query.consistency_level
        sign = -1 if self._metric is Metric.L2 else 1
        return [
            make_hits([hit["id"] for hit in found], [sign * hit["distance"] for hit in found])
            for found in self._client.search(self._name, data=vectors, filter=where, **asked)
        ]

    def _settled_rows(self) -> int:
        """The rows of the collection, counted when every write so far can be found by any search."""
        counted = self._client.query(self._name, output_fields=["count(*)"], consistency_level=SETTLED)
        return int(counted[0]["count(*)"])

    def _load(self, *, counting: bool = False) -> None:
        """Into memory, as often as was asked for, with every row in the finished index."""
        self._client.load_collection(self._name, replica_number=self._params.build.replicas + 1)
        held = self._settled_rows()
        self._rows = held if counting else self._rows
        expect_rows("Milvus", held, self._rows)
        expect_finished(self._client, self._name, self._index)
        if not self._embedded:
            shards = self._client.describe_collection(self._name)["num_shards"]
            copies = len(self._client.describe_replica(self._name))
            expect_spread("Milvus", (shards, copies - 1), self._params.build)
