"""How Elasticsearch and OpenSearch are asked: by vector, by words, by both, among some rows, many at once."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import GraphQuery, TunedByEf, make_hits
from bakeoff.plugins.kit.client_errors import reports_client_errors
from bakeoff.plugins.kit.payload import Term, terms
from bakeoff.plugins.kit.rest import bodies
from bakeoff.plugins.stores._lucene_index import LuceneIndex
from bakeoff.types import Hits, Metric, Where

FOUND = "hits.hits._id,hits.hits._score"
EACH = "responses.hits.hits._id,responses.hits.hits._score,responses.status,responses.error"
Clauses = tuple[dict[str, Any], ...]
"""What a row must satisfy, in the engine's terms."""


class LuceneQuery(GraphQuery):
    """What shapes a search."""

    vector_weight: Annotated[
        float, Field(gt=0, description="hybrid: what the vector's score counts beside the words' score")
    ] = 1.0


@reports_client_errors
class LuceneStore(TunedByEf, LuceneIndex):
    """Searches; an engine says how it takes a vector."""

    Query = LuceneQuery

    @abstractmethod
    def _near(self, vector: np.ndarray, k: int, query: LuceneQuery, clauses: Clauses = ()) -> dict[str, Any]:
        """What asks for the nearest among the rows for which every clause holds."""

    @abstractmethod
    def _both(self, near: dict[str, Any], match: dict[str, Any], weight: float) -> dict[str, Any]:
        """What asks for the best by the sum of both scores."""

    def search(self, vector: np.ndarray, k: int, query: LuceneQuery) -> Hits:
        return self._nearest(self._ask(self._near(vector, k, query), k))

    def search_where(self, vector: np.ndarray, k: int, query: LuceneQuery, where: Where) -> Hits:
        return self._nearest(self._ask(self._near(vector, k, query, self._clauses(where)), k))

    def search_many(self, vectors: np.ndarray, k: int, query: LuceneQuery) -> list[Hits]:
        head: dict[str, Any] = {}
        asked = ((head, _with_size(self._near(vector, k, query), k)) for vector in vectors)
        ask = partial(self._api.msearch, index=self._index, filter_path=EACH)
        answers = [one for body in bodies(asked) for one in ask(body=body)["responses"]]
        wrong = next((one["error"]["reason"] for one in answers if "error" in one), None)
        if wrong:
            raise StoreError(f"{self.engine}, search_many: {wrong}")
        return [self._nearest(_read_hits(one)) for one in answers]

    def search_text(self, text: str, k: int, query: LuceneQuery) -> Hits:
        return self._best({"query": _match(text)}, k)

    def search_text_where(self, text: str, k: int, query: LuceneQuery, where: Where) -> Hits:
        filtered = {"must": _match(text), "filter": self._clauses(where)}
        return self._best({"query": {"bool": filtered}}, k)

    def search_hybrid(self, text: str, vector: np.ndarray, k: int, query: LuceneQuery) -> Hits:
        both = self._both(self._near(vector, k, query), _match(text), query.vector_weight)
        return self._best(both, k)

    def _clauses(self, where: Where) -> Clauses:
        names = self.column_of()
        return tuple(_clause(term, names[term.field]) for term in terms(self.fields, where))

    def _ask(self, body: dict[str, Any], k: int, **option: str) -> tuple[list[int], list[float]]:
        answer = self._api.search(index=self._index, body=_with_size(body, k), filter_path=FOUND, **option)
        return _read_hits(answer)

    def _best(self, body: dict[str, Any], k: int) -> Hits:
        """By words, whose rareness is counted over all shards; beside `knn` the engine does so by itself."""
        over_all = self._build.shards > 1 and "knn" not in body
        option = {"search_type": "dfs_query_then_fetch"} if over_all else {}
        return make_hits(*self._ask(body, k, **option))

    def _nearest(self, found: tuple[list[int], list[float]]) -> Hits:
        """Lucene's scores, which are positive, back in the metric's own terms."""
        raw = np.asarray(found[1], np.float64)
        if self._metric is Metric.COSINE:
            return make_hits(found[0], 2 * raw - 1)
        below = 1 - 1 / np.maximum(raw, np.finfo(np.float32).tiny)
        return make_hits(found[0], below if self._metric is Metric.L2 else np.where(raw < 1, below, raw - 1))


def _clause(term: Term, column: str) -> dict[str, Any]:
    if term.sign == "in":
        return {"terms": {column: term.values}}
    return {"range": {column: {"gte" if term.sign == ">=" else "lte": term.values[0]}}}


def _match(text: str) -> dict[str, Any]:
    return {"match": {"text": {"query": text}}}


def _with_size(body: dict[str, Any], k: int) -> dict[str, Any]:
    return {**body, "size": k, "_source": False, "track_total_hits": False}


def _read_hits(answer: Any) -> tuple[list[int], list[float]]:
    """Ids and scores of an answer; what is empty is left out of a filtered one."""
    rows = answer.get("hits", {}).get("hits", [])
    return [int(row["_id"]) for row in rows], [row["_score"] for row in rows]
