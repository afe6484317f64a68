"""What adapters of servers share: where the server is, no passwords in files and hashes, a connection a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from inspect import isfunction
from typing import Annotated, Generic, Protocol, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from bakeoff.environment import setting
from bakeoff.errors import StoreError
from bakeoff.plugins.stores._base import translated


class Closable(Protocol):
    """Something that is given back."""

    def close(self) -> None: ...


C = TypeVar("C", bound=Closable)
S = TypeVar("S", bound=type)


def speaking_of(engine: str, *errors: type[Exception]) -> Callable[[S], S]:
    """A decorator of a store: what any of its public methods raises becomes a StoreError in the engine's own words."""

    def wrap(store: S) -> S:
        for name, method in list(vars(store).items()):
            if isfunction(method) and not name.startswith("_"):
                setattr(store, name, translated(engine, *errors)(method))
        return store

    return wrap


def without_password(value: str | None) -> str | None:
    """Refuse a password in a parameter: parameters are stored with results and hashed into names."""
    if value is not None and (urlsplit(value).password or "password=" in value.replace(" ", "").lower()):
        raise ValueError("holds a password; put that into the environment or .env (docs/servers.md)")
    return value


Address = Annotated[
    str | None,
    AfterValidator(without_password),
    Field(description="None: from the environment, .env or `servers up`", repr=False),
]

ServerUrl = Annotated[
    str | None, AfterValidator(without_password), Field(description="a server; None: embedded")
]
"""Where an engine's server is that also works inside the client."""


def address(store: str, variable: str, given: str | None) -> str:
    """Where a store's server is: as given, else by its variable; a StoreError says how to get one."""
    found = given or setting(variable)
    if not found:
        raise StoreError(
            f"no {store} server is known. Start one with `bakeoff servers up {store}`, or set {variable} in the "
            "environment or in .env."
        )
    return found


def password(store: str) -> dict[str, str]:
    """The password for an address that is given without one, as an argument of a client; none where it is not set."""
    found = setting(f"BAKEOFF_{store.upper()}_PASSWORD")
    return {"password": found} if found else {}


class EachThread(Generic[C]):
    """One connection for each thread that asks: none waits for another's answer."""

    def __init__(self, connect: Callable[[], C]) -> None:
        self._connect = connect
        self._local, self._all = threading.local(), list[C]()

    def mine(self) -> C:
        """This thread's connection, made when it is first asked for."""
        if not hasattr(self._local, "connection"):
            self._local.connection = self._connect()
            self._all.append(self._local.connection)
        found: C = self._local.connection
        return found

    def close(self) -> None:
        """Give back every thread's connection; who asks again gets a new one."""
        for connection in self._all:
            connection.close()
        self._local, self._all = threading.local(), []
