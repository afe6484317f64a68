"""One engine's HTTP address: kept connections, JSON both ways, and its refusals in its own words."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

import orjson

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.server import TIMEOUT, request_timeout
from bakeoff.runtime.http_client import HttpAnswer, HttpClient, HttpFailure, TooLarge, TooSlow
from bakeoff.storage.consent import Destination, secret_for
from bakeoff.storage.redaction import redact, redact_answer

BODY_BYTES = 8_000_000  # what the vendors advise for one bulk request lies between 5 and 15 MB
SAID = ("reason", "message", "error")


class Rest:
    """A client for many threads."""

    def __init__(self, engine: str, url: str, headers: Mapping[str, str] | None = None) -> None:
        try:
            self._client = HttpClient(url)
        except ValueError:
            raise StoreError(
                f"{engine}: its address cannot be read. It looks like http://host:port."
            ) from None
        self._engine, self._host, self._closed = engine, self._client.host, False
        self._headers, self._patience = (
            {"Content-Type": "application/json", **(headers or {})},
            request_timeout(),
        )

    def __call__(
        self, method: str, path: str, body: Any = None, *, seconds: float | None = None, absent: bool = False
    ) -> Any:
        """The answer's JSON; bytes are sent as they are; None for a 404 where `absent` is fine."""
        content = body if isinstance(body, bytes) else encode_json(body) if body is not None else None
        limit = self._patience if seconds is None else max(seconds, self._patience)
        page = path.partition("?")[0]
        if self._closed:
            raise StoreError(f"{self._engine} is closed: {method} {page} was not sent.")
        answer = self._answer(method, path, content, limit)
        if absent and answer.status == HTTPStatus.NOT_FOUND:
            return None
        if answer.status >= HTTPStatus.BAD_REQUEST:
            said = f"HTTP {answer.status}: {words(answer.content)}"
            raise StoreError(f"{self._engine}, {method} {page}: {said}")
        if answer.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise StoreError(self._redirected(answer, f"{method} {page}"))
        try:
            return orjson.loads(answer.content) if answer.content else None
        except orjson.JSONDecodeError as exc:
            raise StoreError(
                f"{self._engine} at {self._host} did not answer {method} {page} with JSON ({exc}). "
                "Does its address lead to another server, or a proxy?"
            ) from exc

    def _answer(self, method: str, path: str, content: bytes | None, seconds: float) -> HttpAnswer:
        """One request, never sent again by itself, with its failures in words."""
        page = path.partition("?")[0]
        try:
            return self._client.send(method, path, content, self._headers, seconds)
        except TooSlow as exc:
            raise StoreError(
                f"{self._engine} at {self._host} did not answer {method} {page} within {seconds:g} s. "
                f"Is it overloaded? {TIMEOUT} gives it more."
            ) from exc
        except TooLarge as exc:
            raise StoreError(f"{self._engine} at {self._host}, {method} {page}: {exc}.") from exc
        except HttpFailure as exc:
            raise StoreError(
                f"{self._engine} does not answer at {self._host}, {method} {page}: {exc}"
            ) from exc

    def _redirected(self, answer: HttpAnswer, request: str) -> str:
        """Redirects are not followed: the key would go along."""
        other = redact(answer.headers.get("location", "another address"))[:200]
        return (
            f"{self._engine} at {self._host} answered {request} with HTTP {answer.status}, a redirect to {other}. "
            "Redirects are not followed. Set the address that it redirects to."
        )

    def close(self) -> None:
        """Close the connections; nothing is sent after it."""
        self._closed = True
        self._client.close()


def bearer(store: str, server: Destination, scheme: str = "Bearer") -> dict[str, str]:
    """The header with a store's key, from BAKEOFF_STORE_KEY; none where it is not set."""
    key = secret_for(f"BAKEOFF_{store.upper()}_KEY", server)
    return {"Authorization": f"{scheme} {key}"} if key else {}


def wait(engine: str, what: str, holds: Callable[[], bool], seconds: float, pause: float = 0.5) -> None:
    """Return when something holds, or raise a StoreError that says what does not."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise StoreError(f"{engine}: after {seconds:.0f} s it is still not so that {what}.")
        time.sleep(pause)


def encode_json(body: Any) -> bytes:
    """JSON; a float32 array is written with the digits it has and no more."""
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)


def bodies(rows: Iterable[tuple[Any, ...]], limit: int = BODY_BYTES) -> Iterator[bytes]:
    """Requests of newline-separated JSON, each of whole rows and about as large as a bulk request should be."""
    held: list[bytes] = []
    size = 0
    for row in rows:
        lines = b"".join(encode_json(line) + b"\n" for line in row)
        held.append(lines)
        size += len(lines)
        if size >= limit:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def words(content: bytes) -> str:
    """The reason an engine gives, without the frame of its answer, and without our own keys if it repeats them."""
    text = redact_answer(content)
    try:
        found = dict.fromkeys(_reasons(orjson.loads(text)))
    except orjson.JSONDecodeError:
        found = {}
    return redact("; ".join(found) or text)[:600] or "no reason was given"


def _reasons(part: Any) -> Iterator[str]:
    """Every text under a key that engines use for a reason, outermost first."""
    if isinstance(part, list):
        for one in part:
            yield from _reasons(one)
    if isinstance(part, dict):
        yield from (part[key] for key in SAID if isinstance(part.get(key), str))
        for one in part.values():
            yield from _reasons(one)
