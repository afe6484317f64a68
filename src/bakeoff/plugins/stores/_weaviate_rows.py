"""A collection of Weaviate over REST: made, filled in batches, watched until it is indexed, and changed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import numpy as np

from bakeoff.errors import StoreError
from bakeoff.plugins.stores._base import expect_dims
from bakeoff.plugins.stores._rest import Rest, packed, wait, words
from bakeoff.plugins.stores._server import Spread, expect_spread, ours
from bakeoff.plugins.stores._weaviate_schema import OWN_WRITES, WeaviateParams
from bakeoff.types import Batch, Metric, PayloadField

PREFIX = "Bakeoff_"  # a class of this engine begins with a capital
PART = 500  # objects a request
LINES = 2  # requests at once: the engine reads one while it links the other
DEADLINE_S = 3600
NOBODY = UUID(int=2**127)
"""No row has it. To delete it makes the engine write the end of the graph's log, which it else keeps in memory: after
kill -9 version 1.35.2 counted every row and no longer found the last few."""


class Rows:
    """The rows of one collection; each is known by a UUID with its integer in it."""

    def __init__(self, rest: Rest, collection: str, writes: str = OWN_WRITES) -> None:
        self._rest, self.name = rest, f"{PREFIX}{collection}"
        self._objects = "/v1/batch/objects" + ("" if writes == OWN_WRITES else f"?consistency_level={writes}")
        self._path = f"/v1/schema/{self.name}"
        self._tuning, self._ef = threading.Lock(), 0

    def create(self, params: WeaviateParams, metric: Metric, columns: dict[str, PayloadField]) -> None:
        """Make the collection anew."""
        self.drop()
        self._rest("POST", "/v1/schema", params.described(self.name, metric, columns))

    def drop(self) -> None:
        """Remove the collection; the engine says the same where there is none."""
        self._rest("DELETE", self._path)

    def put(self, batch: Batch, columns: dict[str, PayloadField]) -> None:
        """Write rows, new ones or in the place of those that have their ids."""
        vectors = None if batch.vectors is None else np.ascontiguousarray(batch.vectors, np.float32)
        objects = []
        for i, number in enumerate(batch.ids.tolist()):
            kept: dict[str, Any] = {} if batch.texts is None else {"text": batch.texts[i]}
            if batch.payloads is not None:
                kept |= {name: batch.payloads[i][field.name] for name, field in columns.items()}
            row = {"class": self.name, "id": identity(number), "properties": kept}
            objects.append(row if vectors is None else {**row, "vector": vectors[i]})
        parts = [objects[begin : begin + PART] for begin in range(0, len(objects), PART)]
        with ThreadPoolExecutor(LINES) as lines:
            list(lines.map(self._post, parts))

    def _post(self, objects: list[dict[str, Any]]) -> None:
        for one in self._rest("POST", self._objects, {"objects": objects}):
            if one["result"].get("errors"):
                raise StoreError(f"Weaviate refused a row: {words(packed(one['result']))}")

    def settle(self) -> None:
        """Return when every shard's vector queue is empty and the graph is on disk."""
        wait("Weaviate", "every row is in the graph", lambda: not self._waiting(), DEADLINE_S, pause=0.05)
        self._remove([str(NOBODY)])

    def _waiting(self) -> int:
        """Rows not in the graph yet; a shard at work on its index counts as one."""
        nodes = self._rest("GET", f"/v1/nodes/{self.name}?output=verbose")["nodes"]
        shards = [shard for node in nodes for shard in node["shards"] or []]
        return sum(
            shard["vectorQueueLength"] + (shard["vectorIndexingStatus"] != "READY") for shard in shards
        )

    def check(self, dims: int, spread: Spread) -> None:
        """A collection that is not there, holds vectors of another length or is spread otherwise is a StoreError."""
        schema = self._rest("GET", self._path)
        held = schema["shardingConfig"]["actualCount"], schema["replicationConfig"]["factor"] - 1
        expect_spread("Weaviate", held, spread)
        first = self._rest("GET", f"/v1/objects?class={self.name}&limit=1&include=vector")["objects"]
        if first:
            expect_dims("Weaviate", len(first[0].get("vector") or ()), dims)

    def tune(self, ef: int) -> None:
        """Write `ef` to the collection, where it is another than the one this client wrote last."""
        with self._tuning:
            if ef != self._ef:
                schema = self._rest("GET", self._path)
                schema["vectorIndexConfig"]["ef"] = ef
                self._rest("PUT", self._path, schema)
                self._ef = ef

    def kept(self, number: int) -> dict[str, Any]:
        """What belongs to a row, asked for one by one: GraphQL has no integers over 32 bits."""
        found: dict[str, Any] = self._rest("GET", f"/v1/objects/{self.name}/{identity(number)}")["properties"]
        return found

    def delete(self, ids: np.ndarray) -> None:
        """Remove rows."""
        self._remove([identity(number) for number in ids.tolist()])

    def _remove(self, gone: list[str]) -> None:
        chosen = {"path": ["id"], "operator": "ContainsAny", "valueTextArray": gone}
        told = self._rest("DELETE", self._objects, {"match": {"class": self.name, "where": chosen}})
        if told["results"]["failed"]:
            raise StoreError(f"Weaviate did not delete {told['results']['failed']} of {len(gone)} rows.")


def collections(rest: Rest) -> list[str]:
    """What was made there, by the names that were given."""
    return ours((one["class"] for one in rest("GET", "/v1/schema")["classes"]), PREFIX)


def identity(number: int) -> str:
    """A UUID with an integer in it; one below zero has none."""
    if number < 0:
        raise StoreError(f"Weaviate knows a row by a UUID, which cannot hold the id {number}.")
    return str(UUID(int=number))
