"""A cluster of two real nodes on this machine: copies of shards are made, take part, and are read back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.errors import StoreError
from bakeoff.runtime.servers import processes
from bakeoff.runtime.servers.base import NOT_YET, Site, free_ports, get_json
from bakeoff.runtime.servers.control import TABLE
from bakeoff.runtime.servers.maven import MavenServer
from bakeoff.types import Batch, Metric

NAMES = ("opensearch", "elasticsearch")
PROGRAMS = {name: (TABLE[name].folder, TABLE[name].find()) for name in NAMES}
"""Looked for before a test has a BAKEOFF_HOME of its own."""
ROWS = np.random.default_rng(5).normal(size=(200, 16)).astype(np.float32)
CLUSTER = """\
node.name: node{number}
discovery.seed_hosts: ["127.0.0.1:{first}", "127.0.0.1:{second}"]
cluster.initial_master_nodes: [node0, node1]
cluster.routing.allocation.disk.threshold_enabled: false
"""


def configured(server: MavenServer, site: Site, number: int, transports: tuple[int, int]) -> None:
    """The settings that a single node gets, but for a cluster."""
    site.data.mkdir(parents=True)
    server.prepare(site)
    path = site.data / "config" / f"{server.name}.yml"
    alone = [line for line in path.read_text().splitlines() if not line.startswith("discovery.type")]
    together = CLUSTER.format(number=number, first=transports[0], second=transports[1])
    path.write_text("\n".join(alone) + "\n" + together)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Starts two nodes of an engine that is installed, and returns the address of one."""
    started: list[tuple[tuple[processes.ProcessMark, ...], Path]] = []

    def start(name: str) -> str:
        server, (folder, program) = TABLE[name], PROGRAMS[name]
        if program is None or not isinstance(server, MavenServer):
            pytest.skip(server.how)
        monkeypatch.setattr(type(server), "heap", "512m")
        ports = free_ports(4)
        first = Site(folder, tmp_path / "node0", ports[:2], "", program)
        for number, site in enumerate((first, replace(first, data=tmp_path / "node1", ports=ports[2:]))):
            configured(server, site, number, (ports[1], ports[3]))
            pid = processes.spawn(
                server.command(site), site.data, site.data / "log", server.environment(), None
            )
            started.append((processes.marks(pid), site.data))
        _wait_for_two(first.http)
        return first.http

    yield start
    for marks, data in started:
        processes.stop(marks, data, 20.0)


def _wait_for_two(address: str) -> None:
    deadline = time.monotonic() + 240
    while True:
        try:
            if get_json(f"{address}/_cluster/health")["number_of_data_nodes"] == 2:
                return
        except NOT_YET:
            pass
        assert time.monotonic() < deadline, "two nodes did not find each other"
        time.sleep(0.5)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_replicas_are_on_a_node_of_their_own(
    name: str, cluster: Callable[[str], str], store: Callable[..., Any]
) -> None:
    address = cluster(name)
    one = store(name, url=address, build={"shards": 2, "replicas": 1})
    one.create("test_copies", 16, Metric.COSINE)
    one.insert(Batch(np.arange(200, dtype=np.int64), vectors=ROWS))
    one.ready()
    copies = get_json(f"{address}/_cat/shards/bakeoff_test_copies?format=json")
    assert sorted((row["shard"], row["prirep"], row["state"]) for row in copies) == [
        (shard, kind, "STARTED") for shard in ("0", "1") for kind in ("p", "r")
    ]
    assert len({row["node"] for row in copies}) == 2
    query = type(one).Query()
    assert [one.search(row, 1, query).ids.tolist() for row in ROWS[:50]] == [[i] for i in range(50)]
    again = store(name, url=address, build={"shards": 2, "replicas": 1})
    assert again.open("test_copies", 16, Metric.COSINE) == 200
    more = store(name, url=address, build={"replicas": 2})
    with pytest.raises(StoreError, match=r"2.*2.*3"):
        more.create("test_more", 16, Metric.COSINE)
