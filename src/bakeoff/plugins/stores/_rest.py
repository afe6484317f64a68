"""One engine's HTTP address: kept connections, JSON both ways, and its refusals in its own words."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import httpx
import orjson

from bakeoff.environment import masked, setting
from bakeoff.errors import StoreError

SECONDS = 60.0
CONNECTING = 5.0
BODY_BYTES = 8_000_000  # what the vendors advise for one bulk request lies between 5 and 15 MB
SAID = ("reason", "message", "error")


class Rest:
    """A client for many threads."""

    def __init__(self, engine: str, url: str, headers: Mapping[str, str] | None = None) -> None:
        self._engine, self._host = engine, httpx.URL(url).netloc.decode()
        self._http = httpx.Client(
            base_url=url.rstrip("/"),
            headers={"Content-Type": "application/json", **(headers or {})},
            timeout=httpx.Timeout(SECONDS, connect=CONNECTING),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=256),
        )

    def __call__(
        self, method: str, path: str, body: Any = None, *, seconds: float = SECONDS, absent: bool = False
    ) -> Any:
        """The answer's JSON; bytes are sent as they are; None for a 404 where `absent` is fine."""
        content = body if isinstance(body, bytes) else packed(body) if body is not None else None
        try:
            answer = self._http.request(method, path, content=content, timeout=seconds)
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            why = str(exc) or type(exc).__name__
            raise StoreError(
                f"{self._engine} does not answer at {self._host}, {method} {path}: {why}"
            ) from exc
        if absent and answer.status_code == httpx.codes.NOT_FOUND:
            return None
        if answer.is_error:
            said = f"HTTP {answer.status_code}: {words(answer.content)}"
            raise StoreError(f"{self._engine}, {method} {path.partition('?')[0]}: {said}")
        return orjson.loads(answer.content) if answer.content else None

    def close(self) -> None:
        """Give back the connections."""
        self._http.close()


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
