"""Servers that tests reach through a line that can be cut, disks that can be full, experiments of two systems."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bakeoff import registry
from bakeoff.errors import MissingExtraError
from bakeoff.runs.analysis import Result
from bakeoff.runs.run import run
from bakeoff.storage.environment import get_setting
from bakeoff.types import Status

VARIABLES = {
    "opensearch": ("BAKEOFF_OPENSEARCH_URL",),
    "elasticsearch": ("BAKEOFF_ELASTICSEARCH_URL",),
    "weaviate": ("BAKEOFF_WEAVIATE_URL", "BAKEOFF_WEAVIATE_KEY"),
    "milvus": ("BAKEOFF_MILVUS_URI",),
}
"""Engines that no wheel brings: tested where `bakeoff servers up` has started one."""
STARTED = {name: get_setting(name) for names in VARIABLES.values() for name in names}
"""Where they are, read before a test has a BAKEOFF_HOME of its own."""


class Line:
    """A TCP proxy on loopback in front of a server; `stall` lets no byte through any more, `slow` waits before each."""

    def __init__(self, port: int) -> None:
        self._port, self._open = port, threading.Event()
        self._open.set()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.slow, self.passed = 0.0, 0
        threading.Thread(target=self._accept, daemon=True).start()

    def stall(self) -> None:
        """Keep every byte back from now on; connections stay as they are."""
        self._open.clear()

    def resume(self) -> None:
        """Let bytes through again."""
        self._open.set()

    def close(self) -> None:
        """End every connection."""
        self.resume()
        for one in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._port))
                self._sockets += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                time.sleep(self.slow)
                self._open.wait()
                sink.sendall(data)
                self.passed += len(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


@pytest.fixture
def line() -> Iterator[Callable[[int], Line]]:
    """How a test puts a line in front of a port of this machine."""
    made: list[Line] = []

    def make(port: int) -> Line:
        made.append(Line(port))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """The address of an engine that `bakeoff servers up` started; skips where there is none."""

    def address(name: str) -> str:
        found = STARTED[VARIABLES[name][0]]
        if not found:
            pytest.skip(f"no engine: bakeoff servers up {name} --install")
        for variable in VARIABLES[name]:
            monkeypatch.setenv(variable, STARTED[variable] or "")
        return found

    return address


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """How a test makes a store with its real engine; skips where its package is not there."""
    made: list[Any] = []

    def make(name: str, **params: Any) -> Any:
        try:
            plugin = registry.load("stores", name)
        except MissingExtraError as exc:
            pytest.skip(str(exc))
        made.append(plugin(plugin.Params(**params), tmp_path))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def statuses() -> Callable[[Result], dict[str, tuple[str, str]]]:
    """Status and reason by the name of the store."""

    def read(result: Result) -> dict[str, tuple[str, str]]:
        rows = result.systems.to_pylist()
        return {re.split(r"\W", row["store"])[0]: (row["status"], row["reason"]) for row in rows}

    return read


@pytest.fixture
def beside_exact(home: Path, laid_out: Callable[..., Path]) -> Callable[..., Path]:
    """An experiment of a store and of exact search over the tiny corpus, in the working folder."""

    def write(name: str, **params: Any) -> Path:
        path = laid_out(Path.cwd())
        text = yaml.safe_load(path.read_text())
        one = {name: params} if params else name
        text |= {"stores": [one, "exact"], "modes": ["dense"], "chunkers": ["line"]}
        path.write_text(yaml.safe_dump(text))
        return path

    return write


class Stalling:
    """A store's class whose server is silent from the call of a number on."""

    def __init__(self, name: str, at: Line, params: dict[str, str]) -> None:
        self.name, self.line, self.params, self.calls = name, at, params, 0
        try:
            self.plugin = registry.load("stores", name)
        except MissingExtraError as exc:
            pytest.skip(str(exc))

    def at(self, method: str, number: int, patch: pytest.MonkeyPatch) -> None:
        """Stall the line when a method is called for the so manieth time."""
        original = getattr(self.plugin, method)

        def stalling(store: Any, *args: Any) -> Any:
            self.calls += 1
            if self.calls == number:
                self.line.stall()
            return original(store, *args)

        patch.setattr(self.plugin, method, stalling)


@pytest.fixture
def stalling() -> type[Stalling]:
    """How a test gets a store whose server falls silent."""
    return Stalling


@pytest.fixture
def stalled(
    beside_exact: Callable[..., Path], statuses: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Callable[[Stalling, str, int], tuple[str, str]]:
    """Status and reason of a store that fell silent at a call; exact beside it is done, and later it is done too."""

    def ran(one: Stalling, method: str, number: int) -> tuple[str, str]:
        path = beside_exact(one.name, **one.params)
        with monkeypatch.context() as patch:
            one.at(method, number, patch)
            first = run(path, out=Path("run"))
        told: dict[str, tuple[str, str]] = statuses(first)
        assert told["exact"][0] == Status.DONE
        if told[one.name][0] == Status.PARTIAL:
            scored = set(first.scores["system"].to_pylist())
            assert any(one.name in system for system in scored), "what was measured before is lost"
        one.line.resume()
        monkeypatch.delenv("BAKEOFF_SERVER_TIMEOUT")
        again = statuses(run(path, out=Path("run")))
        assert {status for status, _ in again.values()} == {Status.DONE}, again
        return told[one.name]

    return ran


class Disk:
    """A small file system; `fill` leaves so many bytes of it, `free` gives them back."""

    def __init__(self, at: Path) -> None:
        self.at, self._ballast = at, at / "ballast"

    def fill(self, leave: int = 0) -> None:
        """Write until the disk is full, then give some bytes back."""
        with self._ballast.open("wb", buffering=0) as out, contextlib.suppress(OSError):
            while True:
                out.write(bytes(65536))
        with self._ballast.open("rb+") as out:
            out.truncate(max(self._ballast.stat().st_size - leave, 0))

    def free(self) -> None:
        """Take the ballast away."""
        self._ballast.unlink(missing_ok=True)


@pytest.fixture
def disk() -> Iterator[Callable[[str], Disk]]:
    """Mounts a small file system that every user can enter; skips where that is not allowed."""
    at = Path(tempfile.mkdtemp(prefix="bakeoff-disk-"))
    at.chmod(0o755)
    mounted: list[Path] = []

    def mount(size: str) -> Disk:
        command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "bakeoff-test", str(at)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            pytest.skip("mount is not there")
        if done.returncode:
            pytest.skip(f"no file system of its own: {done.stderr.strip()}")
        mounted.append(at)
        return Disk(at)

    yield mount
    if mounted:
        subprocess.run(["umount", str(at)], check=True)
    at.rmdir()
