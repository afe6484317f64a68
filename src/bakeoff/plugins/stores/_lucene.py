"""Searches of Elasticsearch and OpenSearch: by vector, by words, by both, with filters, and in batches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import Annotated

import numpy as np
from pydantic import Field

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import GraphQuery, TunedByEf, make_hits
from bakeoff.plugins.kit.client_errors import reports_client_errors
from bakeoff.plugins.kit.encoded import positive, require_terms
from bakeoff.plugins.kit.existing import (
    READ_ROWS,
    Kind,
    named_hits,
    named_vectors,
    no_such_collection,
    no_such_field,
    the_vector_field,
)
from bakeoff.plugins.kit.payload import Term, terms
from bakeoff.plugins.kit.rest import bodies
from bakeoff.plugins.stores._lucene_index import LuceneIndex
from bakeoff.types import (
    CollectionFacts,
    ExistingCollection,
    Hits,
    Json,
    JsonObject,
    Metric,
    NamedHits,
    NamedVectors,
    PayloadField,
    SparseVector,
    Where,
)

FOUND = "hits.hits._id,hits.hits._score"
EACH = "responses.hits.hits._id,responses.hits.hits._score,responses.status,responses.error"
FIELD_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("keyword", "constant_keyword", "wildcard", "ip", "version"), "text"),
    **dict.fromkeys(("long", "integer", "short", "byte", "unsigned_long"), "integer"),
    **dict.fromkeys(("double", "float", "half_float", "scaled_float"), "number"),
    **dict.fromkeys(("date", "date_nanos"), "date"),
    "boolean": "boolean",
}
"""Mapping types that filters compare; analysed text is compared by its keyword field, if it has one."""
SCROLL = "2m"
Clauses = tuple[dict[str, object], ...]
"""A filter clause in the engine's language."""


class LuceneQuery(GraphQuery):
    """Search settings."""

    vector_weight: Annotated[
        float, Field(gt=0, description="hybrid: the weight of the vector's score against the words' score")
    ] = 1.0


