"""up, down, status: starts a server once, waits until it answers, and stops it with all its processes."""

from __future__ import annotations

import difflib
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bakeoff.errors import SettingError, StoreError
from bakeoff.fingerprint import fingerprint
from bakeoff.runtime.servers import processes
from bakeoff.runtime.servers.base import HOST, NOT_YET, Server, Site, free_ports, is_free
from bakeoff.runtime.servers.chroma import ChromaServer
from bakeoff.runtime.servers.elasticsearch import ElasticsearchServer
from bakeoff.runtime.servers.milvus import MilvusServer
from bakeoff.runtime.servers.opensearch import OpensearchServer
from bakeoff.runtime.servers.pgvector import PgvectorServer
from bakeoff.runtime.servers.records import (
    ServerState,
    forget,
    read_place,
    read_state,
    server_lock,
    write_place,
    write_state,
)
from bakeoff.runtime.servers.redis import RedisServer
from bakeoff.runtime.servers.weaviate import WeaviateServer
from bakeoff.storage.environment import get_setting

if TYPE_CHECKING:
    from pydantic import BaseModel


Tell = Callable[[str], None]
LOG = "log"
LAST_LINES = 15
PAUSE = 0.1


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """State of a server: running, not answering, crashed, down or not installed; other fields if it was started."""

    name: str
    state: str
    version: str = ""
    address: str = ""
    line: str = ""
    pid: int | None = None
    memory_mb: float | None = None
    since: float | None = None
    note: str = ""


