"""Milvus collections as its client describes them: connection, schema, index and filters."""

from __future__ import annotations

import json
import logging
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
from bakeoff.plugins.kit.adapter import (
    EF,
    PROBES,
    GraphBuild,
    GraphQuery,
    Settings,
)
from bakeoff.plugins.kit.existing import (
    Kind,
    sampled_fields,
)
from bakeoff.plugins.kit.payload import PayloadSchemaMixin, terms
from bakeoff.plugins.kit.server import (
    ServerUrl,
    ShardSettings,
    request_timeout,
    require_server,
)
from bakeoff.protocols import SearchKnob
from bakeoff.storage.consent import Destination, secret_for
from bakeoff.types import (
    Batch,
    JsonObject,
    Metric,
    PayloadField,
    Where,
)

logging.getLogger("pymilvus").setLevel(
    logging.ERROR
)  # reading all rows warns that it uses this machine's clock
Index = Literal["flat", "ivf_flat", "hnsw"]
METRICS = {Metric.COSINE: "COSINE", Metric.DOT: "IP", Metric.L2: "L2"}
TYPES = {"text": DataType.VARCHAR, "integer": DataType.INT64, "number": DataType.DOUBLE}
KINDS: dict[DataType, Kind] = {
    DataType.VARCHAR: "text",
    **dict.fromkeys((DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64), "integer"),
    **dict.fromkeys((DataType.FLOAT, DataType.DOUBLE), "number"),
    DataType.BOOL: "boolean",
}
LONGEST_TEXT = 65_535
REQUESTS = (
    "create_collection", "drop_collection", "describe_collection", "list_collections", "describe_index",
    "insert", "upsert", "delete", "search", "query", "get", "get_server_version", "describe_replica",
    "get_load_state", "release_collection",
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


def requests(store: PayloadSchemaMixin, batch: Batch) -> Iterator[list[dict[str, object]]]:
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


def filter_columns(schema: JsonObject, rows: list[JsonObject]) -> dict[str, PayloadField]:
    """The fields that filters can name, by what an expression calls them: of the schema, and inside JSON as seen."""
    found = {
        name: PayloadField(name, KINDS[one["type"]]) for name, one in schema.items() if one["type"] in KINDS
    }
    loose = [{key: value for key, value in row.items() if key not in found} for row in rows]
    for field in sampled_fields(loose):
        root, *inner = field.name.split(".")
        if schema.get(root, {}).get("type", DataType.JSON) == DataType.JSON:
            found[root + "".join(f"[{json.dumps(name)}]" for name in inner)] = field
    return found


def root_field(field: str) -> str:
    """The field of the schema that a path is in."""
    return field.partition(".")[0]
