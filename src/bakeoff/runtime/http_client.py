"""The HTTP client for model servers and stores: pooled connections, no redirects, limits on bytes and total
seconds. A socket's timeout restarts with every byte, so a server that sends one byte at a time never times
out. Here one thread watches all requests and closes the connection of a request that is incomplete at its
deadline."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

from bakeoff.storage.consent import LOOPBACK
from bakeoff.storage.redaction import redact_answer

CONNECT_SECONDS = 5.0
LARGEST_ANSWER = 256 * 2**20
"""Most bytes of an answer, after decompression."""
_CONNECTIONS = 256  # kept for the threads of one client
_PIECE = 2**16
_GZIP_OR_ZLIB = 47
_ENCODINGS = ("gzip", "x-gzip", "deflate")


class HttpFailure(Exception):
    """No usable answer arrived."""


class Unreachable(HttpFailure):
    """No server accepts connections at the address."""


class TooSlow(HttpFailure):
    """The answer was not complete in time."""


class TooLarge(HttpFailure):
    """The answer exceeds the byte limit."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """One complete answer."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def text(self, limit: int) -> str:
        """The beginning of the answer for a message, without secrets that the server repeats."""
        return redact_answer(self.content)[:limit]


class HttpClient:
    """A client of one address for many threads."""

    def __init__(self, url: str) -> None:
        try:
            at = urllib3.util.parse_url(url)
        except urllib3.exceptions.HTTPError as exc:
            raise ValueError("the address cannot be read") from exc
        if at.scheme not in ("http", "https"):
            raise ValueError("the address begins with neither http:// nor https://")
        self.host = at.netloc or ""
        self._prefix = (at.path or "").rstrip("/")
        self._pool = _pool(at)

    def send(
        self, method: str, path: str, content: bytes | None, headers: Mapping[str, str], seconds: float
    ) -> HttpAnswer:
        """Send one request, never retried; raises HttpFailure if it is incomplete after `seconds`."""
        limits = urllib3.Timeout(connect=min(CONNECT_SECONDS, seconds), read=seconds)
        with _WATCH.single_request(seconds) as exchange:
            try:
                reply = self._pool.urlopen(
                    method, self._prefix + path, content, dict(headers), retries=False, redirect=False,
                    timeout=limits, preload_content=False, decode_content=False,
                )  # fmt: skip
                answer = _complete(reply)
            except (urllib3.exceptions.HTTPError, OSError, zlib.error) as exc:
                raise _failure(exc, exchange.expired) from exc
            if exchange.expired:
                raise TooSlow("the answer was not complete in time")
            return answer

    def close(self) -> None:
        """Close the kept connections."""
        self._pool.close()


def _complete(reply: urllib3.BaseHTTPResponse) -> HttpAnswer:
    """The whole answer; its connection is reused only if everything was read."""
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(reply.close)
        raw = reply.stream(_PIECE, decode_content=False)
        encoding = reply.headers.get("content-encoding", "identity").strip().lower()
        content = b"".join(_limit_bytes(_decode_bytes(raw, encoding)))
        on_failure.pop_all()
    reply.release_conn()
    return HttpAnswer(reply.status, reply.headers, content)


def _limit_bytes(pieces: Iterable[bytes]) -> Iterator[bytes]:
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > LARGEST_ANSWER:
            raise TooLarge(f"the answer has more than {LARGEST_ANSWER:,} bytes")
        yield piece


