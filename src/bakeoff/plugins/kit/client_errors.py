"""Errors of official clients as StoreErrors: the request, the host, the cause, the remedy."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from inspect import isfunction
from typing import ParamSpec, Protocol, TypeVar, cast

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.bounded_pool import Redirect
from bakeoff.plugins.kit.rest import encode_json, refusal_reason
from bakeoff.plugins.kit.server import TIMEOUT, request_timeout
from bakeoff.runtime.http_client import HttpFailure, TooLarge, TooSlow
from bakeoff.storage.redaction import redact

P = ParamSpec("P")
T = TypeVar("T")
Reply = tuple[int, object]
"""The status and the body of a refusal."""
SLOW = {"ReadTimeout", "WriteTimeout", "PoolTimeout", "ConnectTimeout"}
UNREACHABLE = {"ConnectError", "RemoteProtocolError"}
"""Names of httpx errors; httpx is not installed with every client."""
ANOTHER_SHAPE = (AttributeError, LookupError, TypeError)
"""Errors of reading an answer of unexpected shape."""


class ClientStore(Protocol):
    """A store over an official client."""

    engine: str
    place: str
    client_errors: tuple[type[Exception], ...]

    def reply_of(self, exc: Exception) -> Reply | None:
        """The status and body of a refusal; None for other errors."""


S = TypeVar("S", bound=type)


def reports_client_errors(store: S) -> S:
    """Decorate a store so that the client's errors in its public methods become StoreErrors."""
    for name, method in list(vars(store).items()):
        if isfunction(method) and not name.startswith("_") and name != "reply_of":
            setattr(store, name, _reporting(method))
    return store


def _reporting(method: Callable[P, T]) -> Callable[P, T]:
    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        store = cast(ClientStore, args[0])
        errors: tuple[type[Exception], ...] = (*store.client_errors, HttpFailure, *ANOTHER_SHAPE)
        try:
            return method(*args, **kwargs)
        except StoreError:
            raise
        except errors as exc:
            raise StoreError(redact(describe(store, method.__name__, exc))) from exc

    return call


def describe(store: ClientStore, request: str, exc: Exception) -> str:
    """The message for a client's error."""
    causes = list(_causes(exc))
    failure = next((one for one in causes if isinstance(one, HttpFailure)), None)
    names = {type(one).__name__ for one in causes}
    if isinstance(failure, TooSlow) or names & SLOW:
        return (
            f"{store.engine} at {store.place} did not answer {request} within {request_timeout():g} s. "
            f"It may be overloaded; {TIMEOUT} sets a longer timeout."
        )
    if isinstance(failure, (TooLarge, Redirect)):
        return f"{store.engine} at {store.place}, {request}: {failure}."
    if failure is not None or names & UNREACHABLE:
        return f"{store.engine} does not answer at {store.place}, {request}: {failure or causes[-1]}"
    reply = store.reply_of(exc)
    if reply is not None:
        return f"{store.engine}, {request}: HTTP {reply[0]}: {_reason(reply[1])}"
    first = next(iter(str(exc).splitlines()), "")
    if isinstance(exc, (*ANOTHER_SHAPE, RuntimeError)):
        return (
            f"{store.engine} at {store.place} sent an unexpected response to {request} "
            f"({type(exc).__name__}: {first}). Check that its address is not another server or a proxy."
        )
    return (
        f"{store.engine} at {store.place}, {request}: {next(iter(str(exc).splitlines()), type(exc).__name__)}"
    )


def _causes(exc: BaseException | None) -> Iterator[BaseException]:
    """An error and its causes, outermost first."""
    while exc is not None:
        yield exc
        exc = exc.__cause__ or exc.__context__


def _reason(body: object) -> str:
    """The engine's reason in the body of a refusal."""
    if isinstance(body, str):
        body = body.encode()
    return refusal_reason(body if isinstance(body, bytes) else encode_json(body))
