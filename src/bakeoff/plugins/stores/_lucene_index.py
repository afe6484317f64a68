"""An index of Elasticsearch or OpenSearch: made, filled in bulk, merged, opened again, and changed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from bakeoff.errors import StoreError
from bakeoff.plugins.stores import _lucene_state as state
from bakeoff.plugins.stores._base import GraphBuild, Settings, expect_dims, expect_rows, guarantee
from bakeoff.plugins.stores._payload import Declared, Payload, in_order, payload_of
from bakeoff.plugins.stores._rest import Rest, bodies
from bakeoff.plugins.stores._server import PREFIX, Spread, ours
from bakeoff.protocols import Guarantee
from bakeoff.types import Batch, Metric

TERM = 8000  # characters: a term of Lucene has at most 32,766 bytes; longer texts are kept, and no filter finds them
KINDS = {
    "text": {"type": "keyword", "ignore_above": TERM},
    "integer": {"type": "long"},
    "number": {"type": "double"},
}


class LuceneBuild(GraphBuild, Spread):
    """What shapes the graph: Lucene makes one for each segment."""

    segments: Annotated[
        int | None, Field(ge=1, description="each shard's, merged; None: as the engine leaves them")
    ] = 1
    refresh_interval: Annotated[
        str,
        Field(
            pattern=r"^(-1|\d+(ms|s|m))$",
            description="how often written rows become searchable while inserting; -1: only at the end",
        ),
    ] = "1s"
    durability: Annotated[
        Literal["request", "async"],
        Field(description="request: each write reaches the disk before its answer; async: every 5 s"),
    ] = "request"


class Words(Settings):
    """How texts are cut into words, and what BM25 makes of them."""

    analyzer: Annotated[
        str,
        Field(description="one the engine has: standard, english, cjk, thai, hindi, arabic, whitespace …"),
    ] = "standard"
    k1: Annotated[float, Field(ge=0)] = 1.2
    b: Annotated[float, Field(ge=0, le=1)] = 0.75


class LuceneIndex(Declared, ABC):
    """Texts and vectors are searchable and not kept a second time."""

    engine: ClassVar[str]

    def __init__(self, rest: Rest, build: LuceneBuild, words: Words) -> None:
        self._rest, self._build, self._words = rest, build, words
        self._index, self._rows, self._metric = "", 0, Metric.COSINE

    @classmethod
    def guarantees(cls, params: Any, query: Any) -> tuple[Guarantee, ...]:  # noqa: ARG003 - all are of the index
        """When rows can be found, and when they are on disk."""
        return (
            guarantee("refresh", "build.refresh_interval", params.build),
            guarantee("durability", "build.durability", params.build),
        )

    @abstractmethod
    def _vector_type(self, dims: int, metric: Metric) -> dict[str, Any]:
        """The mapping of the vector's field."""

    @abstractmethod
    def _held(self, mapped: dict[str, Any]) -> int:
        """The dimensions of a vector's field from its mapping."""

    def engine_version(self) -> str:
        """The engine's name and version, as the node that answers says it."""
        nodes = self._rest("GET", "/_nodes/_local?filter_path=nodes.*.version")["nodes"]
        return f"{self.engine} {next(iter(nodes.values()))['version']}"

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        state.expect_nodes(self.engine, self._rest, self._build)
        self.drop(collection)
        self._index, self._rows, self._metric = _name(collection), 0, metric
        properties: dict[str, Any] = {column: KINDS[field.kind] for column, field in self.columns().items()}
        properties["text"] = {"type": "text", "analyzer": self._words.analyzer}
        if dims:
            properties["vector"] = self._vector_type(dims, metric)
        kept = {"excludes": ["vector", "text"]}
        mappings = {"dynamic": "strict", "_source": kept, "properties": properties}
        self._rest("PUT", f"/{self._index}", {"settings": {"index": self._settings()}, "mappings": mappings})

    def collections(self) -> list[str]:
        return ours(self._rest("GET", f"/{PREFIX}*/_settings?filter_path=*.settings.index.uuid"))

    def drop(self, collection: str) -> None:
        self._rest("DELETE", f"/{_name(collection)}?ignore_unavailable=true")

    def _settings(self) -> dict[str, Any]:
        """Settings of the index; `ready` refreshes it whatever its interval is."""
        bm25 = {"type": "BM25", "k1": self._words.k1, "b": self._words.b}
        shards = {"number_of_shards": self._build.shards, "number_of_replicas": self._build.replicas}
        log = {"translog.durability": self._build.durability}
        return {**shards, **self._refreshing(), **log, "similarity": {"default": bm25}}

    def _refreshing(self) -> dict[str, Any]:
        """The interval where it is not the engine's own: given a value, the engine no longer rests when idle."""
        chosen = self._build.refresh_interval
        own = LuceneBuild.model_fields["refresh_interval"].default
        return {} if chosen == own else {"refresh_interval": chosen}

    def insert(self, batch: Batch) -> None:
        self._write(self._documents(batch))
        self._rows += len(batch.ids)

    def replace(self, batch: Batch) -> None:
        self._write(self._documents(batch), "&refresh=true")

    def delete(self, ids: np.ndarray) -> None:
        gone = (({"delete": {"_id": str(number)}},) for number in ids.tolist())
        self._write(gone, "&refresh=true")

    def _documents(self, batch: Batch) -> Iterator[tuple[Any, ...]]:
        """An action and a document for each row."""
        vectors = None if batch.vectors is None else np.ascontiguousarray(batch.vectors, np.float32)
        columns = self.columns().items()
        for i, number in enumerate(batch.ids.tolist()):
            row: dict[str, Any] = {}
            if vectors is not None:
                row["vector"] = vectors[i]
            if batch.texts is not None:
                row["text"] = batch.texts[i]
            if batch.payloads is not None:
                row.update({column: batch.payloads[i][field.name] for column, field in columns})
            yield {"index": {"_id": str(number)}}, row

    def _write(self, rows: Iterator[tuple[Any, ...]], option: str = "") -> None:
        for body in bodies(rows):
            said = self._rest("POST", f"/{self._index}/_bulk?filter_path=errors,items.*.error{option}", body)
            if said["errors"]:
                first = next(iter(said["items"][0].values()))["error"]
                why = first.get("caused_by", {}).get("reason", "")
                raise StoreError(f"{self.engine} refused a row: {first['reason']} {why}".rstrip())

    def ready(self) -> None:
        """Merged into the segments that were asked for, refreshed, every copy of every row held: asserted."""
        wanted = self._build.segments
        if wanted:
            state.merge(self.engine, self._rest, self._index, wanted)
        self._rest("POST", f"/{self._index}/_refresh")
        expect_rows(self.engine, self._count(), self._rows)
        state.expect_copies(self.engine, self._rest, self._index, self._build)
        there = state.segments(self._rest, self._index)
        if wanted and there > wanted:
            raise StoreError(f"{self.engine} has {there} segments in a shard after merging into {wanted}.")

    def _count(self) -> int:
        return int(self._rest("GET", f"/{self._index}/_count")["count"])

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._index, self._metric = _name(collection), metric
        mapped = self._rest("GET", f"/{self._index}/_mapping")[self._index]["mappings"]["properties"]
        expect_dims(self.engine, self._held(mapped["vector"]) if "vector" in mapped else 0, dims)
        state.expect_copies(self.engine, self._rest, self._index, self._build)
        self._rows = self._count()
        return self._rows

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        asked = {"ids": [str(number) for number in ids.tolist()]}
        kept = {
            int(one["_id"]): payload_of(self.fields, tuple(one["_source"][name] for name in self.columns()))
            for one in self._rest("POST", f"/{self._index}/_mget", asked)["docs"]
            if one["found"]
        }
        return in_order(ids, kept)

    def close(self) -> None:
        self._rest.close()


def _name(collection: str) -> str:
    return f"{PREFIX}{collection}".lower()
