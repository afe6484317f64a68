"""Pinecone by URL, a service only: written after its published interface, not run here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import AfterValidator, Field

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import NoQuery, Settings, expect_dims, make_hits
from bakeoff.plugins.kit.payload import VECTORS_ONLY, Payload, PayloadSchemaMixin, in_order, payload_of, terms
from bakeoff.plugins.kit.rest import Rest, wait_until
from bakeoff.plugins.kit.server import own_collections, without_secret
from bakeoff.storage.consent import Destination, secret_for
from bakeoff.storage.environment import SettingSource
from bakeoff.types import Batch, Hits, Metric, PayloadField, Where

DEADLINE_S = 600
PREFIX = "bakeoff-"
NAME = 45  # characters an index's name may have: a collection's name is cut to fit


def path(collection: str) -> str:
    """Where an index is described."""
    return "/indexes/" + f"{PREFIX}{collection}".lower().replace("_", "-")[:NAME].rstrip("-")


def create_index(rest: Rest, collection: str, shape: dict[str, Any]) -> str:
    """Make an index, wait until it is ready, and return its host."""
    at = path(collection)
    rest("POST", "/indexes", {"name": at.rsplit("/", 1)[1], **shape, "deletion_protection": "disabled"})
    wait_until(
        "Pinecone", "the new index is ready", lambda: bool(rest("GET", at)["status"]["ready"]), DEADLINE_S
    )
    return str(rest("GET", at)["host"])


def delete_index(rest: Rest, collection: str) -> None:
    """Remove an index that may be there, and wait until it is gone."""
    at = path(collection)
    rest("DELETE", at, absent=True)
    wait_until("Pinecone", "the old index is gone", lambda: rest("GET", at, absent=True) is None, DEADLINE_S)


def collections(rest: Rest) -> list[str]:
    """What was made there, by the names that were given, cut where they were too long."""
    return own_collections((one["name"] for one in rest("GET", "/indexes")["indexes"]), PREFIX)


PART = 100  # rows a request: at most 1,000 and 2 MB are taken


class PineconeIndex:
    """The data plane of an index."""

    def __init__(self, host: str, headers: dict[str, str]) -> None:
        self._rest = Rest("Pinecone", host if "://" in host else f"https://{host}", headers)

    def put(self, batch: Batch, columns: dict[str, PayloadField]) -> None:
        """Write rows."""
        assert batch.vectors is not None
        vectors = np.ascontiguousarray(batch.vectors, np.float32)
        rows: list[dict[str, Any]] = [
            {"id": str(number), "values": vectors[i]} for i, number in enumerate(batch.ids.tolist())
        ]
        for row, payload in zip(rows, batch.payloads or (), strict=False):
            row["metadata"] = {column: payload[field.name] for column, field in columns.items()}
        for begin in range(0, len(rows), PART):
            self._rest("POST", "/vectors/upsert", {"vectors": rows[begin : begin + PART]})

    def count(self) -> int:
        """How many rows are counted by now."""
        return int(self._rest("POST", "/describe_index_stats", {})["totalVectorCount"])

    def near(self, vector: np.ndarray, k: int, option: dict[str, Any]) -> tuple[list[int], np.ndarray]:
        """The nearest rows: ids and the engine's scores."""
        asked = {"vector": np.ascontiguousarray(vector, np.float32), "topK": k, **option}
        rows = self._rest("POST", "/query", asked)["matches"]
        return [int(row["id"]) for row in rows], np.array([row["score"] for row in rows], np.float64)

    def kept(self, ids: np.ndarray) -> dict[int, dict[str, Any]]:
        """What belongs to rows, by id; ids that are not there are left out."""
        found: dict[int, dict[str, Any]] = {}
        for begin in range(0, len(ids), PART):
            asked = "&".join(f"ids={number}" for number in ids[begin : begin + PART].tolist())
            rows = self._rest("GET", f"/vectors/fetch?{asked}")["vectors"]
            found |= {int(name): row.get("metadata", {}) for name, row in rows.items()}
        return found

    def delete(self, ids: np.ndarray) -> None:
        """Remove rows."""
        for begin in range(0, len(ids), PART):
            gone = [str(number) for number in ids[begin : begin + PART].tolist()]
            self._rest("POST", "/vectors/delete", {"ids": gone})

    def close(self) -> None:
        """Give back the connections."""
        self._rest.close()


