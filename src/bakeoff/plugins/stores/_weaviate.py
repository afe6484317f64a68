"""A Weaviate collection: created, filled in batches, awaited until indexed, changed, and searched."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial, reduce
from operator import and_
from typing import Annotated, Literal
from uuid import UUID

import numpy as np
from pydantic import Field
from weaviate import WeaviateClient
from weaviate.classes.config import ConsistencyLevel, Reconfigure
from weaviate.classes.data import DataObject
from weaviate.classes.query import Filter, HybridFusion, MetadataQuery
from weaviate.collections import Collection
from weaviate.collections.classes.config import PropertyConfig
from weaviate.collections.classes.internal import QueryReturn
from weaviate.collections.query import _QueryCollection as QueryCollection

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import GraphBuild, GraphQuery, expect_dims
from bakeoff.plugins.kit.encoded import require_tokens
from bakeoff.plugins.kit.existing import Kind
from bakeoff.plugins.kit.payload import PayloadSchemaMixin, Term, terms
from bakeoff.plugins.kit.rest import wait_until
from bakeoff.plugins.kit.server import Address, ShardSettings, expect_spread
from bakeoff.plugins.kit.words import LanguageParams, WordAnalyzer
from bakeoff.types import Batch, JsonObject, Metric, PayloadField, Storage, VectorKind, Where

Quantizer = Reconfigure.VectorIndex.Quantizer
DISTANCES = {Metric.COSINE: "cosine", Metric.DOT: "dot", Metric.L2: "l2-squared"}
TEXT = {"dataType": ["text"], "tokenization": "field", "indexSearchable": False}
KINDS: dict[str, dict[str, object]] = {
    "text": TEXT,
    "integer": {"dataType": ["int"]},
    "number": {"dataType": ["number"]},
}
FILTERED: dict[str, Kind] = {
    "text": "text",
    "uuid": "text",
    "int": "integer",
    "number": "number",
    "date": "date",
    "boolean": "boolean",
}
BITS: dict[Storage, int] = {"int8": 8, "binary": 1}
"""Bits per number in the graph: rotational quantisation, which also keeps the full vectors."""
TOKENS = "tokens"
"""Name of the token vectors: only named vectors can be several."""
WORDS = {"name": "text", "dataType": ["text"], "indexFilterable": False}


class Build(GraphBuild, ShardSettings):
    """Build settings of each shard's graph; word statistics are per shard."""


