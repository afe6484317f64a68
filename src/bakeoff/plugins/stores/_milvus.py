"""Milvus collections: connection, schema, index and filters."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
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
    make_hits,
    score_from_hamming,
    sign_bits,
)
from bakeoff.plugins.kit.encoded import require_weights
from bakeoff.plugins.kit.existing import (
    Kind,
    sampled_fields,
)
from bakeoff.plugins.kit.payload import PayloadSchemaMixin, terms
from bakeoff.plugins.kit.rest import wait_until
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
    Hits,
    JsonObject,
    Metric,
    PayloadField,
    SparseVector,
    Storage,
    VectorKind,
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
STORED: dict[Storage, DataType] = {
    "float32": DataType.FLOAT_VECTOR,
    "float16": DataType.FLOAT16_VECTOR,
    "int8": DataType.FLOAT_VECTOR,
    "binary": DataType.BINARY_VECTOR,
}
SINCE_2_4 = "from version 2.4 on"
LONGEST_TEXT = 65_535
REQUESTS = (
    "create_collection", "drop_collection", "describe_collection", "list_collections", "describe_index",
    "insert", "upsert", "delete", "search", "query", "get", "get_server_version", "describe_replica",
    "get_load_state", "release_collection",
)  # fmt: skip
WORK = ("flush", "create_index", "load_collection")
"""Calls that return when the work is done, and their time limit: by default the client waits for ever."""
WORK_SECONDS = 3600.0
LOGS = {"GLOG_minloglevel": "3"}
"""Silences milvus-lite, which otherwise leaves log files among the temporary files at every start."""
SETTLED = "Strong"
"""The consistency level that waits until all earlier writes are visible."""
PART = 2000  # rows per request, under the 64 MB limit of a gRPC message at 4,096 dimensions


class Build(GraphBuild, ShardSettings):
    """Build settings of the index; milvus-lite has flat only: it ignores nlist and nprobe and keeps no graph."""

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
        """Kind of index; raises StoreError for one that milvus-lite lacks."""
        kind: Index = self.build.index or ("hnsw" if self.uri else "flat")
        if self.uri is None and kind != "flat":
            raise StoreError(f"milvus-lite has no {kind} index. Remove it, or give a server's uri.")
        return kind

    def knob(self) -> SearchKnob | None:
        """The setting that trades recall for speed; Milvus rejects more cells than exist."""
        cells = replace(PROBES, high=self.build.lists)
        return {"hnsw": EF, "ivf_flat": cells}.get(self.kind())


class MilvusQuery(GraphQuery):
    """Search settings of a server."""

    probes: Annotated[int, Field(ge=1, description="IVF: cells searched")] = 8
    consistency_level: Annotated[
        Literal["Strong", "Session", "Bounded", "Eventually"],
        Field(description="server: consistency level of a search; Strong waits up to 0.2 s"),
    ] = "Bounded"


def connect(server: Destination | None, file: Path) -> MilvusClient:
    """Connect to a server, or to milvus-lite on a file."""
    for name, value in LOGS.items():
        os.environ.setdefault(name, value)
    at = server.url if server else lite.start_and_get_uri(str(file))
    if at is None:
        raise StoreError(f"milvus-lite does not start on {file.name}. Is it open elsewhere?")
    if not server:
        listens = partial(_listens, at.removeprefix("unix:"))
        wait_until("Milvus", "milvus-lite listens", listens, request_timeout(), pause=0.02)
    seconds, token = request_timeout(), (secret_for("MILVUS_TOKEN", server) if server else None) or ""
    client = MilvusClient(at, token=token, dedicated=True, timeout=seconds)
    limits = dict.fromkeys(REQUESTS, seconds) | dict.fromkeys(WORK, max(seconds, WORK_SECONDS))
    for name, limit in limits.items():
        setattr(client, name, partial(getattr(client, name), timeout=limit))
    return client


def _listens(path: str) -> bool:
    """Whether something accepts connections at a socket; milvus-lite's own package waits only half a second."""
    with socket.socket(socket.AF_UNIX) as line:
        return line.connect_ex(path) == 0


