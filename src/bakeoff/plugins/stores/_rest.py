"""One engine's HTTP address: kept connections, JSON both ways, and its refusals in its own words."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any
from urllib.request import getproxies, proxy_bypass

import orjson
import urllib3

from bakeoff.environment import masked, setting
from bakeoff.errors import StoreError
from bakeoff.plugins.stores._server import TIMEOUT, patience

CONNECTING = 5.0
CONNECTIONS = 256  # kept for the threads of one client
BODY_BYTES = 8_000_000  # what the vendors advise for one bulk request lies between 5 and 15 MB
SAID = ("reason", "message", "error")


class Rest:
    """A client for many threads."""

    def __init__(self, engine: str, url: str, headers: Mapping[str, str] | None = None) -> None:
        try:
            at = urllib3.util.parse_url(url)
            self._pool = _pool(at)
        except urllib3.exceptions.HTTPError:
            raise StoreError(
                f"{engine}: its address cannot be read. It looks like http://host:port."
            ) from None
        self._engine, self._host, self._prefix = engine, at.netloc or "", (at.path or "").rstrip("/")
        self._headers, self._patience = {"Content-Type": "application/json", **(headers or {})}, patience()

    def __call__(
        self, method: str, path: str, body: Any = None, *, seconds: float | None = None, absent: bool = False
    ) -> Any:
        """The answer's JSON; bytes are sent as they are; None for a 404 where `absent` is fine."""
        content = body if isinstance(body, bytes) else packed(body) if body is not None else None
        limit = self._patience if seconds is None else max(seconds, self._patience)
        try:
            answer = self._sent(method, self._prefix + path, content, limit)
        except urllib3.exceptions.ReadTimeoutError as exc:
            raise StoreError(
                f"{self._engine} at {self._host} did not answer {method} {path.partition('?')[0]} within "
                f"{limit:g} s. Is it overloaded? {TIMEOUT} gives it more."
            ) from exc
        except (urllib3.exceptions.HTTPError, OSError) as exc:
            why = str(exc).rpartition(": ")[2] or type(exc).__name__
            raise StoreError(
                f"{self._engine} does not answer at {self._host}, {method} {path}: {why}"
            ) from exc
        if absent and answer.status == HTTPStatus.NOT_FOUND:
            return None
        if answer.status >= HTTPStatus.BAD_REQUEST:
            said = f"HTTP {answer.status}: {words(answer.data)}"
            raise StoreError(f"{self._engine}, {method} {path.partition('?')[0]}: {said}")
        try:
            return orjson.loads(answer.data) if answer.data else None
        except orjson.JSONDecodeError as exc:
            raise StoreError(
                f"{self._engine} at {self._host} did not answer {method} {path.partition('?')[0]} with JSON ({exc}). "
                "Does its address lead to another server, or a proxy?"
            ) from exc

    def _sent(
        self, method: str, path: str, content: bytes | None, seconds: float
    ) -> urllib3.BaseHTTPResponse:
        """One request, never sent again by itself; so long for an answer, and at most 5 s to be let in."""
        limits = urllib3.Timeout(connect=min(CONNECTING, seconds), read=seconds)
        return self._pool.urlopen(method, path, content, self._headers, retries=False, timeout=limits)

    def close(self) -> None:
        """Give back the connections."""
        self._pool.close()


def _pool(at: urllib3.util.Url) -> urllib3.HTTPConnectionPool:
    """Kept connections to one address, straight or through the proxy that the environment names for it."""
    proxy = None if proxy_bypass(at.host or "") else getproxies().get(at.scheme or "")
    kept: dict[str, Any] = {"maxsize": CONNECTIONS}
    manager = urllib3.ProxyManager(proxy, **kept) if proxy else urllib3.PoolManager(**kept)
    return manager.connection_from_host(at.host or "localhost", at.port, at.scheme)


def bearer(store: str, scheme: str = "Bearer") -> dict[str, str]:
    """The header with a store's key, from BAKEOFF_STORE_KEY; none where it is not set."""
    key = setting(f"BAKEOFF_{store.upper()}_KEY")
    return {"Authorization": f"{scheme} {key}"} if key else {}


def wait(engine: str, what: str, holds: Callable[[], bool], seconds: float, pause: float = 0.5) -> None:
    """Return when something holds, or raise a StoreError that says what does not."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise StoreError(f"{engine}: after {seconds:.0f} s it is still not so that {what}.")
        time.sleep(pause)


def packed(body: Any) -> bytes:
    """JSON; a float32 array is written with the digits it has and no more."""
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)


def bodies(rows: Iterable[tuple[Any, ...]], limit: int = BODY_BYTES) -> Iterator[bytes]:
    """Requests of newline-separated JSON, each of whole rows and about as large as a bulk request should be."""
    held: list[bytes] = []
    size = 0
    for row in rows:
        lines = b"".join(packed(line) + b"\n" for line in row)
        held.append(lines)
        size += len(lines)
        if size >= limit:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def words(content: bytes) -> str:
    """What an engine said, without the frame its answer has, and without our own keys if it repeats them."""
    content = masked(content.decode(errors="replace")).encode()
    try:
        found = dict.fromkeys(_said(orjson.loads(content)))
    except orjson.JSONDecodeError:
        found = {}
    return ("; ".join(found) or content.decode(errors="replace"))[:600] or "no reason was given"


def _said(part: Any) -> Iterator[str]:
    """Every text under a key that engines use for a reason, outermost first."""
    if isinstance(part, list):
        for one in part:
            yield from _said(one)
    if isinstance(part, dict):
        yield from (part[key] for key in SAID if isinstance(part.get(key), str))
        for one in part.values():
            yield from _said(one)
