"""Vespa by URL through pyvespa, which also writes its application; tested on a loopback service, not on an
engine."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar

import httpr
import numpy as np
from pydantic import AfterValidator, Field
from requests.exceptions import HTTPError
from vespa import package
from vespa.application import Vespa, VespaSync
from vespa.exceptions import VespaError

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import GraphBuild, GraphQuery, Settings, TunedByEf, expect_rows, make_hits
from bakeoff.plugins.kit.bounded_pool import endpoint_of, redirect
from bakeoff.plugins.kit.client_errors import Reply, reports_client_errors
from bakeoff.plugins.kit.payload import Payload, PayloadSchemaMixin, Term, from_rows, terms
from bakeoff.plugins.kit.rest import encode_json, refusal_reason, wait_until
from bakeoff.plugins.kit.server import Address, request_timeout, server_of, without_secret
from bakeoff.runtime.http_client import proxy_for
from bakeoff.storage.consent import Destination, secret_for
from bakeoff.storage.environment import SettingSource
from bakeoff.types import Batch, Hits, JsonObject, Metric, PayloadField, Where

APPLICATION = "bakeoff"
DISTANCES = {Metric.COSINE: "angular", Metric.DOT: "dotproduct", Metric.L2: "euclidean"}
FAR = "distance(field, vector)"
SCORES = {Metric.COSINE: f"cos({FAR})", Metric.DOT: f"-{FAR}", Metric.L2: f"-pow({FAR}, 2)"}
"""The engine's distance (an angle, minus the product, a length) converted to our scores."""
KEPT = ["attribute", "summary"]
KINDS: dict[str, JsonObject] = {
    "text": {
        "type": "string",
        "match": ["cased"],
    },  # fast-search would need a cased dictionary: pyvespa has none
    "integer": {"type": "long", "attribute": ["fast-search"]},
    "number": {"type": "double", "attribute": ["fast-search"]},
}
CHANGES = ("schema-removal", "content-type-removal", "field-type-change", "indexing-change")
LINES = 16  # parallel requests
DEADLINE_S = 300
DEPLOY = "/application/v2/tenant/default/prepareandactivate"
START = "docker run --detach --publish 8080:8080 --publish 19071:19071 vespaengine/vespa"
"""`bakeoff servers` has no Vespa: it comes only as a container."""


def schema(
    name: str, dims: int, metric: Metric, build: GraphBuild, columns: Mapping[str, PayloadField]
) -> package.Schema:
    """Schema of a collection, with a vector if it has dimensions."""
    fields = [
        package.Field(name="number", type="long", indexing=KEPT),
        package.Field(name="text", type="string", indexing=["index"], index="enable-bm25"),
        *(
            package.Field(name=column, indexing=KEPT, **KINDS[field.kind])
            for column, field in columns.items()
        ),
    ]
    profiles = [package.RankProfile(name="words", first_phase="bm25(text)")]
    if dims:
        shape = f"tensor<float>(x[{dims}])"
        graph = package.HNSW(DISTANCES[metric], build.m, build.ef_construction)
        fields.append(package.Field(name="vector", type=shape, indexing=["attribute", "index"], ann=graph))
        inputs = [("query(q)", shape)]
        profiles.append(package.RankProfile(name="near", first_phase=SCORES[metric], inputs=inputs))
    ids = package.DocumentSummary(name="ids", summary_fields=[package.Summary("number")])
    document = package.Document(fields=fields)
    return package.Schema(name, document, rank_profiles=profiles, document_summaries=[ids])


def application(collection: package.Schema) -> package.ApplicationPackage:
    """The application with one collection; leftovers of an earlier one may be dropped."""
    until = (date.today() + timedelta(days=7)).isoformat()
    return package.ApplicationPackage(
        name=APPLICATION,
        schema=[collection],
        validations=[package.Validation(change, until) for change in CHANGES],
        query_profile=package.QueryProfile(fields=[package.QueryField("maxHits", 100_000)]),
    )


class VespaSession(httpr.Client):
    """pyvespa's HTTP client; a redirect is a failure, because the key would be sent along."""

    def request(self, method: Any, url: str, **kwargs: Any) -> httpr.Response:
        """Send a request once."""
        answer = super().request(method, url, **kwargs)
        if 300 <= answer.status_code < 400:
            raise redirect(answer.status_code, dict(answer.headers))
        return answer