@dataclass(frozen=True, slots=True)
class VectorField:
    """How a collection's vectors are stored, indexed and searched. int8 is an IVF index of bytes over
    float32; float16 and binary are types of the engine."""

    index: Index
    dims: int = 0
    metric: Metric = Metric.COSINE
    storage: Storage = "float32"
    kind: VectorKind = "dense"

    @property
    def data_type(self) -> DataType:
        """The type of the field."""
        return DataType.SPARSE_FLOAT_VECTOR if self.kind == "sparse" else STORED[self.storage]

    @property
    def length(self) -> dict[str, int]:
        """The field's dimensions; bits come in bytes."""
        if self.kind == "sparse":
            return {}
        return {"dim": -(-self.dims // 8) * 8 if self.storage == "binary" else self.dims}

    @property
    def index_type(self) -> str:
        """The name of the index."""
        if self.kind == "sparse":
            return "SPARSE_INVERTED_INDEX"
        return {"int8": "IVF_SQ8", "binary": "BIN_FLAT"}.get(self.storage, self.index.upper())

    @property
    def metric_type(self) -> str:
        """The name of the metric."""
        return "HAMMING" if self.storage == "binary" else METRICS[self.metric]

    def build_params(self, build: Build) -> JsonObject:
        """Build parameters of the index."""
        if self.index_type == "HNSW":
            return {"M": build.m, "efConstruction": build.ef_construction}
        return {"nlist": build.lists} if self.index_type.startswith("IVF") else {}

    def search_params(self, query: MilvusQuery, k: int) -> JsonObject:
        """Search parameters."""
        if self.index_type == "HNSW":
            return {"ef": max(query.ef, k)}
        return {"nprobe": query.probes} if self.index_type.startswith("IVF") else {}

    def values(self, batch: Batch) -> Iterator[object]:
        """A batch's vectors in the client's form."""
        if self.kind == "sparse":
            return map(sparse_value, require_weights("Milvus", batch))
        assert batch.vectors is not None
        return map(self.value, batch.vectors)

    def value(self, vector: np.ndarray) -> object:
        """A dense vector in the client's form."""
        if self.storage == "binary":
            return sign_bits(vector).tobytes()
        return vector.astype(np.float16) if self.storage == "float16" else vector

    def hits(self, found: list[JsonObject]) -> Hits:
        """Hits with scores of the metric."""
        far = np.array([hit["distance"] for hit in found], np.float64)
        if self.storage == "binary":
            scores = score_from_hamming(far, self.dims)
        else:
            scores = -far if self.metric is Metric.L2 else far
        return make_hits([hit["id"] for hit in found], scores)


def sparse_value(vector: SparseVector) -> dict[int, float]:
    """A sparse vector in the client's form."""
    return dict(zip(vector.terms.tolist(), vector.weights.tolist(), strict=True))


def schema(client: MilvusClient, store: PayloadSchemaMixin, vectors: VectorField) -> object:
    """Schema of a collection."""
    fields = client.create_schema(auto_id=False, enable_dynamic_field=False)
    fields.add_field("id", DataType.INT64, is_primary=True)
    fields.add_field("vector", vectors.data_type, **vectors.length)
    for column, field in store.columns().items():
        long = {"max_length": LONGEST_TEXT} if field.kind == "text" else {}
        fields.add_field(column, TYPES[field.kind], **long)
    return fields


def index(client: MilvusClient, build: Build, vectors: VectorField) -> object:
    """The index to build over the vectors."""
    params = client.prepare_index_params()
    shape = {"metric_type": vectors.metric_type, "params": vectors.build_params(build)}
    params.add_index("vector", index_type=vectors.index_type, **shape)
    return params


def expect_newer(client: MilvusClient, what: str) -> None:
    """Raise for a server before version 2.4: it returns wrong rows for float16, and has no sparse vectors."""
    version = str(client.get_server_version())
    numbers = [int(part) for part in re.findall(r"\d+", version)[:2]]
    if numbers < [2, 4]:
        raise StoreError(f"Milvus has {what} {SINCE_2_4}; this server is {version}.")


def expression(store: PayloadSchemaMixin, where: Where) -> str:
    """A filter in Milvus's language; texts are quoted as JSON."""
    names = store.column_of()
    return " and ".join(
        f"{names[term.field]} {term.sign} "
        + json.dumps(list(term.values) if term.sign == "in" else term.values[0], ensure_ascii=False)
        for term in terms(store.fields, where)
    )


def requests(
    store: PayloadSchemaMixin, batch: Batch, vectors: VectorField
) -> Iterator[list[dict[str, object]]]:
    """Yield a batch as rows, in request-sized parts."""
    rows = [
        {"id": number, "vector": row}
        for number, row in zip(batch.ids.tolist(), vectors.values(batch), strict=True)
    ]
    if store.fields:
        for row, payload in zip(rows, batch.payloads or [], strict=True):
            row |= {column: payload[name] for name, column in store.column_of().items()}
    for begin in range(0, len(rows), PART):
        yield rows[begin : begin + PART]


def expect_finished(client: MilvusClient, name: str, kind: str) -> None:
    """Raise unless the requested index exists and covers every row."""
    state = client.describe_index(name, "vector")
    waiting = state.get("pending_index_rows", 0)
    if state["index_type"] != kind or state.get("state") != "Finished" or waiting:
        raise StoreError(f"Milvus has not finished its {kind} index ({waiting} rows are waiting).")


def filter_columns(schema: JsonObject, rows: list[JsonObject]) -> dict[str, PayloadField]:
    """Fields that filters can name, by their expression: from the schema, and inside JSON as sampled."""
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
    """The schema field that a path belongs to."""
    return field.partition(".")[0]
