"""Servers are started once, watched, and stopped with all they started; what is not theirs is left alone."""

import dataclasses
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from bakeoff.errors import SettingError, StoreError
from bakeoff.runtime.servers import control, processes
from bakeoff.runtime.servers.base import HOST, NotYetError, Server, Site, free_ports
from bakeoff.runtime.servers.control import LOG, choose_servers, down, pids_of, status, tail, up
from bakeoff.runtime.servers.records import read_place, read_state, write_state
from bakeoff.runtime.servers.redis import RedisServer
from bakeoff.storage import environment

REDIS = RedisServer()


@pytest.fixture
def redis(home: Path) -> Iterator[Server]:
    """A Redis of the test's own, stopped at its end."""
    if REDIS.find() is None:
        pytest.skip(REDIS.how)
    yield REDIS
    down(REDIS)


def kill(pid: int) -> None:
    process = psutil.Process(pid)
    process.kill()
    processes._reap()
    deadline = time.monotonic() + 60
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
        time.sleep(0.02)


def gone(pid: int) -> bool:
    """Whether a process has ended; an orphan that nobody reaps has, too."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_up_twice_is_one_server(redis: Server) -> None:
    first, again = up(redis), up(redis)
    assert first.state == again.state == "running"
    assert first.pid == again.pid and first.since == again.since
    assert first.version.startswith("Redis 8") and first.memory_mb is not None and first.memory_mb > 1


def test_down_leaves_nothing_running_and_keeps_the_data(redis: Server) -> None:
    running = up(redis)
    family = pids_of("redis", None)
    assert running.pid in family
    assert down(redis)
    assert all(gone(pid) for pid in family)
    assert status(redis).state == "down" and environment.server_env_file().read_text() == ""
    place = read_place("redis")
    assert place is not None and any(place.data.iterdir())
    assert not down(redis)
    assert up(redis).address == running.address


def test_down_with_its_data(redis: Server) -> None:
    up(redis)
    place = read_place("redis")
    assert place is not None
    down(redis, data=True)
    assert not place.data.exists() and read_place("redis") is None


def test_a_crash_is_seen_and_up_starts_again(redis: Server) -> None:
    before = up(redis)
    assert before.pid is not None
    kill(before.pid)
    crashed = status(redis)
    assert crashed.state == "crashed" and crashed.address == before.address and "log" in crashed.note
    after = up(redis)
    assert after.state == "running" and after.pid != before.pid


def test_a_server_that_hangs_is_seen_and_killed(redis: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RedisServer, "grace", 1.0)
    monkeypatch.setattr(RedisServer, "version", lambda self, site: _knock(site))
    pid = up(redis).pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    assert status(redis).state == "not answering"
    down(redis)
    assert gone(pid)


def _knock(site: Site) -> str:
    with socket.create_connection((HOST, site.port), timeout=0.3) as line:
        line.sendall(b"PING\r\n")
        if not line.recv(100):
            raise NotYetError("no answer")
    return "Redis 8"


def test_a_recycled_pid_is_never_killed(redis: Server) -> None:
    """Another program under the number, or the same program started at another time."""
    up(redis)
    state = read_state("redis")
    assert state is not None
    with subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True
    ) as other:
        real = psutil.Process(other.pid)
        kill(state.marks[0].pid)
        for mark in (
            processes.ProcessMark(other.pid, real.create_time(), state.marks[0].program),
            processes.ProcessMark(other.pid, real.create_time() - 100, real.exe()),
        ):
            write_state("redis", dataclasses.replace(state, marks=(mark,)))
            seen = status(redis).state
            down(redis)
            spared = other.poll() is None
            assert (seen, spared) == ("crashed", True), mark
        other.kill()


def test_secrets_are_readable_by_their_owner_only(redis: Server) -> None:
    up(redis)
    place = read_place("redis")
    assert place is not None
    holding = [
        path
        for path in place.folder.rglob("*")
        if path.is_file() and place.password in path.read_text("latin-1")
    ]
    assert {path.name for path in holding} >= {"place.json", "state.json"}
    for path in (*holding, environment.server_env_file()):
        assert path.stat().st_mode & 0o077 == 0, path
    assert place.password not in " ".join(psutil.Process(status(redis).pid).cmdline())
    assert place.password not in str(status(redis))


def test_ports_that_others_took_are_changed(redis: Server) -> None:
    up(redis)
    down(redis)
    place = read_place("redis")
    assert place is not None
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((HOST, place.port))
        taken.listen()
        again = up(redis)
    assert again.state == "running" and str(place.port) not in again.address


class Refusing(RedisServer):
    """A real server with an option it does not know."""

    name = "refusing"

    def command(self, site: Site) -> list[str]:
        return [*super().command(site), "--no-such-option", "1"]


def test_what_ends_while_it_starts_is_told_in_its_own_words(home: Path) -> None:
    if REDIS.find() is None:
        pytest.skip(REDIS.how)
    with pytest.raises(StoreError, match="no-such-option"):
        up(Refusing())
    assert status(Refusing()).state == "down"


class Silent(Server):
    """A program that runs, has a child, and never answers; when it has begun, its time is over."""

    name, how, deadline, grace = "silent", "it is Python", 600.0, 1.0

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self.child = f"import time; time.sleep(600)  # of {self.name} {os.getpid()}"

    def find(self) -> Path:
        return Path(sys.executable)

    def command(self, site: Site) -> list[str]:
        child = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {self.child!r}])"
        return [sys.executable, "-c", f"{child}; print('here I am', flush=True); time.sleep(600)"]

    def version(self, site: Site) -> str:
        if "here I am" in tail(site.folder / LOG):
            self._clock.passes(601_000)
        raise NotYetError("silence")

    def children(self) -> list[psutil.Process]:
        """What its program started and still runs, of this test alone."""
        return [one for one in psutil.process_iter() if _line(one)[2:] == [self.child]]


def test_what_does_not_answer_in_time_is_stopped_with_its_children(
    home: Path, made_clock: Callable[..., Any]
) -> None:
    server = Silent(made_clock(control))
    with pytest.raises(StoreError, match=r"(?s)on 127.*silence.*here I am"):
        up(server)
    assert server.children() == []


class Orphaned(Silent):
    """A wrapper that ends, when it is told to, while what it started goes on, as some engines do."""

    name = "orphaned"

    def command(self, site: Site) -> list[str]:
        child = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {self.child!r}])"
        told = (
            f"import pathlib\nwhile not pathlib.Path({str(site.folder / 'go')!r}).exists(): time.sleep(0.02)"
        )
        return [sys.executable, "-c", f"{child}\n{told}"]

    def version(self, site: Site) -> str:
        if not self.children():
            raise NotYetError("no child yet")
        return "1"

    def settings(self, site: Site) -> dict[str, str]:
        return {}


def _line(one: psutil.Process) -> list[str]:
    try:
        return one.cmdline() if one.status() != psutil.STATUS_ZOMBIE else []
    except psutil.Error:
        return []


def test_a_server_outlives_its_wrapper_and_is_followed(home: Path) -> None:
    server = Orphaned(time)
    wrapper = up(server).pid
    assert wrapper is not None
    (server.folder / "go").touch()
    deadline = time.monotonic() + 60
    while status(server).pid == wrapper and time.monotonic() < deadline:
        time.sleep(0.1)
    state = status(server)
    assert state.state == "running" and state.pid != wrapper
    down(server)
    assert gone(state.pid or 0)


def test_unknown_and_missing() -> None:
    with pytest.raises(SettingError, match="'pgvector'"):
        choose_servers(["pgvectr"])
    assert [server.name for server in choose_servers(["redis", "redis"])] == ["redis"]


def test_a_program_that_is_not_there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RedisServer, "find", lambda self: None)
    with pytest.raises(SettingError, match="not installed"):
        up(REDIS)
    assert status(REDIS).state == "not installed"


def test_pids_are_those_of_the_server_the_store_talks_to(
    redis: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    from types import SimpleNamespace

    pid = up(redis).pid
    assert pid in pids_of("redis", SimpleNamespace(url=None))
    assert pids_of("redis", SimpleNamespace(url="redis://elsewhere:6379/0")) == []
    monkeypatch.setenv("BAKEOFF_REDIS_URL", "redis://elsewhere:6379/0")
    assert pids_of("redis", SimpleNamespace(url=None)) == []
    assert pids_of("faiss", None) == []


def test_free_ports_differ() -> None:
    assert len(set(free_ports(20))) == 20