def _decode_bytes(raw: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Decompress in small pieces, so that a small answer can't fill the memory at once."""
    if encoding in ("", "identity"):
        yield from raw
        return
    if encoding not in _ENCODINGS:
        raise HttpFailure(f"the answer is encoded as {encoding[:40]!r}, which was not asked for")
    decoder = zlib.decompressobj(_GZIP_OR_ZLIB)
    for piece in raw:
        rest = piece
        while rest:
            yield decoder.decompress(rest, _PIECE)
            rest = decoder.unconsumed_tail
            if decoder.eof:
                rest, decoder = decoder.unused_data, zlib.decompressobj(_GZIP_OR_ZLIB)
    yield decoder.flush()


def _failure(exc: Exception, expired: bool) -> HttpFailure:
    """Convert an exception to one of our classes."""
    errors = urllib3.exceptions
    if expired or isinstance(exc, (errors.ReadTimeoutError, TimeoutError)):
        return TooSlow("the answer was not complete in time")
    if isinstance(exc, (errors.NewConnectionError, errors.ConnectTimeoutError, errors.ProxyError)):
        return Unreachable(_reason(exc))
    return HttpFailure(_reason(exc))


def _reason(exc: Exception) -> str:
    return str(exc).rpartition(": ")[2] or type(exc).__name__


@dataclass(slots=True)
class _Exchange:
    """One request: its deadline, and its connection."""

    deadline: float
    socket: socket.socket | None = None
    expired: bool = False


class _Watch:
    """Closes the connections of requests that are incomplete at their deadline."""

    def __init__(self) -> None:
        self._local = threading.local()
        self._reset()

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._exchanges: dict[int, _Exchange] = {}
        self._wakes = float("inf")
        self._thread: threading.Thread | None = None

    def single_request(self, seconds: float) -> _Limit:
        """A block in which this thread sends one request."""
        return _Limit(self, _Exchange(time.monotonic() + seconds))

    def current(self) -> _Exchange | None:
        """The request that this thread is sending."""
        exchange: _Exchange | None = getattr(self._local, "exchange", None)
        return exchange

    def begin(self, exchange: _Exchange) -> None:
        """Watch a request."""
        self._local.exchange = exchange
        with self._changed:
            self._exchanges[id(exchange)] = exchange
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="bakeoff-http", daemon=True)
                self._thread.start()
            if exchange.deadline < self._wakes:
                self._changed.notify()

    def end(self, exchange: _Exchange) -> None:
        """Stop watching a request."""
        self._local.exchange = None
        with self._changed:
            self._exchanges.pop(id(exchange), None)

    def _run(self) -> None:
        while True:
            with self._changed:
                now = time.monotonic()
                for exchange in self._exchanges.values():
                    if exchange.deadline <= now:
                        _shut(exchange)
                left = [one.deadline for one in self._exchanges.values() if not one.expired]
                self._wakes = min(left, default=float("inf"))
                self._changed.wait(min(max(self._wakes - now, 0.001), threading.TIMEOUT_MAX))


class _Limit:
    """The block of one request."""

    __slots__ = ("_exchange", "_watch")

    def __init__(self, watch: _Watch, exchange: _Exchange) -> None:
        self._watch, self._exchange = watch, exchange

    def __enter__(self) -> _Exchange:
        self._watch.begin(self._exchange)
        return self._exchange

    def __exit__(self, *_: object) -> None:
        self._watch.end(self._exchange)


def _shut(exchange: _Exchange) -> None:
    """Close a connection while another thread reads from it, encrypted or not."""
    exchange.expired = True
    if exchange.socket is not None:
        try:
            socket.socket.shutdown(exchange.socket, socket.SHUT_RDWR)
        except OSError:  # it is closed already
            return


_WATCH = _Watch()
os.register_at_fork(after_in_child=_WATCH._reset)


class _WatchedConnection(HTTPConnection):
    """A connection whose socket is registered with the watch before anything is sent."""

    def request(self, *args: Any, **kwargs: Any) -> None:
        if self.sock is None:
            self.connect()
        exchange = _WATCH.current()
        if exchange is not None:
            exchange.socket = self.sock
            self.timeout = max(exchange.deadline - time.monotonic(), 0.001)
        super().request(*args, **kwargs)


class _WatchedTlsConnection(_WatchedConnection, HTTPSConnection):
    """The same over TLS."""


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _WatchedConnection


class _TlsPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _WatchedTlsConnection


def proxy_for(url: str) -> str | None:
    """The environment's proxy for an address; none for local servers."""
    at = urllib3.util.parse_url(url)
    host = at.host or "localhost"
    if host.strip("[]") in LOOPBACK or proxy_bypass(host):
        return None
    return getproxies().get(at.scheme or "")


def _pool(at: urllib3.util.Url) -> urllib3.HTTPConnectionPool:
    """Pooled connections to one address, direct or through the environment's proxy."""
    proxy = proxy_for(at.url)
    options: dict[str, Any] = {"maxsize": _CONNECTIONS}
    manager = urllib3.ProxyManager(proxy, **options) if proxy else urllib3.PoolManager(**options)
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
    return manager.connection_from_host(at.host or "localhost", at.port, at.scheme)
