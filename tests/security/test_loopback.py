"""What listens, listens on this machine only: the dashboard, and servers that are started here."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from bakeoff.runtime.servers.base import HOST, Site
from bakeoff.runtime.servers.control import TABLE

BAKEOFF = Path(sysconfig.get_path("scripts")) / "bakeoff"
EVERYWHERE = {"milvus"}
"""Servers that cannot be told where to listen; their documentation says so."""


def listening(family: list[psutil.Process]) -> set[str]:
    """The addresses on which processes take connections."""
    found = set()
    for one in family:
        with contextlib.suppress(psutil.Error):
            found |= {c.laddr.ip for c in one.net_connections("inet") if c.status == psutil.CONN_LISTEN}
    return found


def free_port() -> int:
    with socket.socket() as knock:
        knock.bind((HOST, 0))
        return int(knock.getsockname()[1])


@pytest.fixture
def dashboard(home: Path) -> Iterator[psutil.Process]:
    pytest.importorskip("streamlit")
    Path("runs").mkdir()
    port = free_port()
    command = [BAKEOFF, "dashboard", "--no-browser", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = psutil.Process(process.pid)
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and not listening([found, *found.children(recursive=True)]):
        time.sleep(0.2)
    yield found
    for one in (*found.children(recursive=True), found):
        with contextlib.suppress(psutil.Error):
            one.terminate()
    process.wait(60)


@pytest.mark.slow
def test_the_dashboard_listens_on_loopback_only(dashboard: psutil.Process) -> None:
    assert listening([dashboard, *dashboard.children(recursive=True)]) == {HOST}


@pytest.mark.parametrize("name", ["redis", "pgvector", "chroma"])
def test_servers_listen_on_loopback_only(
    name: str, engine: Callable[[str], dict[str, str]], engines: Path
) -> None:
    engine(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAKEOFF_HOME", str(engines))
        from bakeoff.runtime.servers.processes import living_processes
        from bakeoff.runtime.servers.records import read_place, read_state

        state, place = read_state(name), read_place(name)
    assert state is not None and place is not None
    assert listening(living_processes(state.marks, place.data)) == {HOST}


def test_every_server_is_told_to_listen_here(tmp_path: Path) -> None:
    """By its command line or its settings; one that cannot be told is named above and in docs/servers.md."""
    for name, server in TABLE.items():
        if name in EVERYWHERE:
            continue
        data = tmp_path / name / "data"
        data.mkdir(parents=True)
        (data / "PG_VERSION").touch()  # a cluster that is there already is not made again
        site = Site(
            tmp_path / name, data, tuple(range(4001, 4001 + server.ports)), "password", Path("/bin/true")
        )
        server.prepare(site)
        try:
            said = " ".join(server.command(site)) + str(server.environment())
        except Exception as exc:  # noqa: BLE001 - an engine whose tools are not installed
            pytest.skip(f"{name}: {exc}")
        said += "".join(path.read_text() for path in data.rglob("*") if path.is_file())
        assert HOST in said, name
    docs = (Path(__file__).parents[2] / "docs" / "servers.md").read_text(encoding="utf-8")
    assert "Milvus listens on" in " ".join(docs.split())


def test_no_password_stands_on_a_command_line(tmp_path: Path) -> None:
    for name in ("redis", "pgvector", "chroma"):
        server = TABLE[name]
        site = Site(
            tmp_path, tmp_path, tuple(range(4001, 4001 + server.ports)), "pass-word-here", Path("/bin/true")
        )
        assert "pass-word-here" not in " ".join(server.command(site))
