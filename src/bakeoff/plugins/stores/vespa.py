"""Vespa by URL: written after its published interface, not run here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import AfterValidator, Field

from bakeoff.plugins.kit.adapter import GraphBuild, GraphQuery, Settings, TunedByEf, expect_rows, make_hits
from bakeoff.plugins.kit.payload import Payload, PayloadSchemaMixin, Term, payload_of, terms
from bakeoff.plugins.kit.rest import Rest, bearer, encode_json, wait
from bakeoff.plugins.kit.server import Address, server_of, without_secret
from bakeoff.plugins.stores._vespa_package import package, schema
from bakeoff.plugins.stores._vespa_rows import VespaRows
from bakeoff.storage.consent import Destination
from bakeoff.storage.environment import SettingSource
from bakeoff.types import Batch, Hits, Metric, Where

DEADLINE_S = 300
DEPLOY = "/application/v2/tenant/default/prepareandactivate"


START = "docker run --detach --publish 8080:8080 --publish 19071:19071 vespaengine/vespa"
"""`bakeoff servers` has no Vespa: it comes as a container only."""


class VespaParams(Settings):
    """Where Vespa is and how its index is built; a token comes from BAKEOFF_VESPA_KEY."""

    url: Address = None
    config_url: Annotated[str, AfterValidator(without_secret), Field(description="its config server")] = (
        "http://127.0.0.1:19071"
    )
    build: GraphBuild = GraphBuild()


class VespaStore(TunedByEf, PayloadSchemaMixin):
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
        server = server_of("vespa", "BAKEOFF_VESPA_URL", params.url, start=START)
        self._rest = Rest("Vespa", server.url, bearer("vespa", server))
        config = Destination(params.config_url, SettingSource.EXPERIMENT)
        zipped = {**bearer("vespa", config), "Content-Type": "application/zip"}
        self._params, self._config = params, Rest("Vespa", params.config_url, zipped)
        self._rows, self._inserted = VespaRows(self._rest, ""), 0

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._rows, self._inserted, build = VespaRows(self._rest, collection), 0, self._params.build
        name, graph = self._rows.name, (build.m, build.ef_construction)
        zipped = package(name, schema(name, dims, metric, graph, self.columns()))
        self._config("POST", DEPLOY, zipped, seconds=DEADLINE_S)
        wait("Vespa", f"it serves {name}", self._rows.served, DEADLINE_S)
        self._rows.clear()

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._rows = VespaRows(self._rest, collection)
        self._inserted = self._rows.count()
        if dims:
            self.search(np.ones(dims, np.float32), 1, GraphQuery())  # the engine refuses another length
        return self._inserted

    def insert(self, batch: Batch) -> None:
        self._rows.put(batch, self.columns())
        self._inserted += len(batch.ids)

    def replace(self, batch: Batch) -> None:
        self._rows.put(batch, self.columns())

    def delete(self, ids: np.ndarray) -> None:
        self._rows.delete(ids)

    def ready(self) -> None:
        """A document that was acknowledged is in the graph and searchable: counting is enough."""
        expect_rows("Vespa", self._rows.count(), self._inserted)

    def search(self, vector: np.ndarray, k: int, query: GraphQuery) -> Hits:
        return self.search_where(vector, k, query, ())

    def search_where(self, vector: np.ndarray, k: int, query: GraphQuery, where: Where) -> Hits:
        explored = f"targetHits:{k}, hnsw.exploreAdditionalHits:{max(query.ef - k, 0)}"
        near = f"{{{explored}}}nearestNeighbor(vector, q)"
        asked = {"ranking": "near", "input.query(q)": np.ascontiguousarray(vector, np.float32)}
        return self._rows.found(" and ".join([f"({near})", *self._clauses(where)]), k, asked)

    def search_text(self, text: str, k: int, query: GraphQuery) -> Hits:
        return self.search_text_where(text, k, query, ())

    def search_text_where(self, text: str, k: int, query: GraphQuery, where: Where) -> Hits:
        if not text.strip():
            return make_hits([], [])
        asked = {"ranking": "words", "words": text}
        said = '({grammar: "any", defaultIndex: "text"}userInput(@words))'
        return self._rows.found(" and ".join([said, *self._clauses(where)]), k, asked)

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        kept = map(self._rows.kept, ids.tolist())
        return [payload_of(self.fields, tuple(one[name] for name in self.columns())) for one in kept]

    def _clauses(self, where: Where) -> list[str]:
        names = self.column_of()
        return [_clause(term, names[term.field]) for term in terms(self.fields, where)]

    def close(self) -> None:
        self._rest.close()
        self._config.close()


def _clause(term: Term, column: str) -> str:
    values = [encode_json(value).decode() for value in term.values]
    return f"{column} in ({', '.join(values)})" if term.sign == "in" else f"{column} {term.sign} {values[0]}"