def choose_servers(names: list[str]) -> list[Server]:
    """Servers by name; all if none is named."""
    unknown = [name for name in names if name not in TABLE]
    if unknown:
        near = difflib.get_close_matches(unknown[0], TABLE, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise SettingError(f"no server is called {unknown[0]!r}.{hint} Servers: {', '.join(TABLE)}.")
    return [TABLE[name] for name in dict.fromkeys(names)] or list(TABLE.values())


def up(server: Server, *, install: bool = False, tell: Tell = lambda _: None) -> ServerStatus:
    """Start a server and wait until it answers; a running one is left alone."""
    with server_lock(server.folder):
        now = status(server)
        if now.state == "running":
            return now
        _stop(server)
        site = choose_place(server, _program(server, install, tell))
        tell(f"{server.name}: starting on {HOST}:{site.port}")
        server.prepare(site)
        write_state(server.name, _start_and_wait(server, site))
    return status(server)


def down(server: Server, *, data: bool = False) -> bool:
    """Stop a server and all its processes, and with `data` delete its data; False if it was not started."""
    if not server.folder.exists():
        return False
    with server_lock(server.folder):
        was = read_state(server.name) is not None
        _stop(server)
        if data:
            forget(server.name)
    return was


def status(server: Server) -> ServerStatus:
    """Current state of a server; a running one is asked."""
    state, place = read_state(server.name), read_place(server.name)
    if state is None or place is None:
        there = server.find() is not None
        return (
            ServerStatus(server.name, "down")
            if there
            else ServerStatus(server.name, "not installed", note=server.how)
        )
    family = processes.living_processes(state.marks, place.data)
    now = _state(server, place, family)
    return ServerStatus(
        name=server.name,
        state=now,
        version=state.version,
        address=state.address,
        line=state.line,
        pid=family[0].pid if family else state.marks[0].pid,
        memory_mb=processes.memory_mb(family),
        since=state.since,
        note=""
        if now == "running"
        else f"last lines of {place.folder / LOG}:\n{tail(place.folder / LOG, 3)}",
    )


def pids_of(store: str, params: BaseModel | None) -> list[int]:
    """Processes of the server that a store with these parameters uses; empty if it was not started here."""
    server = TABLE.get(store)
    state, place = read_state(store), read_place(store)
    if server is None or state is None or place is None:
        return []
    given = next(
        (getattr(params, key, None) for key in ("dsn", "url", "uri") if getattr(params, key, None)), None
    )
    address = given if given or server.optional else get_setting(next(iter(state.settings)))
    if address is None or not _is_at(address, place):
        return []
    return [one.pid for one in processes.living_processes(state.marks, place.data)]


def data_folder_of(store: str, params: BaseModel | None) -> Path | None:
    """Data folder of the server that a store with these parameters uses; None if it was not started here."""
    place = read_place(store)
    return place.data if place is not None and pids_of(store, params) else None


def tail(log: Path, lines: int = LAST_LINES) -> str:
    """The last lines of a log."""
    try:
        return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except OSError:
        return "(no log)"


def _is_at(address: str, place: Site) -> bool:
    at = urlsplit(address)
    return at.hostname in (HOST, "localhost", "::1") and at.port == place.port


def _state(server: Server, place: Site, family: list[object]) -> str:
    if not family:
        return "crashed"
    try:
        server.version(place)
    except NOT_YET:
        return "not answering"
    return "running"


def _program(server: Server, install: bool, tell: Tell) -> Path:
    program = server.find()
    if program is None and install and server.installs:
        tell(f"{server.name}: installing into {server.folder}")
        server.install()
        program = server.find()
    if program is None:
        raise SettingError(f"{server.name} can't be started: its program is not installed. {server.how}")
    return program


def _stop(server: Server) -> None:
    state, place = read_state(server.name), read_place(server.name)
    if state is not None and place is not None:
        processes.stop(state.marks, place.data, server.grace, server.ask)
    write_state(server.name, None)


def _start_and_wait(server: Server, site: Site) -> ServerState:
    """Start and wait for the first answer; a silent server is stopped, and the end of its log is shown."""
    log = site.folder / LOG
    pid = processes.spawn(server.command(site), site.data, log, server.environment(), site.user)
    answered = False
    try:
        version = _first_answer(server, site, pid)
        answered = True
    finally:
        marks = processes.marks(pid)
        if not answered:
            processes.stop(marks, site.data, server.grace, server.ask)
    return ServerState(
        name=server.name,
        version=version,
        address=server.address(site),
        line=server.line(site),
        since=time.time(),
        marks=marks,
        settings=server.settings(site),
    )


def _first_answer(server: Server, site: Site, pid: int) -> str:
    deadline, reason = time.monotonic() + server.deadline, "no response"
    while time.monotonic() < deadline:
        if not processes.living_processes(processes.marks(pid), site.data):
            words = tail(site.folder / LOG).splitlines()
            raise StoreError(lines=[f"{server.name} exited while starting. Its last output:", *words])
        try:
            return server.version(site)
        except NOT_YET as exc:
            reason = str(exc)
        time.sleep(PAUSE)
    silent = f"{server.name} does not answer on {HOST}:{site.port} after {server.deadline:.0f} s ({reason})."
    raise StoreError(lines=[f"{silent} Its last output:", *tail(site.folder / LOG).splitlines()])


UNPRIVILEGED = "nobody"
SHARED = Path("/var/lib/bakeoff")
"""Data location if root starts an engine that refuses root, and root's own folders are closed to others."""


def choose_place(server: Server, program: Path) -> Site:
    """The location of a server, created if missing."""
    folder = server.folder
    user = UNPRIVILEGED if server.refuses_root and os.name == "posix" and os.geteuid() == 0 else None
    before = read_place(server.name)
    ports = before.ports if before and all(map(is_free, before.ports)) else free_ports(server.ports)
    password = before.password if before else secrets.token_urlsafe(24)
    data = before.data if before else _data_folder(folder, server.name, user)
    site = Site(folder, data, ports, password, program, user)
    _make(site)
    write_place(server.name, site)
    return site


def _data_folder(folder: Path, name: str, user: str | None) -> Path:
    if user is None or all(_open_to_others(parent) for parent in (folder, *folder.parents)):
        return folder / "data"
    return SHARED / f"{name}-{fingerprint(str(folder))[:12]}" / "data"


def _open_to_others(folder: Path) -> bool:
    return not folder.exists() or bool(folder.stat().st_mode & stat.S_IXOTH)


def _make(site: Site) -> None:
    site.data.mkdir(parents=True, exist_ok=True)
    site.data.chmod(0o700)
    if site.user is not None:
        shutil.chown(site.data, site.user)


_ALL: tuple[Server, ...] = (
    PgvectorServer(),
    ChromaServer(),
    MilvusServer(),
    RedisServer(),
    WeaviateServer(),
    OpensearchServer(),
    ElasticsearchServer(),
)

TABLE: Mapping[str, Server] = MappingProxyType({server.name: server for server in _ALL})


def needing_a_server() -> frozenset[str]:
    """Stores that need a server, unlike those that also run in the client."""
    return frozenset(name for name, server in TABLE.items() if not server.optional)