@dataclass(frozen=True, slots=True)
class WeaviateForm:
    """Kind of a collection's vectors, and the number format of its graph."""

    kind: VectorKind = "dense"
    storage: Storage = "float32"

    @property
    def name(self) -> str | None:
        """Name of the vectors, if they have one."""
        return TOKENS if self.kind == "tokens" else None

    def graph_config(self) -> JsonObject:
        """Graph settings of this form; `rescoreLimit` 0 scores by the quantised vectors alone."""
        if self.kind == "tokens":
            return {"multivector": {"enabled": True}, "skipDefaultQuantization": True}
        if self.storage == "float32":
            return {"skipDefaultQuantization": True}
        return {"rq": {"enabled": True, "bits": BITS[self.storage], "rescoreLimit": 0}}

    def vector_config(self, graph: JsonObject) -> JsonObject:
        """Vector settings of the collection."""
        index = {"vectorIndexType": "hnsw", "vectorIndexConfig": graph}
        if self.name is None:
            return {"vectorizer": "none", **index}
        return {"vectorConfig": {self.name: {"vectorizer": {"none": {}}, **index}}}

    def values(self, batch: Batch) -> list[object]:
        """A batch's vectors in the client's form; None for a row without tokens."""
        if self.kind == "tokens":
            rows = require_tokens("Weaviate", batch)
            return [{TOKENS: matrix.tolist()} if len(matrix) else None for matrix in rows]
        return [None] * len(batch.ids) if batch.vectors is None else batch.vectors.tolist()

    def rows_a_request(self, batch: Batch) -> int:
        """Rows per request: each vector of a row is linked before the answer comes."""
        if batch.tokens is not None and len(batch.tokens):
            each, dims = max(1, int(np.diff(batch.tokens.starts).max())), batch.tokens.shape[1]
        else:
            each, dims = 1, 1 if batch.vectors is None else batch.vectors.shape[1]
        return max(1, min(PART // each, PART_BYTES // (4 * dims * each)))

    def dims(self, vectors: JsonObject) -> int:
        """The length of an object's vector, or of its first token's."""
        held = vectors.get(self.name or "default", ())
        return len(held[0] if self.name and len(held) else held)


class WeaviateParams(LanguageParams):
    """Where Weaviate is and how its index is built; a key comes from BAKEOFF_WEAVIATE_KEY."""

    url: Address = None
    build: Build = Build()
    write_consistency: Annotated[
        Literal["ONE", "QUORUM", "ALL"], Field(description="replicas that must confirm a write")
    ] = "QUORUM"
    k1: Annotated[float, Field(ge=0)] = 1.2
    b: Annotated[float, Field(ge=0, le=1)] = 0.75
    tokenization: Annotated[
        Literal["word", "lowercase", "whitespace", "trigram", "gse", "gse_ch", "kagome_ja", "kagome_kr"]
        | None,
        Field(
            description="the engine's tokenization; default: texts are sent as stemmed words of the language, "
            "or `word` if it is unknown. gse and kagome must be enabled in the server"
        ),
    ] = None

    @property
    def sends_words(self) -> bool:
        """Whether texts are sent as words of a language: the engine has no stemmer and few stop words."""
        return self.tokenization is None and self.language is not None

    def collection_config(
        self, name: str, metric: Metric, columns: dict[str, PayloadField], form: WeaviateForm
    ) -> dict[str, object]:
        """Settings of a collection whose vectors come from us."""
        build, shape = self.build, {"distance": DISTANCES[metric], "maxConnections": self.build.m}
        payload = [{"name": column, **KINDS[field.kind]} for column, field in columns.items()]
        cut = "whitespace" if self.sends_words else self.tokenization or "word"
        words: dict[str, object] = {"stopwords": {"preset": "none"}} if self.sends_words else {}
        graph = {**shape, "efConstruction": build.ef_construction, **form.graph_config()}
        return {
            "class": name,
            **form.vector_config(graph),
            "invertedIndexConfig": {"bm25": {"k1": self.k1, "b": self.b}, **words},
            "shardingConfig": {"desiredCount": build.shards},
            "replicationConfig": {"factor": build.replicas + 1},
            "properties": [WORDS | {"tokenization": cut}, *payload],
        }


class WeaviateQuery(GraphQuery):
    """Search settings; the engine stores `ef` with the collection, so a new value is written there first."""

    alpha: Annotated[float, Field(ge=0, le=1, description="hybrid: weight of the vector score")] = 0.5
    fusion: Literal["relativeScoreFusion", "rankedFusion"] = "relativeScoreFusion"
    consistency_level: Annotated[
        Literal["ONE", "QUORUM", "ALL"], Field(description="replicas that must answer a search")
    ] = "ONE"


PREFIX = "Bakeoff_"  # a class of this engine starts with a capital
PART = 500  # vectors per request
PART_BYTES = 2**25  # bytes of vectors per request: the engine accepts 100 MB
LINES = 2  # parallel requests: the engine reads one while it links the other
DEADLINE_S = 3600
NOBODY = UUID(int=2**127)
"""No row has it. To delete it makes the engine write the end of the graph's log, which it else keeps in memory: after
kill -9 version 1.35.2 counted every row and no longer found the last few."""
DISTANCE, SCORE = MetadataQuery(distance=True), MetadataQuery(score=True)
FUSIONS = {"relativeScoreFusion": HybridFusion.RELATIVE_SCORE, "rankedFusion": HybridFusion.RANKED}
SEARCHED = ["text"]
Found = tuple[list[int], list[float]]
"""The integers in the UUIDs of rows, and their distances or scores."""


class WeaviateRows:
    """Rows of one collection; each has a UUID that contains its integer id."""

    def __init__(
        self, client: WeaviateClient, collection: str, params: WeaviateParams, form: WeaviateForm
    ) -> None:
        self._client, self.name, self._form = client, f"{PREFIX}{collection}", form
        self.collection = client.collections.use(self.name)
        self._writer = self.collection.with_consistency_level(ConsistencyLevel[params.write_consistency])
        self._words = WordAnalyzer(params.language) if params.sends_words else None
        self._tuning, self._tuned = threading.Lock(), (0, 0)
        self._at = cache(partial(_queries, self.collection, params.build.replicas))

    def create(self, params: WeaviateParams, metric: Metric, columns: dict[str, PayloadField]) -> None:
        """Create the collection, replacing an old one."""
        self._client.collections.delete(self.name)
        self._client.collections.create_from_dict(
            params.collection_config(self.name, metric, columns, self._form)
        )

    def write_rows(self, batch: Batch, columns: dict[str, PayloadField]) -> None:
        """Write rows, replacing those with the same ids."""
        size = self._form.rows_a_request(batch)
        parts = [slice(begin, begin + size) for begin in range(0, len(batch.ids), size)]
        with ThreadPoolExecutor(LINES) as lines:
            list(lines.map(lambda part: self._insert(batch, part, columns), parts))

    def _insert(self, batch: Batch, part: slice, columns: dict[str, PayloadField]) -> None:
        ids = batch.ids[part].tolist()
        own = {
            name: held[part] for name in ("vectors", "tokens") if (held := getattr(batch, name)) is not None
        }
        vectors = self._form.values(Batch(batch.ids[part], **own))
        texts = None if batch.texts is None else batch.texts[part]
        payloads = None if batch.payloads is None else batch.payloads[part]
        objects = []
        for i, number in enumerate(ids):
            kept: JsonObject = {} if texts is None else {"text": self._cut_words(texts[i])}
            if payloads is not None:
                kept |= {name: payloads[i][field.name] for name, field in columns.items()}
            objects.append(DataObject(kept, identity(number), vectors[i]))
        answer = self._writer.data.insert_many(objects)
        if answer.has_errors:
            raise StoreError(f"Weaviate refused a row: {next(iter(answer.errors.values())).message}")

    def settle(self) -> None:
        """Return when every shard's vector queue is empty and the graph is on disk."""
        wait_until(
            "Weaviate", "every row is in the graph", lambda: not self._waiting(), DEADLINE_S, pause=0.05
        )
        self._remove([NOBODY])

    def _waiting(self) -> int:
        """Rows not yet in the graph; a shard still indexing counts as one."""
        nodes = self._client.cluster.nodes(self.name, output="verbose")
        shards = [shard for node in nodes for shard in node.shards or []]
        return sum(shard.vector_queue_length + (shard.vector_indexing_status != "READY") for shard in shards)

    def check(self, dims: int, spread: ShardSettings) -> None:
        """Raise StoreError if the collection is missing, or has another vector length or spread."""
        kept = self.collection.config.get()
        held = kept.sharding_config.actual_count, kept.replication_config.factor - 1
        expect_spread("Weaviate", held, spread)
        first = self.collection.query.fetch_objects(limit=1, include_vector=True).objects
        if first:
            expect_dims("Weaviate", self._form.dims(first[0].vector), dims)

    def tune(self, ef: int, candidates: int = 0) -> None:
        """Write `ef` and the number of candidates to rescore, if they differ from the last values.

        The client's newer `vector_config` is for named vectors, which collections of earlier runs lack.
        """
        with self._tuning:
            if (ef, candidates) == self._tuned:
                return
            small = self._form.storage != "float32"
            how = {"quantizer": Quantizer.rq(rescore_limit=candidates)} if small else {}
            graph = Reconfigure.VectorIndex.hnsw(ef=max(ef, candidates), **how)
            named = Reconfigure.Vectors.update(name=self._form.name, vector_index_config=graph)
            changed = {"vector_config": named} if self._form.name else {"vector_index_config": graph}
            self.collection.config.update(**changed)
            self._tuned = (ef, candidates)

    def count(self) -> int:
        """Number of rows."""
        return self.collection.aggregate.over_all(total_count=True).total_count or 0

    def read_rows(self, ids: np.ndarray) -> dict[int, JsonObject]:
        """Properties of rows, by id; unknown ids are left out."""
        asked = [identity(number) for number in ids.tolist()]
        found = self.collection.query.fetch_objects_by_ids(asked, limit=len(asked)).objects
        return {one.uuid.int: one.properties for one in found}

    def near(self, vector: np.ndarray, k: int, among: object, level: str) -> Found:
        """Rows nearest to a vector, or to token vectors, with their distances."""
        how = {"limit": k, "filters": among, "return_metadata": DISTANCE, "return_properties": False}
        how["target_vector"] = self._form.name
        found = self._at(level).near_vector(vector.tolist(), **how).objects
        return [one.uuid.int for one in found], [one.metadata.distance for one in found]

    def with_words(self, text: str, k: int, among: object, level: str) -> Found:
        """Rows best matching some words, with their scores."""
        how = {"limit": k, "filters": among, "query_properties": SEARCHED}
        return _search_scores(self._at(level).bm25, self._cut_words(text), how)

    def with_both(self, text: str, vector: np.ndarray, k: int, query: WeaviateQuery) -> Found:
        """Rows best by words and vector, with their scores."""
        how = {"alpha": query.alpha, "fusion_type": FUSIONS[query.fusion], "query_properties": SEARCHED}
        ask = self._at(query.consistency_level).hybrid
        return _search_scores(ask, self._cut_words(text), {"limit": k, "vector": vector.tolist(), **how})

    def _cut_words(self, text: str) -> str:
        """Prepare a text for the engine."""
        return text if self._words is None else " ".join(self._words.terms(text))

    def delete(self, ids: np.ndarray) -> None:
        """Remove rows."""
        self._remove([identity(number) for number in ids.tolist()])

    def _remove(self, gone: list[UUID]) -> None:
        answer = self._writer.data.delete_many(Filter.by_id().contains_any(gone))
        if answer.failed:
            raise StoreError(f"Weaviate did not delete {answer.failed} of {len(gone)} rows.")


def identity(number: int) -> UUID:
    """A UUID that contains an integer; negative ones have none."""
    if number < 0:
        raise StoreError(f"Weaviate knows a row by a UUID, which cannot hold the id {number}.")
    return UUID(int=number)


def _queries(collection: Collection, replicas: int, level: str) -> QueryCollection:
    """Queries of a collection at a consistency level, which a collection of one copy does not accept."""
    return (collection.with_consistency_level(ConsistencyLevel[level]) if replicas else collection).query


def _search_scores(ask: Callable[..., QueryReturn], text: str, how: JsonObject) -> Found:
    found = ask(text, return_metadata=SCORE, return_properties=False, **how).objects
    return [one.uuid.int for one in found], [one.metadata.score for one in found]


def adopted_fields(properties: Iterable[PropertyConfig]) -> dict[str, PayloadField]:
    """Properties of an existing collection that filters can compare; arrays by their values."""
    found = {}
    for one in properties:
        kind = FILTERED.get(one.data_type.value.removesuffix("[]"))
        if kind and one.index_filterable is not False:
            found[one.name] = PayloadField(one.name, kind)
    return found


def filter_of(store: PayloadSchemaMixin, where: Where) -> object:
    """A filter that combines all conditions, or None if there are none."""
    names = store.column_of()
    conditions = [_condition(term, names[term.field]) for term in terms(store.fields, where)]
    return reduce(and_, conditions) if conditions else None


def _condition(term: Term, column: str) -> object:
    of = Filter.by_property(column)
    if term.sign == "in":
        return of.contains_any(list(term.values))
    return of.greater_or_equal(term.values[0]) if term.sign == ">=" else of.less_or_equal(term.values[0])
