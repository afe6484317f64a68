"""Pinecone by URL, a service only: written after its published interface, not run here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import AfterValidator, Field

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import NoQuery, Settings, expect_dims, make_hits
from bakeoff.plugins.kit.payload import VECTORS_ONLY, Payload, PayloadSchemaMixin, in_order, payload_of, terms
from bakeoff.plugins.kit.rest import Rest, wait
from bakeoff.plugins.kit.server import without_secret
from bakeoff.plugins.stores import _pinecone_control as control
from bakeoff.plugins.stores._pinecone_index import PineconeIndex
from bakeoff.storage.consent import Destination, secret_for
from bakeoff.storage.environment import SettingSource
from bakeoff.types import Batch, Hits, Metric, Where

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
        self._index = PineconeIndex(control.create_index(self._control, collection, shape), self._headers)

    def collections(self) -> list[str]:
        return control.collections(self._control)

    def drop(self, collection: str) -> None:
        control.delete_index(self._control, collection)

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        found = self._control("GET", control.path(collection))
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
        wait("Pinecone", f"it counts {rows} rows", lambda: self._index.count() == rows, control.DEADLINE_S)

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