def open_session(server: Destination) -> VespaSession:
    """A client for one server with its key and our time limit."""
    key = secret_for("BAKEOFF_VESPA_KEY", server)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    proxy = proxy_for(server.url)
    return VespaSession(headers=headers, timeout=request_timeout(), follow_redirects=False, proxy=proxy)


class VespaRows:
    """The documents of a schema named after the collection."""

    def __init__(self, sync: VespaSync, collection: str) -> None:
        self._sync, self.name = sync, f"c_{collection}"
        self._where = {"schema": self.name, "namespace": APPLICATION}

    def put(self, batch: Batch, columns: dict[str, PayloadField]) -> None:
        """Write documents, replacing those with the same ids; the first refusal is raised."""
        with ThreadPoolExecutor(LINES) as lines:
            list(lines.map(lambda i: self._put(batch, i, columns), range(len(batch.ids))))

    def _put(self, batch: Batch, i: int, columns: dict[str, PayloadField]) -> None:
        number = int(batch.ids[i])
        fields: JsonObject = {"number": number}
        if batch.vectors is not None:
            fields["vector"] = {"values": batch.vectors[i].astype(np.float32).tolist()}
        if batch.texts is not None:
            fields["text"] = batch.texts[i]
        if batch.payloads is not None:
            fields |= {column: batch.payloads[i][field.name] for column, field in columns.items()}
        self._sync.feed_data_point(data_id=str(number), fields=fields, **self._where)

    def read_row(self, number: int) -> JsonObject:
        """The fields of one document."""
        found = self._sync.get_data(data_id=str(number), raise_on_not_found=True, **self._where)
        fields: JsonObject = found.json["fields"]
        return fields

    def delete(self, ids: np.ndarray) -> None:
        """Remove documents."""
        for number in ids.tolist():
            self._sync.delete_data(data_id=str(number), **self._where)

    def clear(self) -> None:
        """Remove every document."""
        self._sync.delete_all_docs(content_cluster_name=f"{APPLICATION}_content", **self._where)

    def is_served(self) -> bool:
        """Whether the container answers for this collection yet."""
        try:
            self.count()
        except (StoreError, VespaError, HTTPError, httpr.HTTPError):
            return False
        return True

    def count(self) -> int:
        """Number of documents."""
        return int(self._ask("true", 0, {})["fields"]["totalCount"])

    def search(self, condition: str, k: int, asked: JsonObject) -> Hits:
        """The k best documents that satisfy a condition."""
        rows = self._ask(condition, k, {"presentation.summary": "ids", **asked}).get("children", [])
        return make_hits([row["fields"]["number"] for row in rows], [row["relevance"] for row in rows])

    def _ask(self, condition: str, k: int, asked: JsonObject) -> JsonObject:
        yql = f"select number from {self.name} where {condition}"  # noqa: S608 - values in it are literals
        answer = self._sync.query({"yql": yql, "hits": k, "timeout": f"{request_timeout():g}s", **asked})
        root: JsonObject = answer.json["root"]
        if root.get("errors"):
            raise StoreError(f"Vespa: {refusal_reason(encode_json(root['errors']))}")
        return root


class VespaParams(Settings):
    """Where Vespa is and how its index is built; a token comes from BAKEOFF_VESPA_KEY."""

    url: Address = None
    config_url: Annotated[str, AfterValidator(without_secret), Field(description="its config server")] = (
        "http://127.0.0.1:19071"
    )
    build: GraphBuild = GraphBuild()


