"""Engines that no wheel brings, as `bakeoff servers up` started them: shards, copies, what is left there, faults."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import numpy as np
import psutil
import pytest

from bakeoff import registry
from bakeoff.errors import StoreError
from bakeoff.pipeline import index as index_stage
from bakeoff.runs.run import run
from bakeoff.runtime.servers.control import TABLE, up
from bakeoff.runtime.servers.processes import living_processes
from bakeoff.runtime.servers.records import read_place, read_state
from bakeoff.storage.environment import get_setting
from bakeoff.types import Batch, Metric, PayloadField, Status

LUCENE = ("opensearch", "elasticsearch")
WHERE = {"opensearch": "url", "elasticsearch": "url", "weaviate": "url", "milvus": "uri"}
every = pytest.mark.parametrize("name", WHERE)
ROWS = np.random.default_rng(5).normal(size=(200, 16)).astype(np.float32)


def asked(address: str, path: str, body: Any = None, method: str = "GET") -> Any:
    """What an engine itself says, without our adapter."""
    headers = {"Content-Type": "application/json"}
    key = get_setting("BAKEOFF_WEAVIATE_KEY")
    if key:
        headers["Authorization"] = f"Bearer {key}"
    data = None if body is None else json.dumps(body).encode()
    request = Request(address.partition("?")[0] + path, data, headers, method=method)
    with urlopen(request, timeout=60) as answer:
        return json.loads(answer.read() or b"null")


def at(name: str, address: str) -> dict[str, str]:
    """The parameter that names a server, for a store that also works inside the client."""
    return {"uri": address} if name == "milvus" else {}


def behind(address: str, line: Callable[[int], Any]) -> tuple[str, list[Any]]:
    """An engine's address behind lines, one to each port it has, and the lines."""
    told = urlsplit(address)
    lines = [line(int(port)) for port in (told.port, told.query.removeprefix("grpc=")) if port]
    return f"http://127.0.0.1:{lines[0].port}" + (f"?grpc={lines[1].port}" if told.query else ""), lines


def filled(one: Any, collection: str, rows: np.ndarray = ROWS) -> Any:
    one.create(collection, rows.shape[1], Metric.COSINE)
    one.insert(Batch(np.arange(len(rows), dtype=np.int64), vectors=rows))
    one.ready()
    return one


def spread_of(name: str, address: str, collection: str) -> tuple[int, int]:
    """Shards and further copies by the engine's own word."""
    if name in LUCENE:
        kept = asked(address, f"/bakeoff_{collection}/_settings")[f"bakeoff_{collection}"]["settings"][
            "index"
        ]
        return int(kept["number_of_shards"]), int(kept["number_of_replicas"])
    if name == "weaviate":
        nodes = asked(address, f"/v1/nodes/Bakeoff_{collection}?output=verbose")["nodes"]
        schema = asked(address, f"/v1/schema/Bakeoff_{collection}")
        return sum(len(node["shards"]) for node in nodes), schema["replicationConfig"]["factor"] - 1
    from pymilvus import MilvusClient

    client = MilvusClient(address)
    try:
        name = f"bakeoff_{collection}"
        return client.describe_collection(name)["num_shards"], len(client.describe_replica(name)) - 1
    finally:
        client.close()


@every
@pytest.mark.parametrize("shards", [1, 3])
def test_the_engine_has_the_shards_that_were_asked_for(
    name: str, shards: int, known: Callable[[str], str], store: Callable[..., Any]
) -> None:
    address = known(name)
    one = filled(store(name, **at(name, address), build={"shards": shards}), "test_spread")
    assert spread_of(name, address, "test_spread") == (shards, 0)
    query = type(one).Query()
    assert [one.search(row, 1, query).ids.tolist() for row in ROWS[:20]] == [[i] for i in range(20)]
    other = store(name, **at(name, address), build={"shards": shards + 1})
    with pytest.raises(
        StoreError, match=f"in {shards} shards with 0 replicas; {shards + 1} with 0 were asked"
    ):
        other.open("test_spread", 16, Metric.COSINE)
    one.drop("test_spread")


