"""Milvus's words: settings, the schema and index of a collection, a filter as an expression."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from milvus_lite.server_manager import server_manager_instance as lite
from pydantic import Field, model_validator
from pymilvus import DataType, MilvusClient

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import EF, PROBES, GraphBuild, GraphQuery, Settings
from bakeoff.plugins.kit.payload import PayloadSchemaMixin, terms
from bakeoff.plugins.kit.server import (
    ServerUrl,
    ShardSettings,
    expect_spread,
    request_timeout,
    require_server,
)
from bakeoff.protocols import SearchKnob
from bakeoff.storage.consent import Destination, secret_for
from bakeoff.types import Batch, Metric, Where

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


def release(file: Path) -> None:
    """Stop milvus-lite on a file."""
    lite.release_server(str(file))


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


def expect_copies(client: MilvusClient, name: str, spread: ShardSettings) -> None:
    """The collection has the shards that were asked for, and is in memory as often."""
    shards, copies = client.describe_collection(name)["num_shards"], len(client.describe_replica(name))
    expect_spread("Milvus", (shards, copies - 1), spread)
