"""What adapters of servers share: where the server is, how long it may take, how it spreads a collection, its names.

No password stands in a file or a hash, and each thread has a connection of its own.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from inspect import isfunction
from typing import Annotated, Generic, Protocol, TypeVar
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, Field

from bakeoff.errors import SettingError, StoreError
from bakeoff.plugins.kit.adapter import Settings, translate_errors
from bakeoff.storage.consent import Destination, secret_for
from bakeoff.storage.environment import SettingSource, find_setting, get_setting

SECONDS = 60.0
TIMEOUT = "BAKEOFF_SERVER_TIMEOUT"
WEB = ("http", "https")
PLAIN = ("grpc", "db", "sslmode", "sslrootcert", "connect_timeout", "application_name")
"""Parameters of an address that are not secret."""
PREFIX = "bakeoff_"
"""What the names of our collections begin with on a server."""


class Closable(Protocol):
    """Something that is given back."""

    def close(self) -> None: ...


C = TypeVar("C", bound=Closable)
S = TypeVar("S", bound=type)


def translate_server_errors(engine: str, *errors: type[Exception]) -> Callable[[S], S]:
    """A decorator of a store: what any of its public methods raises becomes a StoreError in the engine's own words."""

    def wrap(store: S) -> S:
        for name, method in list(vars(store).items()):
            if isfunction(method) and not name.startswith("_"):
                setattr(store, name, translate_errors(engine, *errors, advice=_too_slow)(method))
        return store

    return wrap


def _too_slow(exc: Exception) -> str:
    """What to do where a server did not answer in time."""
    slow = any(word in f"{type(exc).__name__} {exc}".lower() for word in ("timeout", "timed out"))
    return f". It had {request_timeout():g} s: is it overloaded? {TIMEOUT} gives it more." if slow else ""


def without_secret(value: str | None) -> str | None:
    """Refuse a secret in a parameter: parameters are stored with results and hashed into names."""
    if value is None:
        return None
    at = urlsplit(value)
    user = at.netloc.rpartition("@")[0]
    if at.password or "password=" in value.replace(" ", "").lower() or (user and at.scheme in WEB):
        raise ValueError("holds a password; put that into the environment or .env (docs/servers.md)")
    names = {name.lower() for name, _ in parse_qsl(at.query, keep_blank_values=True)}
    if not names <= {*PLAIN} or at.fragment:
        raise ValueError(
            f"has something after ? or # that would be stored (allowed: {', '.join(PLAIN)}); put a key into the "
            "environment or .env (docs/servers.md)"
        )
    return value


Address = Annotated[
    str | None,
    AfterValidator(without_secret),
    Field(description="None: from the environment, .env or `servers up`", repr=False),
]

ServerUrl = Annotated[
    str | None, AfterValidator(without_secret), Field(description="a server; None: embedded")
]
"""Where an engine's server is that also works inside the client."""


def server_of(store: str, variable: str, given: str | None, *, start: str = "") -> Destination:
    """Where a store's server is: as given, else by its variable; a StoreError says how to get one.

    `start` is how to start a server that `bakeoff servers up` does not know.
    """
    if given:
        return Destination(given, SettingSource.EXPERIMENT)
    found = find_setting(variable)
    if found is None:
        raise StoreError(
            f"no {store} server is known. Start one with `{start}` and set "
            f"{variable} in the environment or in .env."
            if start
            else f"no {store} server is known. Start one with `bakeoff servers up {store}`, or set {variable} in the "
            "environment or in .env."
        )
    return Destination(found.text, found.source)


def given_server(given: str | None, variable: str = "") -> Destination | None:
    """The server of an engine that also works inside the client: as given, else by its variable, else None."""
    if given:
        return Destination(given, SettingSource.EXPERIMENT)
    found = find_setting(variable) if variable else None
    return Destination(found.text, found.source) if found is not None else None


def request_timeout() -> float:
    """Seconds that one request to a server may take: BAKEOFF_SERVER_TIMEOUT, else 60."""
    said = get_setting(TIMEOUT)
    try:
        seconds = SECONDS if said is None else float(said)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise SettingError(f"{TIMEOUT} is {said!r}: it is the seconds that one request may take, such as 60.")
    return seconds


class ShardSettings(Settings):
    """How a collection is spread over the nodes of a cluster."""

    shards: Annotated[int, Field(ge=1, description="parts the rows are divided into")] = 1
    replicas: Annotated[int, Field(ge=0, description="further copies of each part, on other nodes")] = 0


def require_server(where: str, given: str | None, spread: ShardSettings) -> None:
    """Refuse to spread what has no server: an engine inside the client is one part without copies."""
    if given is None and (spread.shards, spread.replicas) != (1, 0):
        raise ValueError(f"shards and replicas need a server: give its {where}, or leave them out")


def expect_spread(engine: str, held: tuple[int, int], asked: ShardSettings) -> None:
    """A collection has the shards and the further copies that were asked for, or a StoreError says what it has."""
    if held != (asked.shards, asked.replicas):
        raise StoreError(
            f"{engine} has this collection in {held[0]} shards with {held[1]} replicas; {asked.shards} with "
            f"{asked.replicas} were asked for. A replica needs a node of its own."
        )


def own_collections(names: Iterable[str], prefix: str = PREFIX) -> list[str]:
    """The collections among a server's that runs made, by the names `create` was given, sorted."""
    return sorted(name.removeprefix(prefix) for name in names if name.startswith(prefix))


def password(store: str, server: Destination) -> dict[str, str]:
    """The password for an address that is given without one, as an argument of a client; none where it is not set."""
    found = secret_for(f"BAKEOFF_{store.upper()}_PASSWORD", server)
    return {"password": found} if found else {}


class _OpenConnection(Generic[C]):
    """A connection that is closed when its holder is released: at the latest with the thread that holds it."""

    def __init__(self, connection: C) -> None:
        self.connection = connection

    def __del__(self) -> None:
        self.connection.close()


class ThreadLocalConnections(Generic[C]):
    """One connection for each thread that asks, closed when the thread ends: none waits for another's answer."""

    def __init__(self, connect: Callable[[], C]) -> None:
        self._connect = connect
        self._local, self._closed = threading.local(), False
        self._held: weakref.WeakSet[_OpenConnection[C]] = weakref.WeakSet()

    def mine(self) -> C:
        """This thread's connection, made when it is first asked for."""
        if self._closed:
            raise StoreError("this store is closed: open the collection again with a new one.")
        held: _OpenConnection[C] | None = getattr(self._local, "held", None)
        if held is None:
            held = self._local.held = _OpenConnection(self._connect())
            self._held.add(held)
        return held.connection

    def close(self) -> None:
        """Close every thread's connection; from now on there are none."""
        self._closed = True
        for held in list(self._held):
            held.connection.close()
        self._local = threading.local()
