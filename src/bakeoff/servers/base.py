"""What a server is: where its program is found, how it is started, and how it is asked whether it answers."""

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
    """Where one server works: folders of its own, loopback ports, its password, and whom it runs as."""

    folder: Path
    data: Path
    ports: tuple[int, ...]
    password: str
    program: Path
    user: str | None = None

    @property
    def port(self) -> int:
        """The port that clients use."""
        return self.ports[0]

    @property
    def http(self) -> str:
        """The first port as an address."""
        return f"http://{HOST}:{self.port}"


class Server:
    """One engine; `name` is that of the store it serves.

    A subclass gives `find`, `command`, `version` and `settings`; the rest has defaults.
    """

    name: ClassVar[str]
    how: ClassVar[str]
    """How the program is had, where `find` does not find it."""
    ports: ClassVar[int] = 1
    deadline: ClassVar[float] = 60.0
    """Seconds from start to the first answer."""
    grace: ClassVar[float] = 20.0
    """Seconds from SIGTERM to SIGKILL."""
    ask: ClassVar[signal.Signals] = signal.SIGTERM
    """The signal that asks it to end."""
    refuses_root: ClassVar[bool] = False
    optional: ClassVar[bool] = False
    """Whether its store works inside the client where no address is given."""

    @property
    def folder(self) -> Path:
        """The server's own folder."""
        return home_folder() / "servers" / self.name

    def find(self) -> Path | None:
        """The program, or None."""
        raise NotImplementedError

    def install(self) -> None:
        """Put the program below the server's folder; only `up --install` calls it."""
        raise NotImplementedError

    def prepare(self, site: Site) -> None:
        """What is done before a start: make the data folder's content where it is not there yet."""

    def command(self, site: Site) -> list[str]:
        """The command line; passwords do not belong there, everybody can read it."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        """Environment variables for the server's process, added to those of this one."""
        return {}

    def version(self, site: Site) -> str:
        """What the server says it is; raises an error of NOT_YET until it answers."""
        raise NotImplementedError

    def settings(self, site: Site) -> dict[str, str]:
        """The variables by which its store finds it: BAKEOFF_…."""
        raise NotImplementedError

    def line(self, site: Site) -> str:  # noqa: ARG002 - some need it
        """How bakeoff.yaml names the store that uses it."""
        return self.name

    def address(self, site: Site) -> str:
        """Where it listens, without its password."""
        return site.http

    @property
    def installs(self) -> bool:
        """Whether `up --install` can bring the program."""
        return type(self).install is not Server.install


class NotYetError(Exception):
    """A server that does not answer, or not as a healthy one does."""


NOT_YET = (NotYetError, OSError, ValueError)
"""What `version` may raise while a server starts; urllib's and socket's errors are OSErrors."""


def given_program(server: str, program: str) -> Path | None:
    """The program that BAKEOFF_SERVER_SERVER names, as in BAKEOFF_REDIS_SERVER, else the first on the PATH."""
    found = os.environ.get(f"BAKEOFF_{server.upper()}_SERVER") or shutil.which(program)
    return Path(found) if found and Path(found).exists() else None


def packaged_program(server: str, package: str, inner: str) -> Path | None:
    """The program in an installed package, unless the environment names another."""
    found = find_spec(package)
    if found is None or found.origin is None or f"BAKEOFF_{server.upper()}_SERVER" in os.environ:
        return None
    return Path(found.origin).parent / inner


def get_json(url: str, timeout: float = 5.0) -> Json:
    """What a health address of this machine answers."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy cannot reach this machine
    with direct.open(url, timeout=timeout) as answer:
        try:
            return json.loads(answer.read())
        except RecursionError as exc:
            raise NotYetError(f"{url} does not answer with a health page") from exc


def free_ports(count: int) -> tuple[int, ...]:
    """Loopback ports that nobody listens on."""
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind((HOST, 0))
        return tuple(one.getsockname()[1] for one in held)
    finally:
        for one in held:
            one.close()


def is_free(port: int) -> bool:
    """Whether nobody listens on a loopback port."""
    with socket.socket() as knock:
        knock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            knock.bind((HOST, port))
        except OSError:
            return False
    return True
