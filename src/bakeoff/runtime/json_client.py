"""One model server over HTTP: JSON both ways, the key, retries, a rate limit, and clear errors.

A key is read from the environment or `.env`; it is not a parameter, so it is in no file and no hash. The
caller chooses the class of its errors.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Annotated, Protocol
from urllib.parse import urlsplit

from pydantic import AfterValidator

from bakeoff.errors import BakeoffError, EmbedderError
from bakeoff.runtime.http_client import HttpAnswer, HttpClient, HttpFailure, TooLarge, TooSlow, Unreachable
from bakeoff.storage.consent import Destination, key_for
from bakeoff.storage.environment import SettingSource
from bakeoff.types import Json, JsonObject

BACKOFF_SECONDS = 0.5
MAX_WAIT_SECONDS = 120.0
_TRANSIENT = (408, 425, 429, 500, 502, 503, 504, 529)
_REFUSED = (401, 403)
OTHER_SHAPE = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)
"""Exceptions raised by JSON of an unexpected structure."""


def _plain_url(value: str) -> str:
    url = urlsplit(value)
    if "@" in url.netloc or url.query or url.fragment:
        raise ValueError("an address with a password or a query would be stored; use key_env for the key")
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError(f"{value!r} is not an http:// or https:// address")
    return value.rstrip("/")


Address = Annotated[str, AfterValidator(_plain_url)]


class RetryPolicy(Protocol):
    """Seconds per answer, number of retries, and requests per minute."""

    @property
    def timeout(self) -> float: ...
    @property
    def retries(self) -> int: ...
    @property
    def requests_per_minute(self) -> float | None: ...


class JsonClient:
    """One server: sends and receives JSON, and retries what may succeed later."""

    def __init__(
        self,
        address: str,
        key_env: str,
        params: RetryPolicy,
        error: type[BakeoffError] = EmbedderError,
        source: SettingSource = SettingSource.EXPERIMENT,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._error, self._own_headers = error, dict(headers or {})
        self._hint = " or lower `batch_size`" if hasattr(params, "batch_size") else ""
        self._key_env = key_env
        self._retries, self._seconds = params.retries, params.timeout
        self._gap = 60 / params.requests_per_minute if params.requests_per_minute else 0.0
        self._next = 0.0
        self._lock = threading.Lock()
        self._key = self._usable(key_for(key_env, Destination(address, source)))
        self._client = HttpClient(address)
        self.host = self._client.host

    def post(self, path: str, body: JsonObject) -> Json:
        """Send a request and return the JSON answer; raises after the last attempt."""
        return self._send("POST", path, body)

    def get(self, path: str) -> Json:
        """The JSON at a path, or None if the server has no such page."""
        return self._send("GET", path, None)

    def request(self, method: str, path: str, body: Json) -> Json:
        """The JSON answer to a request of any method; rate-limited callers call `wait_for_turn` first."""
        reply = self._send(method, path, body, paced=True)
        if reply is None:
            raise self._error(f"{self.host}{path} does not exist there. Check the address and the method.")
        return reply

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _send(self, method: str, path: str, body: Json, *, paced: bool = False) -> Json:
        for attempt in range(self._retries + 1):
            if attempt or not paced:
                self.wait_for_turn()
            reply = self._try(method, path, body, last=attempt == self._retries)
            if reply is not None and (reply.status not in _TRANSIENT or attempt == self._retries):
                return self._read(reply, method, path, attempt)
            time.sleep(self._pause(attempt, reply))
        raise AssertionError("the last attempt returns or raises")

    def _try(self, method: str, path: str, body: object, last: bool) -> HttpAnswer | None:
        """The reply, or None if the connection broke and another attempt is left."""
        try:
            content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
            return self._client.send(method, path, content, self._headers(), self._seconds)
        except UnicodeEncodeError as exc:
            raise self._error(
                "a text is not valid Unicode and cannot be sent. Read it in its encoding."
            ) from exc
        except Unreachable as exc:
            raise self._error(
                f"no server answers at {self.host} ({exc}). Start it, or correct the address."
            ) from exc
        except TooLarge as exc:
            advice = "Lower `batch_size`." if self._hint else "Ask for fewer results."
            raise self._error(f"{self.host}{path}: {exc}. {advice}") from exc
        except TooSlow as exc:
            if last:
                often = f", {self._retries + 1} times" if self._retries else ""
                raise self._error(
                    f"{self.host} did not answer within {self._seconds} s{often}. Raise `timeout`{self._hint}."
                ) from exc
        except HttpFailure as exc:
            if last:
                raise self._error(
                    f"{self.host} broke the connection {self._retries + 1} times: {exc}"
                ) from exc
        return None

    def _read(self, reply: HttpAnswer, method: str, path: str, attempt: int) -> object:
        if method == "GET" and reply.status in (404, 405, 501):
            return None
        if 200 <= reply.status < 300:
            try:
                return json.loads(reply.content)
            except (ValueError, RecursionError):
                raise self._error(
                    f"{self.host}{path} did not answer with JSON: {reply.text(80)!r}. Check the address."
                ) from None
        raise self._error(self._refusal(reply, path, attempt))

    def _refusal(self, reply: HttpAnswer, path: str, attempt: int) -> str:
        body = reply.text(300)
        what = f"{self.host}{path} answered {reply.status}"
        if reply.status in _REFUSED:
            reason = f"The key in ${self._key_env} was refused" if self._key else "No key was sent"
            return f"{what}. {reason}: set {self._key_env or '`key_env`'} to a valid key. It said: {body}"
        if reply.status in _TRANSIENT:
            return f"{what} to the last of {attempt + 1} attempts. Try again later. It said: {body}"
        if 300 <= reply.status < 400:
            return f"{what}, a redirect, and none is followed. Give the final address."
        return f"{what}: {body}"

    def _pause(self, attempt: int, reply: HttpAnswer | None) -> float:
        """Seconds until the next attempt: the server's request, else doubled each time with jitter."""
        seconds = _retry_after(reply)
        if seconds is not None and seconds > MAX_WAIT_SECONDS:
            raise self._error(
                f"{self.host} asks to wait {seconds:.0f} s: the quota is used up. Run again then; finished "
                "work is kept."
            )
        return seconds if seconds is not None else BACKOFF_SECONDS * 2**attempt * (0.5 + random.random() / 2)

    def wait_for_turn(self) -> None:
        """Wait as long as the rate limit requires."""
        if not self._gap:
            return
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self._gap
        time.sleep(turn - now)

    def _usable(self, key: str) -> str:
        """The key; raises if no header can contain it, since the library's error would show it."""
        if not (key.isascii() and key.isprintable()):
            raise self._error(f"the key in ${self._key_env} contains invalid characters. Set it again.")
        return key

    def _headers(self) -> dict[str, str]:
        fixed = {"Content-Type": "application/json", "Accept-Encoding": "gzip, deflate", **self._own_headers}
        return {**fixed, "Authorization": f"Bearer {self._key}"} if self._key else fixed


def _retry_after(reply: HttpAnswer | None) -> float | None:
    """Seconds the server asks to wait, given as a number or a date."""
    value = reply.headers.get("retry-after", "") if reply is not None else ""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None
