"""Pinecone by URL, a service only: written after its published interface, not run here."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from bakeoff.environment import setting
from bakeoff.errors import StoreError
from bakeoff.plugins.stores._base import NoQuery, Settings, expect_dims, hits
from bakeoff.plugins.stores._payload import VECTORS_ONLY, Declared, Payload, in_order, payload_of, terms
from bakeoff.plugins.stores._rest import Rest
from bakeoff.types import Batch, Hits, Metric, Where

INTERFACE = "2025-10"
PART = 100  # rows a request: at most 1,000 and 2 MB are taken
IDS = 100  # rows named in one request
DEADLINE_S = 600
PAUSE_S = 0.5
METRICS = {Metric.COSINE: "cosine", Metric.DOT: "dotproduct", Metric.L2: "euclidean"}
SIGNS = {"in": "$in", ">=": "$gte", "<=": "$lte"}
NAME = 45  # characters an index's name may have


class PineconeParams(Settings):
    """Where serverless indexes are made; the key comes from BAKEOFF_PINECONE_KEY."""

    url: Annotated[str, Field(description="the control plane")] = "https://api.pinecone.io"
    cloud: Annotated[str, Field(description="aws, gcp or azure")] = "aws"
    region: Annotated[str, Field(description="of the cloud")] = "us-east-1"


class PineconeStore(Declared):
    """A serverless index of its own; not run here: no engine in a registry, only a service."""

    version: ClassVar[str] = "1"
    Params = PineconeParams
    Query = NoQuery
    max_dims: ClassVar[int] = 20_000
    gaps: ClassVar[dict[str, str]] = VECTORS_ONLY | {
        "replace": "what is written over shows some seconds later, and nothing says when",
        "batch": "one vector a request",
        "long payloads": "a row's payload has at most 40 kB",
    }

    def __init__(self, params: PineconeParams, home: Path) -> None:
        key = setting("BAKEOFF_PINECONE_KEY")
        if not key:
            raise StoreError("Pinecone wants a key: set BAKEOFF_PINECONE_KEY in the environment or in .env.")
        self._headers = {"Api-Key": key, "X-Pinecone-Api-Version": INTERFACE}
        self._params, self._control = params, Rest("Pinecone", params.url, self._headers)
        self._index: Rest | None = None
        self._rows, self._metric = 0, Metric.COSINE

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        path, self._rows, self._metric = _path(collection), 0, metric
        self._control("DELETE", path, absent=True)
        _wait("the old index is gone", lambda: self._control("GET", path, absent=True) is None)
        where = {"serverless": {"cloud": self._params.cloud, "region": self._params.region}}
        shape = {"name": path.rsplit("/", 1)[1], "dimension": dims, "metric": METRICS[metric], "spec": where}
        self._control("POST", "/indexes", {**shape, "deletion_protection": "disabled"})
        _wait("the new index is ready", lambda: self._control("GET", path)["status"]["ready"])
        self._target(self._control("GET", path)["host"])

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        found = self._control("GET", _path(collection))
        expect_dims("Pinecone", found["dimension"], dims)
        self._metric = metric
        self._target(found["host"])
        self._rows = self._count()
        return self._rows

    def _target(self, host: str) -> None:
        self._index = Rest("Pinecone", host if "://" in host else f"https://{host}", self._headers)

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        if self._index is None:
            raise StoreError("Pinecone: no collection is open.")
        return self._index(method, path, body)

    def insert(self, batch: Batch) -> None:
        assert batch.vectors is not None
        vectors, columns = np.ascontiguousarray(batch.vectors, np.float32), self.columns().items()
        rows: list[dict[str, Any]] = [
            {"id": str(number), "values": vectors[i]} for i, number in enumerate(batch.ids.tolist())
        ]
        for row, payload in zip(rows, batch.payloads or (), strict=False):
            row["metadata"] = {column: payload[field.name] for column, field in columns}
        for begin in range(0, len(rows), PART):
            self._ask("POST", "/vectors/upsert", {"vectors": rows[begin : begin + PART]})
        self._rows += len(rows)

    def ready(self) -> None:
        """Writes show some seconds later: the index is ready when it counts every row."""
        _wait(f"{self._rows} rows are counted", lambda: self._count() == self._rows)

    def _count(self) -> int:
        return int(self._ask("POST", "/describe_index_stats", {})["totalVectorCount"])

    def search(self, vector: np.ndarray, k: int, query: NoQuery) -> Hits:
        return self.search_where(vector, k, query, ())

    def search_where(self, vector: np.ndarray, k: int, query: NoQuery, where: Where) -> Hits:
        asked: dict[str, Any] = {"vector": np.ascontiguousarray(vector, np.float32), "topK": k}
        names = self.column_of()
        clauses = [
            {names[term.field]: {SIGNS[term.sign]: term.values if term.sign == "in" else term.values[0]}}
            for term in terms(self.fields, where)
        ]
        found = self._ask("POST", "/query", asked | ({"filter": {"$and": clauses}} if clauses else {}))
        sign = -1.0 if self._metric is Metric.L2 else 1.0  # euclidean scores are squared distances
        rows = found["matches"]
        return hits([int(row["id"]) for row in rows], [sign * row["score"] for row in rows])

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        kept: dict[int, Payload] = {}
        for begin in range(0, len(ids), IDS):
            asked = "&".join(f"ids={number}" for number in ids[begin : begin + IDS].tolist())
            for name, row in self._ask("GET", f"/vectors/fetch?{asked}")["vectors"].items():
                values = tuple(row["metadata"][column] for column in self.columns())
                kept[int(name)] = payload_of(self.fields, values)
        return in_order(ids, kept)

    def delete(self, ids: np.ndarray) -> None:
        before = self._count()
        for begin in range(0, len(ids), IDS):
            gone = [str(number) for number in ids[begin : begin + IDS].tolist()]
            self._ask("POST", "/vectors/delete", {"ids": gone})
        _wait(f"{len(ids)} rows are gone", lambda: self._count() <= before - len(ids))

    def close(self) -> None:
        for one in (self._control, self._index):
            if one is not None:
                one.close()


def _path(collection: str) -> str:
    return "/indexes/" + f"bakeoff-{collection}".lower().replace("_", "-")[:NAME].rstrip("-")


def _wait(what: str, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        if time.monotonic() > deadline:
            raise StoreError(f"Pinecone: after {DEADLINE_S} s it is still not so that {what}.")
        time.sleep(PAUSE_S)
