"""Pinecone's requests, on a loopback service that keeps rows and refuses what the published interface does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from bakeoff.errors import StoreError
from bakeoff.plugins.stores.pinecone import PineconeParams, PineconeStore
from bakeoff.testing import StoreContract
from bakeoff.testing.reference_search import similarity
from bakeoff.types import Metric

METRICS = {"cosine": Metric.COSINE, "dotproduct": Metric.DOT, "euclidean": Metric.L2}
KEY = "a-key-nobody-may-see"


class Service:
    """Indexes in memory; a row is counted only when it has been asked about once, as if it came later."""

    def __init__(self) -> None:
        self.url = ""
        self.indexes: dict[str, dict[str, Any]] = {}
        self.rows: dict[str, dict[str, Any]] = {}
        self.kept: dict[str, dict[str, dict[str, Any]]] = {}
        self.late = 1

    def __call__(self, asked: Any) -> tuple[int, Any]:
        if asked.headers.get("api-key") != KEY or "x-pinecone-api-version" not in asked.headers:
            return 401, {"error": {"code": "UNAUTHENTICATED", "message": "Invalid API Key"}}
        at = urlsplit(asked.path)
        if at.path.startswith("/indexes"):
            return self.control(asked, at.path)
        _, name, path = at.path.split("/", 2)
        self.rows = self.kept[name]
        answer = self.data(asked, f"/{path}", parse_qs(at.query), name)
        self.kept[name] = self.rows
        return answer

    def control(self, asked: Any, path: str) -> tuple[int, Any]:
        if asked.method == "POST":
            body = asked.body
            assert set(body) == {"name", "schema", "deployment", "deletion_protection"}
            assert (
                set(body["deployment"]) == {"deployment_type", "cloud", "region"} and len(body["name"]) <= 45
            )
            (field,) = body["schema"]["fields"].values()
            assert set(field) == {"type", "dimension", "metric"} and field["type"] == "dense_vector"
            if field["dimension"] > 20_000:
                return 400, {"error": {"code": "INVALID_ARGUMENT", "message": "dimension over 20000"}}
            self.kept[body["name"]] = {}
            host = f"{self.url}/{body['name']}"
            status = {"ready": True, "state": "Ready"}
            self.indexes[body["name"]] = {**body, "id": "1", "host": host, "status": status}
            return 201, self.indexes[body["name"]]
        if path == "/indexes":
            return 200, {"indexes": list(self.indexes.values())}
        name = path.rsplit("/", 1)[1]
        if name not in self.indexes:
            return 404, {"error": {"code": "NOT_FOUND", "message": f"Resource {name} not found"}}
        if asked.method == "DELETE":
            del self.indexes[name]
            return 202, None
        return 200, self.indexes[name]

    def data(self, asked: Any, path: str, options: dict[str, list[str]], name: str) -> tuple[int, Any]:
        if path == "/vectors/upsert":
            assert len(asked.body["vectors"]) <= 1000
            if any(len(str(row.get("metadata", ""))) > 40_960 for row in asked.body["vectors"]):
                return 400, {
                    "code": 3,
                    "message": "metadata size exceeds the limit of 40960 bytes",
                    "details": [],
                }
            self.rows |= {row["id"]: row for row in asked.body["vectors"]}
            self.late = 1
            return 200, {"upsertedCount": len(asked.body["vectors"])}
        if path == "/describe_index_stats":
            held, self.late = len(self.rows) - self.late, 0
            return 200, {"totalVectorCount": held}
        if path == "/vectors/fetch":
            found = {name: self.rows[name] for name in options["ids"] if name in self.rows}
            return 200, {"vectors": found}
        if path == "/vectors/delete":
            self.rows = {name: row for name, row in self.rows.items() if name not in asked.body["ids"]}
            return 200, {}
        assert path == "/query"
        assert set(asked.body) <= {"vector", "topK", "filter", "includeValues", "includeMetadata"}
        return self.query(asked.body, name)

    def query(self, body: dict[str, Any], name: str) -> tuple[int, Any]:
        rows = [row for row in self.rows.values() if _holds(row.get("metadata", {}), body.get("filter", {}))]
        (field,) = self.indexes[name]["schema"]["fields"].values()
        metric = METRICS[field["metric"]]
        asked = np.array(body["vector"])
        if not rows:
            return 200, {"matches": []}
        scores = similarity(np.array([row["values"] for row in rows]), asked, metric)
        best = np.argsort(-scores, kind="stable")[: body["topK"]]
        sign = -1.0 if metric is Metric.L2 else 1.0
        return 200, {"matches": [{"id": rows[i]["id"], "score": sign * scores[i]} for i in best]}


def _holds(metadata: dict[str, Any], condition: dict[str, Any]) -> bool:
    signs = {"$in": lambda a, b: a in b, "$gte": lambda a, b: a >= b, "$lte": lambda a, b: a <= b}
    return all(
        signs[sign](metadata[field], value)
        for clause in condition.get("$and", [])
        for field, one in clause.items()
        for sign, value in one.items()
    )


@pytest.fixture
def pinecone(loopback: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("BAKEOFF_PINECONE_KEY", KEY)
    answer = Service()
    with loopback(answer) as (url, _):
        answer.url = url
        yield url


@pytest.mark.slow
class TestRequests(StoreContract):
    """The contract, as far as a service that is not Pinecone can show it."""

    name = "pinecone"
    rows = 100

    @pytest.fixture(autouse=True)
    def _at(self, pinecone: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "params", {"url": pinecone})
        monkeypatch.setattr("bakeoff.plugins.kit.rest.time.sleep", lambda _: None)


def test_without_a_key(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BAKEOFF_PINECONE_KEY", raising=False)
    with pytest.raises(StoreError, match="set BAKEOFF_PINECONE_KEY"):
        PineconeStore(PineconeParams(), tmp_path)


def test_a_wrong_key_is_told_in_the_services_words_without_the_key(
    pinecone: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAKEOFF_PINECONE_KEY", "another-key")
    with pytest.raises(StoreError, match="HTTP 401: Invalid API Key") as caught:
        PineconeStore(PineconeParams(url=pinecone), tmp_path).create("rows", 4, Metric.COSINE)
    assert "another-key" not in str(caught.value)
