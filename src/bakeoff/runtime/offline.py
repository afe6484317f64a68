"""A block in which this process opens no connection, so that checking a foreign experiment cannot send anything."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator

from bakeoff.errors import SettingError

_METHODS = ("connect", "connect_ex", "sendto", "sendmsg")
_LOOKUPS = ("getaddrinfo", "gethostbyname", "gethostbyname_ex")


@contextlib.contextmanager
def no_network() -> Iterator[None]:
    """Refuse connections and look-ups of names; sockets between local processes work."""
    with contextlib.ExitStack() as stack:
        for name in _METHODS:
            _replace(stack, socket.socket, name, _local_only(name))
        for name in _LOOKUPS:
            _replace(stack, socket, name, _refuse)
        yield


def _replace(stack: contextlib.ExitStack, owner: object, name: str, value: Callable[..., object]) -> None:
    """Another attribute until the stack ends."""
    if name in vars(owner):
        stack.callback(setattr, owner, name, vars(owner)[name])
    else:
        stack.callback(delattr, owner, name)
    setattr(owner, name, value)


def _local_only(name: str) -> Callable[..., object]:
    original = getattr(socket.socket, name)

    def call(self: socket.socket, *args: object, **kwargs: object) -> object:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            _refuse()
        return original(self, *args, **kwargs)

    return call


def _refuse(*_args: object, **_kwargs: object) -> object:
    raise SettingError("this command sends nothing, and a plug-in wanted to open a connection.")
