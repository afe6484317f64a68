"""An index of Elasticsearch or OpenSearch: created, filled in bulk, merged, reopened and changed.

Both store a sparse vector as one Lucene feature per term, whose weight has 9 significant bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import Field

from bakeoff.corpus.languages import LANGUAGES
from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import GraphBuild, Settings, expect_dims, expect_rows, guarantee
from bakeoff.plugins.kit.client_errors import Reply, reports_client_errors
from bakeoff.plugins.kit.encoded import HoldsKind, require_positive_weights
from bakeoff.plugins.kit.payload import Payload, PayloadSchemaMixin, in_order, payload_of
from bakeoff.plugins.kit.rest import BODY_BYTES, encode_json, refusal_reason, wait_until
from bakeoff.plugins.kit.server import PREFIX, ShardSettings, expect_spread, own_collections
from bakeoff.plugins.kit.words import WordAnalyzer
from bakeoff.protocols import Guarantee
from bakeoff.types import Batch, JsonObject, Metric

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch
    from opensearchpy import OpenSearch

    ApiClient: TypeAlias = Elasticsearch | OpenSearch

MERGE_SECONDS = 3600.0
TAKING_PART = 120.0
"""Seconds until every copy of a shard must answer, also after a start."""


def expect_nodes(engine: str, api: ApiClient, spread: ShardSettings) -> None:
    """Raise unless there is a node for every copy of a shard; the engine would silently leave copies out."""
    if not spread.replicas:
        return
    nodes = api.cluster.health()["number_of_data_nodes"]
    if nodes <= spread.replicas:
        raise StoreError(
            f"{engine} has {nodes} data nodes; {spread.replicas} replicas need {spread.replicas + 1}. Use "
            "fewer replicas, or a larger cluster."
        )


def expect_copies(engine: str, api: ApiClient, index: str, spread: ShardSettings) -> None:
    """Raise unless the index has the requested shards and replicas, and each copy is active."""
    kept = api.indices.get_settings(index=index, flat_settings=True)[index]["settings"]
    shards, replicas = int(kept["index.number_of_shards"]), int(kept["index.number_of_replicas"])
    expect_spread(engine, (shards, replicas), spread)
    copies = shards * (1 + replicas)
    active = lambda: bool(api.cluster.health(index=index)["active_shards"] >= copies)  # noqa: E731
    wait_until(engine, f"all {copies} copies of its shards are active", active, TAKING_PART, pause=0.1)


def merge(engine: str, api: ApiClient, index: str, wanted: int, not_found: type[Exception]) -> None:
    """Merge as a task and poll it: one request of an hour would hide that the server is gone."""
    task = api.indices.forcemerge(index=index, max_num_segments=wanted, wait_for_completion=False)["task"]

    def is_merged() -> bool:
        try:
            state = api.tasks.get(task_id=task)
        except not_found:  # it ended, but the engine couldn't record the result; segments are counted next
            return True
        if state.get("error") or state.get("response", {}).get("_shards", {}).get("failed"):
            raise StoreError(f"{engine} did not merge: {refusal_reason(encode_json(state))}")
        return bool(state["completed"])

    wait_until(engine, "its segments are merged", is_merged, MERGE_SECONDS, pause=0.02)


def segments(api: ApiClient, index: str) -> int:
    """Largest number of searchable segments in any shard copy."""
    shards = api.indices.segments(index=index)["indices"][index]["shards"]
    copies = [copy["segments"].values() for shard in shards.values() for copy in shard]
    return max(sum(one["search"] for one in parts) for parts in copies)


TERM = 8000  # characters: a term of Lucene has at most 32,766 bytes; longer texts are kept, and no filter finds them
PART = 1000  # rows per request
WRITERS = 2  # parallel requests: the engine parses one while it links the other
KINDS = {
    "text": {"type": "keyword", "ignore_above": TERM},
    "integer": {"type": "long"},
    "number": {"type": "double"},
}


ANALYZERS = LANGUAGES.keys() - {"chinese", "japanese", "korean", "polish", "ukrainian"}
"""Languages with their own analyzer in both engines, included in every common distribution."""
SENT_WORDS = "whitespace"
"""Analyzer for words that we split and stem, on a node without that module."""
BAD_REQUEST = 400
CJK = ("chinese", "japanese", "korean")
SPARSE = "sparse"
"""The field of a row's sparse vector."""
TERMS = "terms"
"""Where the mapping keeps how many terms there are."""


