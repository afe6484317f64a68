"""A server whose disk is full: its system fails in the engine's words, the other completes, and room completes it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.cli import console
from bakeoff.errors import StoreError
from bakeoff.runs.run import run
from bakeoff.runtime.servers.base import Server, Site, free_ports
from bakeoff.runtime.servers.control import TABLE, UNPRIVILEGED, down, up
from bakeoff.runtime.servers.records import read_state, write_place
from bakeoff.types import Batch, Metric, Status

pytestmark = pytest.mark.slow

WORDS = {
    "pgvector": "No space left on device",
    "redis": "No space left on device|AOF|MISCONF",
    "weaviate": "no space left on device|read-only|disk usage",
}
SIZES = [("pgvector", "160m"), ("redis", "16m"), ("weaviate", "200m")]
BUILT = TABLE["weaviate"].find()
"""Looked for before a test has a BAKEOFF_HOME of its own; no wheel brings it."""


@pytest.fixture
def small(
    home: Path, disk: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str, str], Any]]:
    """Starts a server whose data lie on a small disk, and tells its store where it is."""
    started: list[Server] = []

    def start(name: str, size: str) -> Any:
        server = TABLE[name]
        program = BUILT if name == "weaviate" else server.find()
        if program is None:
            pytest.skip(server.how)
        room = disk(size)
        user = UNPRIVILEGED if server.refuses_root and os.geteuid() == 0 else None
        if name == "weaviate":
            monkeypatch.setenv("BAKEOFF_WEAVIATE_SERVER", str(program))
        server.folder.mkdir(parents=True)
        place = Site(server.folder, room.at / "data", free_ports(server.ports), "a-password", program, user)
        write_place(name, place)
        started.append(server)
        up(server)
        state = read_state(name)
        assert state is not None
        for variable, value in state.settings.items():
            monkeypatch.setenv(variable, value)
        return room

    yield start
    for server in started:
        down(server, data=True)


@pytest.mark.parametrize(("name", "size"), SIZES)
def test_a_full_disk_fails_one_system_and_room_completes_it(
    name: str,
    size: str,
    small: Callable[[str, str], Any],
    beside_exact: Callable[..., Path],
    statuses: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = small(name, size)
    monkeypatch.setenv("BAKEOFF_SERVER_TIMEOUT", "20")
    path = beside_exact(name)
    room.fill()
    told = statuses(run(path, out=Path("run")))
    assert told["exact"][0] == Status.DONE
    status, reason = told[name]
    assert status == Status.FAILED and reason, told
    assert any(word in reason for word in WORDS[name].split("|")), reason
    room.free()
    up(TABLE[name])  # one that ended over it is started again
    again = statuses(run(path, out=Path("run")))
    assert {one for one, _ in again.values()} == {Status.DONE}, again


def test_the_command_ends_with_1(
    small: Callable[[str, str], Any], beside_exact: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    from bakeoff.cli.app import app

    room = small("pgvector", "160m")
    beside_exact("pgvector")
    room.fill()
    words = ["run", "bakeoff.yaml", "--out", "run"]
    assert console.run_guarded(lambda: app(words, standalone_mode=False)) == 1
    assert "No space left on device" in " ".join("".join(capsys.readouterr()).split())


@pytest.mark.parametrize(("name", "size"), SIZES)
def test_a_disk_that_becomes_full_with_the_last_rows(
    name: str,
    size: str,
    small: Callable[[str, str], Any],
    store: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the engine took but cannot write down is never called ready, and nobody waits for it for ever."""
    room, rows = small(name, size), np.random.default_rng(3).normal(size=(40, 2000)).astype(np.float32)
    monkeypatch.setenv("BAKEOFF_SERVER_TIMEOUT", "5")
    one = store(name)
    one.create("full", 2000, Metric.COSINE)
    room.fill(leave=20_000)
    with pytest.raises(StoreError):
        one.insert(Batch(np.arange(40, dtype=np.int64), vectors=rows))
        one.ready()
