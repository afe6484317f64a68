"""Vespa's requests, on a loopback service that checks them against the published interface."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.errors import StoreError
from bakeoff.plugins.stores.vespa import VespaParams, VespaStore
from bakeoff.runtime.servers.control import TABLE
from bakeoff.types import Batch, Condition, Metric, PayloadField

ROWS = np.eye(3, 4, dtype=np.float32)
FIELDS = (PayloadField("language", "text"), PayloadField("year", "integer"), PayloadField("price", "number"))
PAYLOADS: list[dict[str, str | int | float]] = [
    {"language": 'o"neil', "year": 1990 + i, "price": i / 4} for i in range(3)
]


class Service:
    """A config server and a container in one: keeps documents, answers every query with all of them by number.

    They arrive in any order, for the store sends several at once.
    """

    def __init__(self) -> None:
        self.documents: dict[str, Any] = {}
        self.package: dict[str, str] = {}
        self.queries: list[dict[str, Any]] = []
        self.refusals = 1

    def __call__(self, asked: Any) -> tuple[int, Any]:
        if asked.path == "/application/v2/tenant/default/prepareandactivate":
            assert asked.headers["content-type"] == "application/zip"
            with zipfile.ZipFile(io.BytesIO(asked.content)) as packed:
                self.package = {name: packed.read(name).decode() for name in packed.namelist()}
            return 200, {"message": "Session 2 for tenant 'default' prepared and activated."}
        if asked.path == "/search/":
            return self.search(asked.body)
        found = re.fullmatch(r"/document/v1/bakeoff/c_(\w+)/docid/(\d+)?(\?.*)?", asked.path)
        assert found, asked.path
        return self.document(asked, found[2])

    def document(self, asked: Any, name: str | None) -> tuple[int, Any]:
        if name is None:
            assert asked.method == "DELETE" and "cluster=bakeoff_content&selection=true" in asked.path
            self.documents.clear()
        elif asked.method == "POST":
            self.documents[name] = asked.body["fields"]
        elif asked.method == "DELETE":
            del self.documents[name]
        elif name not in self.documents:
            return 404, {"message": "no such document"}
        return 200, {"fields": self.documents.get(name or "")}

    def search(self, body: dict[str, Any]) -> tuple[int, Any]:
        self.queries.append(body)
        if self.refusals:
            self.refusals -= 1
            return 400, {"root": {"errors": [{"code": 4, "message": "Could not resolve source ref"}]}}
        kept = [self.documents[name] for name in sorted(self.documents, key=int)][: body["hits"]]
        rows = [{"relevance": 1.0 - i, "fields": {"number": one["number"]}} for i, one in enumerate(kept)]
        return 200, {"root": {"fields": {"totalCount": len(self.documents)}, "children": rows}}


@pytest.fixture
def vespa(loopback: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Service, str]]:
    monkeypatch.setattr("bakeoff.plugins.kit.rest.time.sleep", lambda _: None)
    answer = Service()
    with loopback(answer) as (url, _):
        yield answer, url


@pytest.fixture
def store(vespa: tuple[Service, str], tmp_path: Path) -> Iterator[VespaStore]:
    made = VespaStore(VespaParams(url=vespa[1], config_url=vespa[1]), tmp_path)
    made.declare(FIELDS)
    made.create("rows", 4, Metric.COSINE)
    made.insert(Batch(np.array([7, 8, 9]), vectors=ROWS, texts=["a", "b", "c"], payloads=PAYLOADS))
    made.ready()
    yield made
    made.close()


def test_the_application_is_deployed_and_waited_for(vespa: tuple[Service, str], store: VespaStore) -> None:
    """The container answers for the new schema only after a while: the first refusal is not the end."""
    package = vespa[0].package
    assert {"services.xml", "schemas/c_rows.sd", "validation-overrides.xml"} <= set(package)
    schema = package["schemas/c_rows.sd"]
    assert "tensor<float>(x[4])" in schema and "distance-metric: angular" in schema
    assert "cos(distance(field, vector))" in schema and "enable-bm25" in schema
    assert schema.count("{") == schema.count("}")
    assert 'type="c_rows"' in package["services.xml"]


@pytest.mark.parametrize(
    ("metric", "distance", "score"),
    [
        (Metric.DOT, "dotproduct", "-distance(field, vector)"),
        (Metric.L2, "euclidean", "-pow(distance(field, vector), 2)"),
    ],
)
def test_a_metric_is_a_distance_and_a_score(
    vespa: tuple[Service, str], tmp_path: Path, metric: Metric, distance: str, score: str
) -> None:
    VespaStore(VespaParams(url=vespa[1], config_url=vespa[1]), tmp_path).create("rows", 4, metric)
    schema = vespa[0].package["schemas/c_rows.sd"]
    assert f"distance-metric: {distance}" in schema and f" {score}\n" in schema


def test_a_search_by_vector(vespa: tuple[Service, str], store: VespaStore) -> None:
    found = store.search(ROWS[0], 2, VespaStore.Query(ef=50))
    assert found.ids[0] == 7 and found.scores.tolist() == [1.0, 0.0]  # the others are equally far
    asked = vespa[0].queries[-1]
    near = "({targetHits:2, hnsw.exploreAdditionalHits:48}nearestNeighbor(vector, q))"
    assert asked["yql"] == f"select number from c_rows where {near}"
    assert asked["ranking"] == "near" and asked["input.query(q)"] == [1, 0, 0, 0] and asked["hits"] == 2


def test_conditions_are_part_of_the_query(vespa: tuple[Service, str], store: VespaStore) -> None:
    where = (Condition("language", among=('o"neil',)), Condition("year", least=1990.5, most=1999))
    store.search_where(ROWS[0], 2, VespaStore.Query(), where)
    said = vespa[0].queries[-1]["yql"]
    assert said.endswith('and payload_0 in ("o\\"neil") and payload_1 >= 1991 and payload_1 <= 1999')
    with pytest.raises(StoreError, match="'nothing'"):
        store.search_where(ROWS[0], 2, VespaStore.Query(), (Condition("nothing", least=1),))


def test_a_search_by_words(vespa: tuple[Service, str], store: VespaStore) -> None:
    store.search_text('AND ( "', 3, VespaStore.Query())
    asked = vespa[0].queries[-1]
    assert asked["words"] == 'AND ( "' and "AND" not in asked["yql"] and asked["ranking"] == "words"
    assert store.search_text(" ", 3, VespaStore.Query()).ids.tolist() == []


def test_rows_come_back_are_deleted_and_counted(vespa: tuple[Service, str], store: VespaStore) -> None:
    assert store.payloads(np.array([9, 7])) == [PAYLOADS[2], PAYLOADS[0]]
    store.delete(np.array([8]))
    assert store.open("rows", 4, Metric.COSINE) == 2
    del vespa[0].documents["7"]
    with pytest.raises(StoreError, match="holds 1 of 2 rows"):
        store.ready()
    with pytest.raises(StoreError, match="no such document"):
        store.payloads(np.array([7]))


def test_an_error_in_a_good_answer_is_an_error(vespa: tuple[Service, str], store: VespaStore) -> None:
    vespa[0].search = lambda _: (200, {"root": {"errors": [{"message": "rank profile not found"}]}})  # type: ignore[method-assign]
    with pytest.raises(StoreError):
        store.search(ROWS[0], 1, VespaStore.Query())


def test_without_a_server_the_advice_names_a_command_that_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BAKEOFF_VESPA_URL", raising=False)
    with pytest.raises(StoreError) as caught:
        VespaStore(VespaParams(), tmp_path)
    assert "vespa" not in TABLE and "servers up" not in str(caught.value)
    assert "docker run" in str(caught.value) and "BAKEOFF_VESPA_URL" in str(caught.value)
