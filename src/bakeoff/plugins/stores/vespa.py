"""Vespa by URL: written after its published interface, not run here."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from bakeoff.environment import setting
from bakeoff.errors import StoreError
from bakeoff.plugins.stores._base import GraphBuild, GraphQuery, Settings, expect_rows, hits
from bakeoff.plugins.stores._payload import Declared, Payload, Term, payload_of, terms
from bakeoff.plugins.stores._rest import Rest, packed, words
from bakeoff.plugins.stores._server import Address, address
from bakeoff.plugins.stores._vespa_package import package, schema
from bakeoff.types import Batch, Hits, Metric, Where

LINES = 16  # documents under way at once: the interface takes one a request
DEADLINE_S = 300
DEPLOY = "/application/v2/tenant/default/prepareandactivate"


class VespaParams(Settings):
    """Where Vespa is and how its index is built; a token comes from BAKEOFF_VESPA_KEY."""

    url: Address = None
    config_url: Annotated[str, Field(description="its config server")] = "http://127.0.0.1:19071"
    build: GraphBuild = GraphBuild()


class VespaStore(Declared):
    """An application of its own on one node: a new collection takes the place of the one before; not run here."""

    version: ClassVar[str] = "1"
    Params = VespaParams
    Query = GraphQuery
    gaps: ClassVar[dict[str, str]] = {
        "hybrid": "its rank expressions could; not offered while there is no engine to try it on",
        "batch": "one vector a request",
        "dims limit": "the engine names no limit",
    }

    def __init__(self, params: VespaParams, home: Path) -> None:
        key = setting("BAKEOFF_VESPA_KEY")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._rest = Rest("Vespa", address("vespa", "BAKEOFF_VESPA_URL", params.url), headers)
        zipped = {**headers, "Content-Type": "application/zip"}
        self._params, self._config = params, Rest("Vespa", params.config_url, zipped)
        self._name, self._rows = "", 0

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._name, self._rows, build = f"c_{collection}", 0, self._params.build
        shape = {"m": build.m, "ef": build.ef_construction, "columns": self.columns()}
        made = schema(self._name, dims, metric, **shape)  # type: ignore[arg-type]
        self._config("POST", DEPLOY, package(self._name, made), seconds=DEADLINE_S)
        self._served()
        self._rest("DELETE", f"{self._path()}?selection=true&cluster=rows", seconds=DEADLINE_S)

    def _served(self) -> None:
        """Return when the container answers for the new collection."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            try:
                self._count()
                return
            except StoreError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.5)

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._name = f"c_{collection}"
        self._rows = self._count()
        return self._rows

    def insert(self, batch: Batch) -> None:
        self.replace(batch)
        self._rows += len(batch.ids)

    def replace(self, batch: Batch) -> None:
        with ThreadPoolExecutor(LINES) as lines:
            list(lines.map(lambda i: self._put(batch, i), range(len(batch.ids))))

    def _put(self, batch: Batch, i: int) -> None:
        number = int(batch.ids[i])
        fields: dict[str, Any] = {"number": number}
        if batch.vectors is not None:
            fields["vector"] = {"values": np.ascontiguousarray(batch.vectors[i], np.float32)}
        if batch.texts is not None:
            fields["text"] = batch.texts[i]
        if batch.payloads is not None:
            fields |= {column: batch.payloads[i][field.name] for column, field in self.columns().items()}
        self._rest("POST", f"{self._path()}/{number}", {"fields": fields})

    def ready(self) -> None:
        """A document that was acknowledged is in the graph and searchable: counting is enough."""
        expect_rows("Vespa", self._count(), self._rows)

    def _count(self) -> int:
        return int(
            self._ask({"yql": f"select * from {self._name} where true", "hits": 0})["fields"]["totalCount"]
        )

    def search(self, vector: np.ndarray, k: int, query: GraphQuery) -> Hits:
        return self.search_where(vector, k, query, ())

    def search_where(self, vector: np.ndarray, k: int, query: GraphQuery, where: Where) -> Hits:
        explored = f"targetHits:{k}, hnsw.exploreAdditionalHits:{max(query.ef - k, 0)}"
        near = f"{{{explored}}}nearestNeighbor(vector, q)"
        asked = {"ranking": "near", "input.query(q)": np.ascontiguousarray(vector, np.float32)}
        return self._found(" and ".join([f"({near})", *self._clauses(where)]), k, asked)

    def search_text(self, text: str, k: int, query: GraphQuery) -> Hits:
        return self.search_text_where(text, k, query, ())

    def search_text_where(self, text: str, k: int, query: GraphQuery, where: Where) -> Hits:
        if not text.strip():
            return hits([], [])
        asked = {"ranking": "words", "words": text}
        said = '({grammar: "any", defaultIndex: "text"}userInput(@words))'
        return self._found(" and ".join([said, *self._clauses(where)]), k, asked)

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        kept = (self._rest("GET", f"{self._path()}/{number}")["fields"] for number in ids.tolist())
        return [payload_of(self.fields, tuple(one[name] for name in self.columns())) for one in kept]

    def delete(self, ids: np.ndarray) -> None:
        for number in ids.tolist():
            self._rest("DELETE", f"{self._path()}/{number}")

    def close(self) -> None:
        self._rest.close()
        self._config.close()

    def _path(self) -> str:
        return f"/document/v1/bakeoff/{self._name}/docid"

    def _clauses(self, where: Where) -> list[str]:
        names = self.column_of()
        return [_clause(term, names[term.field]) for term in terms(self.fields, where)]

    def _found(self, condition: str, k: int, asked: dict[str, Any]) -> Hits:
        yql = f"select number from {self._name} where {condition}"
        rows = self._ask({"yql": yql, "hits": k, "presentation.summary": "ids", **asked}).get("children", [])
        return hits([row["fields"]["number"] for row in rows], [row["relevance"] for row in rows])

    def _ask(self, body: dict[str, Any]) -> dict[str, Any]:
        root: dict[str, Any] = self._rest("POST", "/search/", {**body, "timeout": "60s"})["root"]
        if root.get("errors"):
            raise StoreError(f"Vespa: {words(packed(root['errors']))}")
        return root


def _clause(term: Term, column: str) -> str:
    values = [packed(value).decode() for value in term.values]
    return f"{column} in ({', '.join(values)})" if term.sign == "in" else f"{column} {term.sign} {values[0]}"