@reports_client_errors
class VespaStore(TunedByEf, PayloadSchemaMixin):
    """One application on one node: a new collection replaces the previous one; not tested on an engine."""

    version: ClassVar[str] = "1"
    engine = "Vespa"
    client_errors = (
        VespaError,
        HTTPError,
        httpr.HTTPError,
        RuntimeError,
    )  # the last: an answer that is not JSON
    Params = VespaParams
    Query = GraphQuery
    gaps: ClassVar[dict[str, str]] = {
        "hybrid": "its rank expressions could; not offered without an engine to try it on",
        "batch": "one vector a request",
        "sparse vectors": "its mapped tensors could; not offered without an engine to try it on",
        "token vectors": "its mixed tensors could; not offered without an engine to try it on",
        "storage": "its cell types could; not offered without an engine to try it on",
        "dims limit": "the engine names no limit",
    }

    def __init__(self, params: VespaParams, home: Path) -> None:
        server = server_of("vespa", "BAKEOFF_VESPA_URL", params.url, start=START)
        config = Destination(params.config_url, SettingSource.EXPERIMENT)
        self._params, self.place = params, endpoint_of("Vespa", server.url).place
        self._session, self._config = open_session(server), open_session(config)
        client = Vespa(server.url.rstrip("/"))
        # one attempt: a hidden retry would be timed as one search
        self._sync: VespaSync = client.syncio(session=self._session, num_retries_429=0)
        self._rows, self._inserted = VespaRows(self._sync, ""), 0

    def reply_of(self, exc: Exception) -> Reply | None:
        response = getattr(exc if isinstance(exc, HTTPError) else exc.__cause__, "response", None)
        return (response.status_code, response.content) if isinstance(response, httpr.Response) else None

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._rows, self._inserted = VespaRows(self._sync, collection), 0
        shape = schema(self._rows.name, dims, metric, self._params.build, self.columns())
        self._deploy(application(shape))
        wait_until("Vespa", f"it serves {self._rows.name}", self._rows.is_served, DEADLINE_S)
        self._rows.clear()

    def _deploy(self, application: package.ApplicationPackage) -> None:
        """Send the application to the config server; pyvespa itself deploys only to containers and the cloud."""
        address = self._params.config_url.rstrip("/") + DEPLOY
        zipped = {"content": application.to_zip().getvalue(), "headers": {"Content-Type": "application/zip"}}
        answer = self._config.post(address, timeout=max(DEADLINE_S, request_timeout()), **zipped)
        if answer.status_code >= 400:
            reason = refusal_reason(answer.content)
            raise StoreError(f"Vespa, deploy: HTTP {answer.status_code}: {reason}")

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        self._rows = VespaRows(self._sync, collection)
        self._inserted = self._rows.count()
        if dims:
            self.search(np.ones(dims, np.float32), 1, GraphQuery())  # the engine rejects another length
        return self._inserted

    def insert(self, batch: Batch) -> None:
        self._rows.put(batch, self.columns())
        self._inserted += len(batch.ids)

    def replace(self, batch: Batch) -> None:
        self._rows.put(batch, self.columns())

    def delete(self, ids: np.ndarray) -> None:
        self._rows.delete(ids)

    def ready(self) -> None:
        """Count the rows: an acknowledged document is in the graph and searchable."""
        expect_rows("Vespa", self._rows.count(), self._inserted)

    def search(self, vector: np.ndarray, k: int, query: GraphQuery) -> Hits:
        return self.search_where(vector, k, query, ())

    def search_where(self, vector: np.ndarray, k: int, query: GraphQuery, where: Where) -> Hits:
        explored = f"targetHits:{k}, hnsw.exploreAdditionalHits:{max(query.ef - k, 0)}"
        near = f"{{{explored}}}nearestNeighbor(vector, q)"
        asked = {"ranking": "near", "input.query(q)": vector.astype(np.float32).tolist()}
        return self._rows.search(" and ".join([f"({near})", *self._clauses(where)]), k, asked)

    def search_text(self, text: str, k: int, query: GraphQuery) -> Hits:
        return self.search_text_where(text, k, query, ())

    def search_text_where(self, text: str, k: int, query: GraphQuery, where: Where) -> Hits:
        if not text.strip():
            return make_hits([], [])
        asked = {"ranking": "words", "words": text}
        words = '({grammar: "any", defaultIndex: "text"}userInput(@words))'
        return self._rows.search(" and ".join([words, *self._clauses(where)]), k, asked)

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        names = list(self.columns())
        rows = ((number, self._rows.read_row(number)) for number in ids.tolist())
        return from_rows(self, ids, ((number, *(one[name] for name in names)) for number, one in rows))

    def _clauses(self, where: Where) -> list[str]:
        names = self.column_of()
        return [_clause(term, names[term.field]) for term in terms(self.fields, where)]

    def close(self) -> None:
        self._session.close()
        self._config.close()


def _clause(term: Term, column: str) -> str:
    values = [encode_json(value).decode() for value in term.values]
    return f"{column} in ({', '.join(values)})" if term.sign == "in" else f"{column} {term.sign} {values[0]}"
