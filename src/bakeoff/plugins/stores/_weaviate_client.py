"""weaviate-client with our limits: bytes and seconds of its HTTP answers, and every request sent once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import grpc
import httpx
from weaviate import WeaviateClient
from weaviate.auth import Auth
from weaviate.config import AdditionalConfig, Timeout
from weaviate.connect import ConnectionParams

from bakeoff.plugins.kit.bounded_pool import endpoint_of, redirect
from bakeoff.plugins.kit.http_limits import BoundedTransport
from bakeoff.plugins.kit.server import request_timeout
from bakeoff.runtime.http_client import TooSlow, Unreachable

GRPC_PORT = 50_051
CALLS = ("Search", "BatchObjects", "BatchDelete", "Aggregate")
P = ParamSpec("P")
T = TypeVar("T")


class Transport(BoundedTransport):
    """A transport for which a redirect is a failure, not an answer."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = super().handle_request(request)
        if answer.is_redirect:
            answer.close()
            raise redirect(answer.status_code, answer.headers)
        return answer


class Stub:
    """The calls of the client's gRPC stub: the client would repeat one for a minute where the server is gone."""

    def __init__(self, stub: Any) -> None:
        for name in CALLS:
            setattr(self, name, _once(getattr(stub, name)))


def _once(call: Callable[P, T]) -> Callable[P, T]:
    def ask(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(*args, **kwargs)
        except grpc.RpcError as exc:
            if exc.code() is grpc.StatusCode.UNAVAILABLE:
                raise Unreachable(exc.details()) from exc
            if exc.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                raise TooSlow("the answer was not complete in time") from exc
            raise

    return ask


class Connection:
    """A client that connects when it is first asked for; an address without `?grpc=PORT` has the engine's own port."""

    def __init__(self, url: str, key: str | None) -> None:
        page, _, port = url.partition("?grpc=")
        at = endpoint_of("Weaviate", page)
        self.place, self._root, self._key = at.place, at.root, key
        self._port, self._lock = int(port or GRPC_PORT), threading.Lock()
        self._client: WeaviateClient | None = None

    def client(self) -> WeaviateClient:
        """The connected client: it asked the server for its version."""
        with self._lock:
            if self._client is None:
                self._client = self._connect()
        return self._client

    def _connect(self) -> WeaviateClient:
        seconds = request_timeout()
        limits = AdditionalConfig(timeout=Timeout(init=seconds, query=seconds, insert=seconds))
        client = WeaviateClient(
            connection_params=ConnectionParams.from_url(self._root, self._port),
            auth_client_secret=Auth.api_key(self._key) if self._key else None,
            additional_config=limits,
            skip_init_checks=True,  # they ask the package index for the client's latest version
        )
        inner = client._connection
        transport = Transport(self._root, seconds)
        inner._make_client = lambda _: httpx.Client(headers=inner._headers, transport=transport)
        try:
            client.connect()
        except BaseException:
            client.close()
            raise
        inner._grpc_stub = Stub(inner._grpc_stub)
        return client

    def close(self) -> None:
        """Close the connections; what is closed is not opened again."""
        if self._client is not None:
            self._client.close()