@every
def test_a_replica_without_a_node_for_it_is_refused(
    name: str, known: Callable[[str], str], store: Callable[..., Any]
) -> None:
    """One node is all that is started here: no copy is silently left out."""
    one = store(name, **at(name, known(name)), build={"replicas": 1})
    with pytest.raises(StoreError, match=r"(?i)node|replica"):
        filled(one, "test_replicas")
    one.drop("test_replicas")


@pytest.mark.parametrize("name", ["qdrant", "milvus"])
def test_what_is_embedded_is_not_spread(name: str) -> None:
    plugin = registry.load("stores", name)
    with pytest.raises(ValueError, match="shards and replicas"):
        plugin.Params(build={"shards": 2})


@every
def test_what_was_made_is_listed_and_dropped(
    name: str, known: Callable[[str], str], store: Callable[..., Any]
) -> None:
    one = filled(store(name, **at(name, known(name))), "test_left")
    assert "test_left" in one.collections()
    one.drop("test_left")
    one.drop("test_left")
    assert "test_left" not in one.collections()
    with pytest.raises(StoreError):
        one.open("test_left", 16, Metric.COSINE)


@pytest.mark.parametrize("name", ["weaviate"])
def test_an_id_the_engine_cannot_have_is_refused(
    name: str, known: Callable[[str], str], store: Callable[..., Any]
) -> None:
    known(name)
    one = store(name)
    one.create("test_ids", 16, Metric.COSINE)
    with pytest.raises(StoreError, match="-1"):
        one.insert(Batch(np.array([-1]), vectors=ROWS[:1]))
    one.drop("test_ids")


@pytest.mark.parametrize("name", LUCENE)
def test_a_row_larger_than_a_request_may_be(
    name: str, known: Callable[[str], str], store: Callable[..., Any]
) -> None:
    """A request of these engines has at most 100 MB."""
    known(name)
    one = store(name)
    one.declare((PayloadField("body", "text"),))
    one.create("test_large", 16, Metric.COSINE)
    with pytest.raises(StoreError, match=r"(?i)413|content length|too large|does not answer"):
        one.insert(Batch(np.arange(1), vectors=ROWS[:1], payloads=[{"body": "x" * 110_000_000}]))
    one.insert(Batch(np.arange(1), vectors=ROWS[:1], payloads=[{"body": "x"}]))
    one.ready()
    one.drop("test_large")


