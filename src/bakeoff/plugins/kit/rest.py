"""A JSON client for one engine's HTTP API: connections are reused, failures become StoreErrors."""

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

BODY_BYTES = 8_000_000  # vendors recommend 5 to 15 MB for one bulk request
REASON_KEYS = ("reason", "message", "error")


class Rest:
    """A thread-safe client of one address."""

    def __init__(self, engine: str, url: str, headers: Mapping[str, str] | None = None) -> None:
        try:
            self._client = HttpClient(url)
        except ValueError:
            raise StoreError(
                f"{engine}: its address cannot be read. It looks like http://host:port."
            ) from None
        self._engine, self._host, self._closed = engine, self._client.host, False
        self._headers, self._timeout = (
            {"Content-Type": "application/json", **(headers or {})},
            request_timeout(),
        )

    def __call__(
        self, method: str, path: str, body: Any = None, *, seconds: float | None = None, absent: bool = False
    ) -> Any:
        """Send a request and return the parsed answer; bytes are sent as is; `absent=True` returns None for a 404."""
        content = body if isinstance(body, bytes) else encode_json(body) if body is not None else None
        limit = self._timeout if seconds is None else max(seconds, self._timeout)
        page = path.partition("?")[0]
        if self._closed:
            raise StoreError(f"{self._engine} is closed: {method} {page} was not sent.")
        answer = self._answer(method, path, content, limit)
        if absent and answer.status == HTTPStatus.NOT_FOUND:
            return None
        if answer.status >= HTTPStatus.BAD_REQUEST:
            reason = refusal_reason(answer.content)
            raise StoreError(f"{self._engine}, {method} {page}: HTTP {answer.status}: {reason}")
        if answer.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise StoreError(self._redirect_message(answer, f"{method} {page}"))
        try:
            return orjson.loads(answer.content) if answer.content else None
        except orjson.JSONDecodeError as exc:
            raise StoreError(
                f"{self._engine} at {self._host} did not answer {method} {page} with JSON ({exc}). "
                "Does its address lead to another server, or a proxy?"
            ) from exc

    def _answer(self, method: str, path: str, content: bytes | None, seconds: float) -> HttpAnswer:
        """Send one request, without retries; failures become StoreErrors."""
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

    def _redirect_message(self, answer: HttpAnswer, request: str) -> str:
        """The message for a redirect, which is not followed because the key would be sent along."""
        other = redact(answer.headers.get("location", "another address"))[:200]
        return (
            f"{self._engine} at {self._host} answered {request} with HTTP {answer.status}, a redirect to {other}. "
            "Redirects are not followed. Set the address that it redirects to."
        )

    def close(self) -> None:
        """Close the connections; later requests are refused."""
        self._closed = True
        self._client.close()


def bearer(store: str, server: Destination, scheme: str = "Bearer") -> dict[str, str]:
    """The Authorization header with the key in BAKEOFF_<STORE>_KEY; empty if that is not set."""
    key = secret_for(f"BAKEOFF_{store.upper()}_KEY", server)
    return {"Authorization": f"{scheme} {key}"} if key else {}


def wait_until(engine: str, what: str, holds: Callable[[], bool], seconds: float, pause: float = 0.5) -> None:
    """Return when `holds` does; after `seconds`, raise a StoreError that names what was waited for."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise StoreError(f"{engine}: after {seconds:.0f} s, still waiting until {what}.")
        time.sleep(pause)


def encode_json(body: Any) -> bytes:
    """JSON bytes; NumPy arrays are written as lists, float32 with its own digits."""
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)


def bodies(rows: Iterable[tuple[Any, ...]], limit: int = BODY_BYTES) -> Iterator[bytes]:
    """Newline-separated JSON in bulk requests of about `limit` bytes; rows are never split."""
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


def refusal_reason(content: bytes) -> str:
    """The reason in an engine's error answer, with our own keys redacted."""
    text = redact_answer(content)
    try:
        reasons = dict.fromkeys(_reasons(orjson.loads(text)))
    except orjson.JSONDecodeError:
        reasons = {}
    return redact("; ".join(reasons) or text)[:600] or "no reason was given"


def _reasons(part: Any) -> Iterator[str]:
    """Every text under a key that engines use for reasons, outermost first."""
    if isinstance(part, list):
        for one in part:
            yield from _reasons(one)
    if isinstance(part, dict):
        yield from (part[key] for key in REASON_KEYS if isinstance(part.get(key), str))
        for one in part.values():
            yield from _reasons(one)
