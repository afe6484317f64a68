"""Base of a server: where its program is found, how it is started, and how its health is checked."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import urllib.request
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from bakeoff.storage.weights import home_folder
from bakeoff.types import Json

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Site:
    """Where one server runs: its folders, loopback ports, password, and user."""

    folder: Path
    data: Path
    ports: tuple[int, ...]
    password: str
    program: Path
    user: str | None = None

    @property
    def port(self) -> int:
        """The client port."""
        return self.ports[0]

    @property
    def http(self) -> str:
        """URL of the first port."""
        return f"http://{HOST}:{self.port}"


class Server:
    """One engine; `name` is that of its store.

    A subclass implements `find`, `command`, `version` and `settings`; the rest has defaults.
    """

    name: ClassVar[str]
    how: ClassVar[str]
    """How to install the program, if `find` does not find it."""
    ports: ClassVar[int] = 1
    deadline: ClassVar[float] = 60.0
    """Seconds from start to the first answer."""
    grace: ClassVar[float] = 20.0
    """Seconds from SIGTERM to SIGKILL."""
    ask: ClassVar[signal.Signals] = signal.SIGTERM
    """The signal that stops it."""
    refuses_root: ClassVar[bool] = False
    optional: ClassVar[bool] = False
    """Whether its store runs in the client if no address is set."""

    @property
    def folder(self) -> Path:
        """The server's own folder."""
        return home_folder() / "servers" / self.name

    def find(self) -> Path | None:
        """The program, or None."""
        raise NotImplementedError

    def install(self) -> None:
        """Install the program below the server's folder; only `up --install` calls it."""
        raise NotImplementedError

    def prepare(self, site: Site) -> None:
        """Prepare a start: create the contents of the data folder if missing."""

    def command(self, site: Site) -> list[str]:
        """The command line, without passwords: everybody can read it."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        """Additional environment variables of the server's process."""
        return {}

    def version(self, site: Site) -> str:
        """The server's version; raises an error of NOT_YET until it answers."""
        raise NotImplementedError

    def settings(self, site: Site) -> dict[str, str]:
        """The variables by which its store finds it: BAKEOFF_…."""
        raise NotImplementedError

    def line(self, site: Site) -> str:  # noqa: ARG002 - some need it
        """The line in bakeoff.yaml for the store that uses it."""
        return self.name

    def address(self, site: Site) -> str:
        """Its address, without the password."""
        return site.http

    @property
    def installs(self) -> bool:
        """Whether `up --install` can install the program."""
        return type(self).install is not Server.install


class NotYetError(Exception):
    """A server that does not answer, or is not healthy."""


NOT_YET = (NotYetError, OSError, ValueError)
"""Errors that `version` may raise while a server starts; urllib's and socket's are OSErrors."""


def given_program(server: str, program: str) -> Path | None:
    """The program in BAKEOFF_<SERVER>_SERVER, for example BAKEOFF_REDIS_SERVER, else the first on the PATH."""
    path = os.environ.get(f"BAKEOFF_{server.upper()}_SERVER") or shutil.which(program)
    return Path(path) if path and Path(path).exists() else None


def packaged_program(server: str, package: str, inner: str) -> Path | None:
    """The program in an installed package, unless the environment names another."""
    spec = find_spec(package)
    if spec is None or spec.origin is None or f"BAKEOFF_{server.upper()}_SERVER" in os.environ:
        return None
    return Path(spec.origin).parent / inner


def get_json(url: str, timeout: float = 5.0) -> Json:
    """JSON from a local health endpoint."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy can't reach this machine
    with direct.open(url, timeout=timeout) as answer:
        try:
            return json.loads(answer.read())
        except RecursionError as exc:
            raise NotYetError(f"{url} does not answer with a health page") from exc


def free_ports(count: int) -> tuple[int, ...]:
    """Free loopback ports."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind((HOST, 0))
        return tuple(one.getsockname()[1] for one in sockets)
    finally:
        for one in sockets:
            one.close()


def is_free(port: int) -> bool:
    """Whether a loopback port is free."""
    with socket.socket() as knock:
        knock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            knock.bind((HOST, port))
        except OSError:
            return False
    return True
