"""Vespa by URL: written after its published interface, not run here."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import AfterValidator, Field

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import GraphBuild, GraphQuery, Settings, TunedByEf, expect_rows, make_hits
from bakeoff.plugins.kit.payload import Payload, PayloadSchemaMixin, Term, payload_of, terms
from bakeoff.plugins.kit.rest import Rest, bearer, encode_json, refusal_reason, wait_until
from bakeoff.plugins.kit.server import Address, server_of, without_secret
from bakeoff.storage.consent import Destination
from bakeoff.storage.environment import SettingSource
from bakeoff.types import Batch, Hits, Metric, PayloadField, Where

DISTANCES = {Metric.COSINE: "angular", Metric.DOT: "dotproduct", Metric.L2: "euclidean"}
FAR = "distance(field, vector)"
SCORES = {Metric.COSINE: f"cos({FAR})", Metric.DOT: f"-{FAR}", Metric.L2: f"-pow({FAR}, 2)"}
"""The distance (an angle, minus the product, a length) in the terms every store answers in."""
KINDS = {
    "text": (
        "string",
        "attribute: fast-search\n      match: cased\n      dictionary {\n        hash\n        cased\n      }",
    ),
    "integer": ("long", "attribute: fast-search"),
    "number": ("double", "attribute: fast-search"),
}
SERVICES = """\
<services version="1.0">
  <container id="default" version="1.0"><search/><document-api/></container>
  <content id="rows" version="1.0">
    <min-redundancy>1</min-redundancy>
    <documents><document type="{name}" mode="index"/></documents>
    <nodes><node distribution-key="0" hostalias="node1"/></nodes>
  </content>
</services>
"""
HOSTS = '<hosts><host name="localhost"><alias>node1</alias></host></hosts>\n'
PROFILE = '<query-profile id="default"><field name="maxHits">100000</field></query-profile>\n'
OVERRIDES = """\
<validation-overrides>
  <allow until="{until}">schema-removal</allow>
  <allow until="{until}">content-type-removal</allow>
  <allow until="{until}">field-type-change</allow>
  <allow until="{until}">indexing-change</allow>
</validation-overrides>
"""
FIELD = """\
    field {name} type {kind} {{
      indexing: {indexing}
      {more}
    }}
"""
VECTOR = """\
attribute {{ distance-metric: {distance} }}
      index {{ hnsw {{ max-links-per-node: {m} neighbors-to-explore-at-insert: {ef} }} }}"""
NEAR = """\
  rank-profile near {{
    inputs {{ query(q) tensor<float>(x[{dims}]) }}
    first-phase {{ expression: {score} }}
  }}
"""
SCHEMA = """\
schema {name} {{
  document {name} {{
{fields}  }}
{near}  rank-profile words {{
    first-phase {{ expression: bm25(text) }}
  }}
  document-summary ids {{
    summary number {{}}
  }}
}}
"""


def schema(
    name: str, dims: int, metric: Metric, graph: tuple[int, int], columns: Mapping[str, PayloadField]
) -> str:
    """The schema of a collection, with a vector where it has dimensions; `graph` is its m and ef_construction."""
    fields = FIELD.format(name="number", kind="long", indexing="attribute | summary", more="")
    fields += FIELD.format(name="text", kind="string", indexing="index", more="index: enable-bm25")
    for column, field in columns.items():
        kind, more = KINDS[field.kind]
        fields += FIELD.format(name=column, kind=kind, indexing="attribute | summary", more=more)
    near = ""
    if dims:
        shape = VECTOR.format(distance=DISTANCES[metric], m=graph[0], ef=graph[1])
        kind = f"tensor<float>(x[{dims}])"
        fields += FIELD.format(name="vector", kind=kind, indexing="attribute | index", more=shape)
        near = NEAR.format(dims=dims, score=SCORES[metric])
    return SCHEMA.format(name=name, fields=fields, near=near)


def package(name: str, schema_text: str) -> bytes:
    """The package as a zip file; what an earlier collection left may be dropped."""
    until = (date.today() + timedelta(days=7)).isoformat()
    files = {
        "services.xml": SERVICES.format(name=name),
        "hosts.xml": HOSTS,
        "validation-overrides.xml": OVERRIDES.format(until=until),
        "search/query-profiles/default.xml": PROFILE,
        f"schemas/{name}.sd": schema_text,
    }
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as packed:
        for path, text in files.items():
            packed.writestr(path, text)
    return held.getvalue()


LINES = 16  # requests under way at once
CLEAR_SECONDS = 600.0


class VespaRows:
    """The documents of a schema named after the collection."""

    def __init__(self, rest: Rest, collection: str) -> None:
        self._rest, self.name = rest, f"c_{collection}"
        self._path = f"/document/v1/bakeoff/{self.name}/docid"

    def put(self, batch: Batch, columns: dict[str, PayloadField]) -> None:
        """Write documents, new ones or in the place of those with their ids; the first refusal is raised."""
        with ThreadPoolExecutor(LINES) as lines:
            list(lines.map(lambda i: self._put(batch, i, columns), range(len(batch.ids))))

    def _put(self, batch: Batch, i: int, columns: dict[str, PayloadField]) -> None:
        number = int(batch.ids[i])
        fields: dict[str, Any] = {"number": number}
        if batch.vectors is not None:
            fields["vector"] = {"values": np.ascontiguousarray(batch.vectors[i], np.float32)}
        if batch.texts is not None:
            fields["text"] = batch.texts[i]
        if batch.payloads is not None:
            fields |= {column: batch.payloads[i][field.name] for column, field in columns.items()}
        self._rest("POST", f"{self._path}/{number}", {"fields": fields})

    def kept(self, number: int) -> dict[str, Any]:
        """The fields of one document."""
        found: dict[str, Any] = self._rest("GET", f"{self._path}/{number}")["fields"]
        return found

    def delete(self, ids: np.ndarray) -> None:
        """Remove documents."""
        for number in ids.tolist():
            self._rest("DELETE", f"{self._path}/{number}")

    def clear(self) -> None:
        """Remove every document."""
        self._rest("DELETE", f"{self._path}?selection=true&cluster=rows", seconds=CLEAR_SECONDS)

    def served(self) -> bool:
        """Whether the container answers for this collection yet."""
        try:
            self.count()
        except StoreError:
            return False
        return True

    def count(self) -> int:
        """How many documents there are."""
        return int(self._ask("true", 0, {})["fields"]["totalCount"])

    def found(self, condition: str, k: int, asked: dict[str, Any]) -> Hits:
        """The k best documents for which a condition holds."""
        rows = self._ask(condition, k, {"presentation.summary": "ids", **asked}).get("children", [])
        return make_hits([row["fields"]["number"] for row in rows], [row["relevance"] for row in rows])

    def _ask(self, condition: str, k: int, asked: dict[str, Any]) -> dict[str, Any]:
        yql = f"select number from {self.name} where {condition}"  # noqa: S608 - values in it are literals
        root: dict[str, Any] = self._rest(
            "POST", "/search/", {"yql": yql, "hits": k, "timeout": "60s", **asked}
        )["root"]
        if root.get("errors"):
            raise StoreError(f"Vespa: {refusal_reason(encode_json(root['errors']))}")
        return root


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
        wait_until("Vespa", f"it serves {name}", self._rows.served, DEADLINE_S)
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