class LuceneBuild(GraphBuild, ShardSettings):
    """Build settings of the graph: Lucene makes one per segment."""

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


class LuceneWords(Settings):
    """How texts are split into words, and BM25's parameters."""

    analyzer: Annotated[
        str | None,
        Field(description="one the engine has; usually the language's, `standard` where that is not known"),
    ] = None
    k1: Annotated[float, Field(ge=0)] = 1.2
    b: Annotated[float, Field(ge=0, le=1)] = 0.75


@dataclass(frozen=True, slots=True)
class LuceneClient:
    """An official client, its bulk helper, and its host and port."""

    api: ApiClient
    bulk: Callable[..., Iterator[tuple[bool, JsonObject]]]
    place: str


@reports_client_errors
class LuceneIndex(HoldsKind, PayloadSchemaMixin, ABC):
    """Texts and vectors are searchable and not stored a second time."""

    engine: ClassVar[str]
    client_errors: ClassVar[tuple[type[Exception], ...]]
    not_found: ClassVar[type[Exception]]
    sparse_type: ClassVar[str]
    """The engine's type of a field that holds sparse vectors."""
    weight_error: ClassVar[float] = 2.0**-8

    def __init__(
        self, client: LuceneClient, build: LuceneBuild, words: LuceneWords, language: str | None = None
    ) -> None:
        self._api, self._bulk, self.place = client.api, client.bulk, client.place
        self._build, self._words, self._language = build, words, language
        self._cutter: WordAnalyzer | None = None
        self._index, self._rows, self._metric, self._terms = "", 0, Metric.COSINE, 0

    @classmethod
    def guarantees(cls, params: Any, query: Any) -> tuple[Guarantee, ...]:  # noqa: ARG003 - all are of the index
        """When rows become searchable, and when they reach the disk."""
        return (
            guarantee("refresh", "build.refresh_interval", params.build),
            guarantee("durability", "build.durability", params.build),
        )

    @abstractmethod
    def _vector_type(self, dims: int, metric: Metric) -> JsonObject:
        """Mapping of the vector field."""

    @abstractmethod
    def _vector_dims(self, mapped: dict[str, object]) -> int:
        """Dimensions of a vector field, from its mapping."""

    @abstractmethod
    def reply_of(self, exc: Exception) -> Reply | None:
        """Status and body of a refusal."""

    def engine_version(self) -> str:
        """The engine's name and version, as the node that answers reports it."""
        nodes = self._api.nodes.info(node_id="_local", filter_path="nodes.*.version")["nodes"]
        return f"{self.engine} {next(iter(nodes.values()))['version']}"

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        expect_nodes(self.engine, self._api, self._build)
        self.drop(collection)
        self._index, self._rows, self._metric = _name(collection), 0, metric
        properties: JsonObject = {column: KINDS[field.kind] for column, field in self.columns().items()}
        properties["text"] = {"type": "text", "analyzer": self._choose_analyzer()}
        facts: JsonObject = {}
        if self.kind == "sparse":
            properties[SPARSE], facts, self._terms = {"type": self.sparse_type}, {TERMS: dims}, dims
        elif dims:
            properties["vector"] = self._vector_type(dims, metric)
        kept = {"excludes": ["vector", "text", SPARSE]}
        mappings = {"dynamic": "strict", "_meta": facts, "_source": kept, "properties": properties}
        index = {"settings": {"index": self._settings()}, "mappings": mappings}
        self._api.indices.create(index=self._index, body=index)

    def _choose_analyzer(self) -> str:
        """The requested analyzer, else the language's; a node without it receives stemmed words."""
        self._cutter, language = None, self._language
        if self._words.analyzer or language is None:
            return self._words.analyzer or "standard"
        own = "cjk" if language in CJK else language
        if language in (*CJK, *ANALYZERS) and self._has_analyzer(own):
            return own
        self._cutter = WordAnalyzer(language)
        return SENT_WORDS

    def _has_analyzer(self, name: str) -> bool:
        try:
            self._api.indices.analyze(body={"analyzer": name, "text": "a"})
        except self.client_errors as exc:
            if (self.reply_of(exc) or (0,))[0] == BAD_REQUEST:
                return False
            raise
        return True

    def _cut_words(self, text: str) -> str:
        """Prepare a text for the index."""
        return text if self._cutter is None else " ".join(self._cutter.terms(text))

    def collections(self) -> list[str]:
        return own_collections(
            self._api.indices.get_settings(index=f"{PREFIX}*", filter_path="*.settings.index.uuid")
        )

    def drop(self, collection: str) -> None:
        self._api.indices.delete(index=_name(collection), ignore_unavailable=True)

    def _settings(self) -> JsonObject:
        """Settings of the index; `ready` refreshes it whatever its interval is."""
        bm25 = {"type": "BM25", "k1": self._words.k1, "b": self._words.b}
        shards = {"number_of_shards": self._build.shards, "number_of_replicas": self._build.replicas}
        log = {"translog.durability": self._build.durability}
        return {**shards, **self._refreshing(), **log, "similarity": {"default": bm25}}

    def _refreshing(self) -> JsonObject:
        """The refresh interval if it differs from the default: once set, the engine no longer rests when idle."""
        chosen = self._build.refresh_interval
        own = LuceneBuild.model_fields["refresh_interval"].default
        return {} if chosen == own else {"refresh_interval": chosen}

    def insert(self, batch: Batch) -> None:
        self._write(self._documents(batch))
        self._rows += len(batch.ids)

    def replace(self, batch: Batch) -> None:
        self._write(self._documents(batch), refresh=True)

    def delete(self, ids: np.ndarray) -> None:
        self._write(({"_op_type": "delete", "_id": str(number)} for number in ids.tolist()), refresh=True)

    def _documents(self, batch: Batch) -> Iterator[JsonObject]:
        """Yield one document per row for the bulk helper."""
        vectors = None if batch.vectors is None else np.ascontiguousarray(batch.vectors, np.float32)
        columns = self.columns().items()
        weights = list(require_positive_weights(self.engine, batch)) if self.kind == "sparse" else None
        for i, number in enumerate(batch.ids.tolist()):
            row: JsonObject = {"_id": str(number)}
            if weights is not None:
                row[SPARSE] = dict(
                    zip(map(str, weights[i].terms.tolist()), weights[i].weights.tolist(), strict=True)
                )
            if vectors is not None:
                row["vector"] = vectors[i]
            if batch.texts is not None:
                row["text"] = self._cut_words(batch.texts[i])
            if batch.payloads is not None:
                row.update({column: batch.payloads[i][field.name] for column, field in columns})
            yield row

    def _write(self, actions: Iterator[JsonObject], *, refresh: bool = False) -> None:
        how = {"index": self._index, "refresh": refresh, "raise_on_error": False}
        size = {"thread_count": WRITERS, "chunk_size": PART, "max_chunk_bytes": BODY_BYTES}
        for done, item in self._bulk(self._api, actions, **how, **size):
            error = None if done else next(iter(item.values())).get("error")
            if error:
                why = error.get("caused_by", {}).get("reason", "")
                raise StoreError(f"{self.engine} refused a row: {error['reason']} {why}".rstrip())

    def ready(self) -> None:
        """Merge into the requested segments, refresh, and check that every copy holds every row."""
        wanted = self._build.segments
        if wanted:
            merge(self.engine, self._api, self._index, wanted, self.not_found)
        self._api.indices.refresh(index=self._index)
        expect_rows(self.engine, self._count(), self._rows)
        expect_copies(self.engine, self._api, self._index, self._build)
        there = segments(self._api, self._index)
        if wanted and there > wanted:
            raise StoreError(f"{self.engine} has {there} segments in a shard after merging into {wanted}.")

    def _count(self) -> int:
        return int(self._api.count(index=self._index)["count"])

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._index, self._metric = _name(collection), metric
        mappings = self._api.indices.get_mapping(index=self._index)[self._index]["mappings"]
        mapped, self._terms = mappings["properties"], mappings.get("_meta", {}).get(TERMS, 0)
        expect_dims(
            self.engine, self._vector_dims(mapped["vector"]) if "vector" in mapped else self._terms, dims
        )
        sent = self._words.analyzer is None and mapped["text"].get("analyzer") == SENT_WORDS
        self._cutter = WordAnalyzer(self._language) if sent else None
        expect_copies(self.engine, self._api, self._index, self._build)
        self._rows = self._count()
        return self._rows

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        asked = {"ids": [str(number) for number in ids.tolist()]}
        kept = {
            int(one["_id"]): payload_of(self.fields, tuple(one["_source"][name] for name in self.columns()))
            for one in self._api.mget(index=self._index, body=asked)["docs"]
            if one["found"]
        }
        return in_order(ids, kept)

    def close(self) -> None:
        self._api.close()


def _name(collection: str) -> str:
    return f"{PREFIX}{collection}".lower()