def test_a_wrong_key_is_told_by_the_engine_and_not_shown(
    known: Callable[[str], str], store: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    known("weaviate")
    monkeypatch.setenv("BAKEOFF_WEAVIATE_KEY", "a-wrong-key-nobody-may-see")
    with pytest.raises(StoreError, match="HTTP 401") as caught:
        store("weaviate").create("test_key", 16, Metric.COSINE)
    assert "a-wrong-key-nobody-may-see" not in str(caught.value)


@every
def test_a_server_that_stalls_in_mid_insert_fails_its_system_only(
    name: str,
    known: Callable[[str], str],
    line: Callable[[int], Any],
    stalling: type,
    stalled: Callable[..., tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    through, (*_, between) = behind(known(name), line)
    monkeypatch.setenv("BAKEOFF_SERVER_TIMEOUT", "2")
    monkeypatch.setattr(index_stage, "BATCH", 2)
    one = stalling(name, between, {WHERE[name]: through})
    status, _ = stalled(one, "insert", 2)
    assert status == Status.FAILED and one.calls == 2


@every
def test_a_server_that_stalls_in_mid_query_leaves_what_was_measured(
    name: str,
    known: Callable[[str], str],
    line: Callable[[int], Any],
    stalling: type,
    stalled: Callable[..., tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    through, (*_, between) = behind(known(name), line)
    monkeypatch.setenv("BAKEOFF_SERVER_TIMEOUT", "2")
    status, reason = stalled(stalling(name, between, {WHERE[name]: through}), "search", 20)
    assert status == Status.PARTIAL and "queries were answered" in reason


@every
def test_a_slow_line_is_only_slow(
    name: str, known: Callable[[str], str], line: Callable[[int], Any], store: Callable[..., Any]
) -> None:
    through, lines = behind(known(name), line)
    for one in lines:
        one.slow = 0.01
    one = filled(store(name, **{WHERE[name]: through}), "test_slow")
    assert one.search(ROWS[7], 1, type(one).Query()).ids.tolist() == [7]
    one.drop("test_slow")


@pytest.mark.slow  # the engine looks at its disk every ten seconds, and opens again after a minute
@pytest.mark.parametrize("name", LUCENE)
def test_a_full_disk_is_told_in_the_engines_words(
    name: str,
    known: Callable[[str], str],
    beside_exact: Callable[..., Path],
    statuses: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At its flood-stage watermark the engine closes indexes to writing; here it is told that the disk is too small."""
    address = known(name)
    monkeypatch.setattr(index_stage, "BATCH", 2)
    mark = "cluster.routing.allocation.disk.watermark"
    full = {f"{mark}.{step}": "900000gb" for step in ("low", "high", "flood_stage")}
    path, plugin = beside_exact(name), registry.load("stores", name)
    insert, waited = plugin.insert, list[bool]()

    def filling(self: Any, batch: Batch) -> None:
        insert(self, batch)
        if not waited:
            waited.append(_closed_to_writing(address, self._index, full))

    monkeypatch.setattr(plugin, "insert", filling)
    try:
        told = statuses(run(path, out=Path("run")))
    finally:
        _open_again(address, full)
    assert waited == [True] and told["exact"][0] == Status.DONE
    assert told[name][0] == Status.FAILED and "flood-stage watermark" in told[name][1]
    again = statuses(run(path, out=Path("run")))
    assert {status for status, _ in again.values()} == {Status.DONE}, again


@pytest.mark.parametrize("name", ["weaviate", *LUCENE])
@pytest.mark.parametrize("shards", [1, 3])
def test_what_is_ready_survives_kill_of_the_server(
    name: str, shards: int, known: Callable[[str], str], store: Callable[..., Any]
) -> None:
    known(name)
    state = read_state(name)
    if state is None:
        pytest.skip("the server is not one that `bakeoff servers up` started")
    rows = np.random.default_rng(11).normal(size=(600, 32)).astype(np.float32)
    filled(store(name, build={"shards": shards}), "test_killed", rows)
    leader = psutil.Process(state.marks[0].pid)
    leader.kill()
    leader.wait(30)
    up(TABLE[name])
    again = store(name, build={"shards": shards})
    assert again.open("test_killed", 32, Metric.COSINE) == len(rows)
    query = type(again).Query()
    found = [again.search(rows[i], 1, query).ids.tolist() for i in range(len(rows))]
    again.drop("test_killed")
    assert found == [[i] for i in range(len(rows))]


@pytest.mark.parametrize("name", ["weaviate", *LUCENE])
def test_the_engine_listens_on_loopback_only(name: str, known: Callable[[str], str]) -> None:
    known(name)
    state, place = read_state(name), read_place(name)
    if state is None or place is None or place.folder not in place.program.parents:
        pytest.skip("the server is not one that `bakeoff servers up --install` made")
    family = living_processes(state.marks, place.data)
    found = {(c.laddr.ip, c.status) for one in family for c in one.net_connections("inet")}
    assert {ip for ip, status in found if status == psutil.CONN_LISTEN} <= {"127.0.0.1", "::ffff:127.0.0.1"}
    assert any(status == psutil.CONN_LISTEN for _, status in found)


OFTEN = "cluster.info.update.interval"


def _closed_to_writing(address: str, index: str, full: dict[str, str]) -> bool:
    """Tell the engine that its disk is full, and wait until it has looked."""
    asked(address, "/_cluster/settings", {"persistent": {OFTEN: "10s", **full}}, "PUT")

    def closed() -> bool:
        kept = asked(address, f"/{index}/_settings")[index]["settings"]["index"]
        return kept.get("blocks", {}).get("read_only_allow_delete") == "true"

    return _soon(closed)


def _open_again(address: str, full: dict[str, str]) -> None:
    """The disk has room again; the engine sees it when it looks next."""
    asked(address, "/_cluster/settings", {"persistent": dict.fromkeys(full)}, "PUT")

    def takes_an_index() -> bool:
        try:
            asked(address, "/bakeoff_test_room", {}, "PUT")
        except HTTPError:
            return False
        asked(address, "/bakeoff_test_room", method="DELETE")
        return True

    assert _soon(takes_an_index)
    asked(address, "/_cluster/settings", {"persistent": {OFTEN: None}}, "PUT")


def _soon(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 120
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.5)
    return True