INTERFACE = "2025-10"
KEY = "BAKEOFF_PINECONE_KEY"
METRICS = {Metric.COSINE: "cosine", Metric.DOT: "dotproduct", Metric.L2: "euclidean"}
SIGNS = {"in": "$in", ">=": "$gte", "<=": "$lte"}


class PineconeParams(Settings):
    """Where serverless indexes are made; the key comes from BAKEOFF_PINECONE_KEY."""

    url: Annotated[str, AfterValidator(without_secret), Field(description="the control plane")] = (
        "https://api.pinecone.io"
    )
    cloud: Annotated[str, Field(description="aws, gcp or azure")] = "aws"
    region: Annotated[str, Field(description="of the cloud")] = "us-east-1"


class PineconeStore(PayloadSchemaMixin):
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
        key = secret_for(KEY, Destination(params.url, SettingSource.EXPERIMENT))
        if not key:
            raise StoreError("Pinecone wants a key: set BAKEOFF_PINECONE_KEY in the environment or in .env.")
        self._headers = {"Api-Key": key, "X-Pinecone-Api-Version": INTERFACE}
        self._params, self._control = params, Rest("Pinecone", params.url, self._headers)
        self._index, self._inserted, self._metric = PineconeIndex("", self._headers), 0, Metric.COSINE

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self.drop(collection)
        self._inserted, self._metric = 0, metric
        where = {"serverless": {"cloud": self._params.cloud, "region": self._params.region}}
        shape = {"dimension": dims, "metric": METRICS[metric], "spec": where}
        self._index = PineconeIndex(create_index(self._control, collection, shape), self._headers)

    def collections(self) -> list[str]:
        return collections(self._control)

    def drop(self, collection: str) -> None:
        delete_index(self._control, collection)

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        found = self._control("GET", path(collection))
        expect_dims("Pinecone", found["dimension"], dims)
        self._metric, self._index = metric, PineconeIndex(found["host"], self._headers)
        self._inserted = self._index.count()
        return self._inserted

    def insert(self, batch: Batch) -> None:
        self._index.put(batch, self.columns())
        self._inserted += len(batch.ids)

    def ready(self) -> None:
        """Writes show some seconds later: the index is ready when it counts every row."""
        self._counted(self._inserted)

    def delete(self, ids: np.ndarray) -> None:
        left = self._index.count() - len(ids)
        self._index.delete(ids)
        self._counted(left)

    def _counted(self, rows: int) -> None:
        wait_until("Pinecone", f"it counts {rows} rows", lambda: self._index.count() == rows, DEADLINE_S)

    def search(self, vector: np.ndarray, k: int, query: NoQuery) -> Hits:
        return self.search_where(vector, k, query, ())

    def search_where(self, vector: np.ndarray, k: int, query: NoQuery, where: Where) -> Hits:
        names = self.column_of()
        clauses = [
            {names[term.field]: {SIGNS[term.sign]: term.values if term.sign == "in" else term.values[0]}}
            for term in terms(self.fields, where)
        ]
        ids, scores = self._index.near(vector, k, {"filter": {"$and": clauses}} if clauses else {})
        return make_hits(
            ids, -scores if self._metric is Metric.L2 else scores
        )  # euclidean: the squared distance

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        names, kept = list(self.columns()), self._index.kept(ids)
        found = {number: payload_of(self.fields, tuple(map(one.get, names))) for number, one in kept.items()}
        return in_order(ids, found)

    def close(self) -> None:
        self._control.close()
        self._index.close()
