"""Helpers for server adapters: address, timeouts, shards, collection names, connections per thread.

Passwords never enter a file or a hash.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
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
"""URL parameters that are not secret."""
PREFIX = "bakeoff_"
"""The prefix of our collections on a server."""


class Closable(Protocol):
    """Something with `close`."""

    def close(self) -> None: ...


C = TypeVar("C", bound=Closable)
S = TypeVar("S", bound=type)


def translate_server_errors(
    engine: str, *errors: type[Exception], advice: Callable[[Exception], str] = lambda _: ""
) -> Callable[[S], S]:
    """Decorate a store so that errors in its public methods become StoreErrors, with advice for a timeout."""
    return translate_errors(engine, *errors, advice=lambda exc: advice(exc) or _too_slow(exc))


def _too_slow(exc: Exception) -> str:
    """Advice for a timeout; empty for other errors."""
    slow = any(word in f"{type(exc).__name__} {exc}".lower() for word in ("timeout", "timed out"))
    return f". It had {request_timeout():g} s; if it is overloaded, set a longer {TIMEOUT}" if slow else ""


def without_secret(value: str | None) -> str | None:
    """Reject secrets in a parameter, because parameters are stored with results and hashed into names."""
    if value is None:
        return None
    if "::" in value.partition("//")[0]:
        raise ValueError("chains one file system inside another; give the address of the file itself")
    at = urlsplit(value)
    user = at.netloc.rpartition("@")[0]
    if at.password or "password=" in value.replace(" ", "").lower() or (user and at.scheme in WEB):
        raise ValueError("contains a password; put it into the environment or .env (docs/servers.md)")
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
"""The server of an engine that also runs embedded."""


def server_of(store: str, variable: str, address: str | None, *, start: str = "") -> Destination:
    """The address of a store's server: as given, else from its variable, else a StoreError with advice.

    `start` is the command that starts a server unknown to `bakeoff servers up`.
    """
    if address:
        return Destination(address, SettingSource.EXPERIMENT)
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


def given_server(address: str | None, variable: str = "") -> Destination | None:
    """The server of an engine that also runs embedded: as given, else from its variable, else None."""
    if address:
        return Destination(address, SettingSource.EXPERIMENT)
    found = find_setting(variable) if variable else None
    return Destination(found.text, found.source) if found is not None else None


def request_timeout() -> float:
    """The timeout of one request in seconds: BAKEOFF_SERVER_TIMEOUT, else 60."""
    value = get_setting(TIMEOUT)
    try:
        seconds = SECONDS if value is None else float(value)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise SettingError(
            f"{TIMEOUT} is {value!r}: it must be a number of seconds for one request, such as 60."
        )
    return seconds


class ShardSettings(Settings):
    """Shards and replicas of a collection."""

    shards: Annotated[int, Field(ge=1, description="number of shards")] = 1
    replicas: Annotated[int, Field(ge=0, description="additional copies of each shard, on other nodes")] = 0


def require_server(where: str, address: str | None, spread: ShardSettings) -> None:
    """Reject shards and replicas without a server: an embedded engine has one shard and no replica."""
    if address is None and (spread.shards, spread.replicas) != (1, 0):
        raise ValueError(f"shards and replicas need a server: give its {where}, or remove them")


def expect_spread(engine: str, held: tuple[int, int], asked: ShardSettings) -> None:
    """Raise a StoreError unless a collection has the requested shards and replicas."""
    if held != (asked.shards, asked.replicas):
        raise StoreError(
            f"{engine} has this collection in {held[0]} shards with {held[1]} replicas; {asked.shards} "
            f"with {asked.replicas} were requested. Each replica needs its own node."
        )


def own_collections(names: Iterable[str], prefix: str = PREFIX) -> list[str]:
    """The names of our own collections among a server's, without the prefix, sorted."""
    return sorted(name.removeprefix(prefix) for name in names if name.startswith(prefix))


def password(store: str, server: Destination) -> dict[str, str]:
    """The password from BAKEOFF_<STORE>_PASSWORD as a client argument; empty if it is not set."""
    found = secret_for(f"BAKEOFF_{store.upper()}_PASSWORD", server)
    return {"password": found} if found else {}


class _OpenConnection(Generic[C]):
    """A connection that is closed when its thread ends."""

    def __init__(self, connection: C) -> None:
        self.connection = connection

    def __del__(self) -> None:
        self.connection.close()


class ThreadLocalConnections(Generic[C]):
    """One connection per thread, closed when the thread ends."""

    def __init__(self, connect: Callable[[], C]) -> None:
        self._connect = connect
        self._local, self._closed = threading.local(), False
        self._held: weakref.WeakSet[_OpenConnection[C]] = weakref.WeakSet()

    def mine(self) -> C:
        """This thread's connection, opened on first use."""
        if self._closed:
            raise StoreError("this store is closed: open the collection again with a new store.")
        held: _OpenConnection[C] | None = getattr(self._local, "held", None)
        if held is None:
            held = self._local.held = _OpenConnection(self._connect())
            self._held.add(held)
        return held.connection

    def close(self) -> None:
        """Close every thread's connection and refuse new ones."""
        self._closed = True
        for held in list(self._held):
            held.connection.close()
        self._local = threading.local()