@reports_client_errors
class LuceneStore(TunedByEf, LuceneIndex):
    """Searches; a subclass formulates the vector query."""

    Query = LuceneQuery
    _vector_field = "vector"
    _existing = ExistingCollection("")

    @abstractmethod
    def _near(
        self, vector: np.ndarray, k: int, query: LuceneQuery, clauses: Clauses = ()
    ) -> dict[str, object]:
        """The query for the nearest rows among those that satisfy every clause."""

    @abstractmethod
    def _both(self, near: dict[str, object], match: dict[str, object], weight: float) -> dict[str, object]:
        """The query for the best sum of both scores."""

    @abstractmethod
    def _weigh_term(self, term: str, weight: float) -> JsonObject:
        """The clause that scores a row by its weight of a term, times a weight."""

    @abstractmethod
    def _vector_metric(self, mapped: JsonObject) -> Metric | None:
        """Metric of a vector field, from its mapping."""

    def open_existing(self, collection: ExistingCollection, metric: Metric) -> CollectionFacts:
        """Open an existing index, or an alias of one."""
        name = collection.name
        if not self._api.indices.exists(index=name):
            raise no_such_collection(self.engine, name, self._api.indices.get_alias(index="*"))
        mapping = next(iter(self._api.indices.get_mapping(index=name).values()))
        fields = dict(_mapped_fields(mapping["mappings"].get("properties", {})))
        vectors = [field for field, one in fields.items() if one["type"] in ("dense_vector", "knn_vector")]
        self._vector_field = the_vector_field(self.engine, collection.vector_field, vectors)
        if collection.id_field and collection.id_field not in fields:
            raise no_such_field(self.engine, collection.id_field, fields, "payload field of ids")
        mapped = fields[self._vector_field]
        held = self._vector_metric(mapped)
        self._index, self._existing, self._metric = name, collection, held or metric
        self.adopt(_filter_columns(fields))
        return CollectionFacts(self._api.count(index=name)["count"], self._vector_dims(mapped), held)

    def search_existing(self, vector: np.ndarray, k: int, query: LuceneQuery, where: Where = ()) -> NamedHits:
        asked = self._near(vector, k, query, self._clauses(where))
        body = {**asked, "size": k, "_source": False, "fields": self._id_fields()}
        answer = self._api.search(index=self._index, body=body, filter_path=f"{FOUND},hits.hits.fields")
        rows = answer.get("hits", {}).get("hits", [])
        hits = self._nearest((list(range(len(rows))), [row["_score"] for row in rows]))
        return named_hits(map(self._id_of, rows), hits.scores.tolist())

    def read_existing(self, where: Where = (), after: object = None) -> NamedVectors:
        answer = self._api.scroll(scroll_id=after, scroll=SCROLL) if after else self._scroll(where)
        rows, after = answer["hits"]["hits"], answer["_scroll_id"]
        if len(rows) < READ_ROWS:
            self._api.clear_scroll(scroll_id=after)
            after = None
        return named_vectors(map(self._id_of, rows), map(self._vector_of, rows), after)

    def _scroll(self, where: Where) -> Json:
        kept = {"bool": {"filter": [*self._clauses(where), {"exists": {"field": self._vector_field}}]}}
        fields = [*self._id_fields(), self._vector_field]
        body = {"query": kept, "size": READ_ROWS, "sort": ["_doc"], "_source": False, "fields": fields}
        return self._api.search(index=self._index, body=body, scroll=SCROLL)

    def _id_fields(self) -> list[str]:
        return [self._existing.id_field] if self._existing.id_field else []

    def _id_of(self, row: Json) -> str:
        field = self._existing.id_field
        if field and field not in row.get("fields", {}):
            raise StoreError(f"{self.engine}: row {row['_id']} has no {field!r}, which `id` names.")
        return str(row["fields"][field][0] if field else row["_id"])

    def _vector_of(self, row: Json) -> list[float]:
        found: list[float] | None = row.get("fields", {}).get(self._vector_field)
        if found is None:
            raise StoreError(
                f"{self.engine} does not return {self._vector_field!r}: the index keeps no source of it."
            )
        return found

    def search(self, vector: np.ndarray, k: int, query: LuceneQuery) -> Hits:
        return self._nearest(self._ask(self._near(vector, k, query), k))

    def search_where(self, vector: np.ndarray, k: int, query: LuceneQuery, where: Where) -> Hits:
        return self._nearest(self._ask(self._near(vector, k, query, self._clauses(where)), k))

    def search_many(self, vectors: np.ndarray, k: int, query: LuceneQuery) -> list[Hits]:
        head: JsonObject = {}
        asked = ((head, _with_size(self._near(vector, k, query), k)) for vector in vectors)
        ask = partial(self._api.msearch, index=self._index, filter_path=EACH)
        answers = [one for body in bodies(asked) for one in ask(body=body)["responses"]]
        wrong = next((one["error"]["reason"] for one in answers if "error" in one), None)
        if wrong:
            raise StoreError(f"{self.engine}, search_many: {wrong}")
        return [self._nearest(_read_hits(one)) for one in answers]

    def search_text(self, text: str, k: int, query: LuceneQuery) -> Hits:
        return self._best({"query": _match(self._cut_words(text))}, k)

    def search_text_where(self, text: str, k: int, query: LuceneQuery, where: Where) -> Hits:
        filtered = {"must": _match(self._cut_words(text)), "filter": self._clauses(where)}
        return self._best({"query": {"bool": filtered}}, k)

    def search_sparse(self, vector: SparseVector, k: int, query: LuceneQuery, where: Where = ()) -> Hits:
        require_terms(self.engine, self._terms, vector)
        asked = positive(self.engine, vector)
        if not len(asked.terms):
            return make_hits([], [])  # without a clause, every row would match
        pairs = zip(asked.terms.tolist(), asked.weights.tolist(), strict=True)
        any_of = {
            "should": [self._weigh_term(str(term), weight) for term, weight in pairs],
            "minimum_should_match": 1,
        }
        return self._best({"query": {"bool": {**any_of, "filter": self._clauses(where)}}}, k)

    def search_hybrid(self, text: str, vector: np.ndarray, k: int, query: LuceneQuery) -> Hits:
        both = self._both(self._near(vector, k, query), _match(self._cut_words(text)), query.vector_weight)
        return self._best(both, k)

    def _clauses(self, where: Where) -> Clauses:
        names = self.column_of()
        return tuple(_clause(term, names[term.field]) for term in terms(self.fields, where))

    def _ask(self, body: JsonObject, k: int, **option: str) -> tuple[list[int], list[float]]:
        answer = self._api.search(index=self._index, body=_with_size(body, k), filter_path=FOUND, **option)
        return _read_hits(answer)

    def _best(self, body: dict[str, object], k: int) -> Hits:
        """Search by words with document frequencies over all shards; with `knn`, the engine does so by default."""
        over_all = self._build.shards > 1 and "knn" not in body
        option = {"search_type": "dfs_query_then_fetch"} if over_all else {}
        return make_hits(*self._ask(body, k, **option))

    def _nearest(self, found: tuple[list[int], list[float]]) -> Hits:
        """Convert Lucene's positive scores back to the metric."""
        raw = np.asarray(found[1], np.float64)
        if self._metric is Metric.COSINE:
            return make_hits(found[0], 2 * raw - 1)
        below = 1 - 1 / np.maximum(raw, np.finfo(np.float32).tiny)
        return make_hits(found[0], below if self._metric is Metric.L2 else np.where(raw < 1, below, raw - 1))


def _mapped_fields(properties: JsonObject, before: str = "") -> Iterator[tuple[str, JsonObject]]:
    """Fields of a mapping, nested ones by path."""
    for name, one in properties.items():
        if "type" in one:
            yield before + name, one
        yield from _mapped_fields(one.get("properties", {}), f"{before}{name}.")


def _filter_columns(fields: JsonObject) -> dict[str, PayloadField]:
    """Fields that filters can name, by their name in a clause."""
    found: dict[str, PayloadField] = {}
    for name, one in fields.items():
        exact = next((inner for inner, it in one.get("fields", {}).items() if it["type"] == "keyword"), None)
        kind = "text" if exact else FIELD_KINDS.get(one["type"])
        if kind:
            found[f"{name}.{exact}" if exact else name] = PayloadField(name, kind)
    return found


def _clause(term: Term, column: str) -> dict[str, object]:
    if term.sign == "in":
        return {"terms": {column: term.values}}
    how = {"format": "strict_date_optional_time"} if term.kind == "date" else {}
    return {"range": {column: {"gte" if term.sign == ">=" else "lte": term.values[0], **how}}}


def _match(text: str) -> dict[str, object]:
    return {"match": {"text": {"query": text}}}


def _with_size(body: dict[str, object], k: int) -> dict[str, object]:
    return {**body, "size": k, "_source": False, "track_total_hits": False}


def _read_hits(answer: Json) -> tuple[list[int], list[float]]:
    """Ids and scores of an answer; empty parts of a filtered one are missing."""
    rows = answer.get("hits", {}).get("hits", [])
    return [int(row["_id"]) for row in rows], [row["_score"] for row in rows]
