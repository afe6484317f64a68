"""What every embedder behind HTTP shares: batches, retries, rate limit, timeouts, the key, and errors in words.

A key is read from the environment when a request is made; it is not a parameter, so it is in no file and no hash.
"""

from __future__ import annotations

import os
import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Annotated, Any, ClassVar

import httpx
import numpy as np
from pydantic import AfterValidator, Field

from bakeoff.errors import EmbedderError
from bakeoff.plugins.embedders._shared import EmbedderParams
from bakeoff.types import ModelInfo, Role

BACKOFF_SECONDS = 0.5
MAX_WAIT_SECONDS = 120.0
PROBE = "a sentence that shows how long this model's vectors are"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_TRANSIENT = (408, 425, 429, 500, 502, 503, 504, 529)
_REFUSED = (401, 403)


def _plain_url(value: str) -> str:
    url = httpx.URL(value)
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(f"{value!r} is no http:// or https:// address")
    if url.userinfo or url.query:
        raise ValueError("an address with a password or a query would be stored; use key_env for the key")
    return value.rstrip("/")


Address = Annotated[str, AfterValidator(_plain_url)]


class HttpParams(EmbedderParams):
    """What every embedder behind HTTP can be told."""

    batch_size: int = Field(32, ge=1, le=2048, description="most texts in one request")
    timeout: float = Field(60.0, gt=0, le=3600, description="seconds to wait for one answer")
    retries: int = Field(
        3, ge=0, le=20, description="times a request is repeated after 429, 5xx or a timeout"
    )
    requests_per_minute: float | None = Field(
        None, gt=0, description="most requests a minute; default: no limit"
    )
    max_characters: int | None = Field(
        None, ge=1, description="characters of a text that are sent; default: all, the server cuts or refuses"
    )


@dataclass(frozen=True, slots=True)
class Said:
    """What a server says about its model; empty where it says nothing."""

    revision: str = ""
    digest: str = ""
    max_tokens: int | None = None
    pooling: str = ""
    query_prompt: str = ""
    document_prompt: str = ""


class Connection:
    """One server: sends JSON, gets JSON, repeats what may succeed later."""

    def __init__(self, address: str, key_env: str, params: HttpParams) -> None:
        url = httpx.URL(address)
        self._key_env = key_env
        self._retries = params.retries
        self._gap = 60 / params.requests_per_minute if params.requests_per_minute else 0.0
        self._next = 0.0
        self._lock = threading.Lock()
        self.host = url.netloc.decode()
        # a proxy of the environment cannot reach this machine's own servers
        trust = url.host not in _LOOPBACK
        self._client = httpx.Client(base_url=address, timeout=params.timeout, trust_env=trust)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """The JSON answer to a request; raises EmbedderError after the last attempt."""
        return self._send("POST", path, body)

    def get(self, path: str) -> Any:
        """The JSON at a path, or None where the server has no such page."""
        return self._send("GET", path, None)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _send(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        for attempt in range(self._retries + 1):
            self._wait_for_turn()
            reply = self._try(method, path, body, last=attempt == self._retries)
            if reply is not None and (reply.status_code not in _TRANSIENT or attempt == self._retries):
                return self._read(reply, method, attempt)
            time.sleep(self._pause(attempt, reply))
        raise AssertionError("the last attempt returns or raises")

    def _try(self, method: str, path: str, body: Any, last: bool) -> httpx.Response | None:
        """The reply, or None where the connection broke and another attempt is left."""
        try:
            return self._client.request(method, path, json=body, headers=self._headers())
        except UnicodeEncodeError as exc:
            raise EmbedderError(
                "a text is not valid Unicode and cannot be sent. Read it in its encoding."
            ) from exc
        except httpx.ConnectError as exc:
            raise EmbedderError(
                f"no server answers at {self.host} ({exc}). Start it, or correct the address."
            ) from exc
        except httpx.TimeoutException as exc:
            if last:
                raise EmbedderError(
                    f"{self.host} did not answer within {self._client.timeout.read} s, {self._retries + 1} times. "
                    "Raise `timeout` or lower `batch_size`."
                ) from exc
        except httpx.HTTPError as exc:
            if last:
                raise EmbedderError(
                    f"{self.host} broke the connection {self._retries + 1} times: {exc}"
                ) from exc
        return None

    def _read(self, reply: httpx.Response, method: str, attempt: int) -> Any:
        if method == "GET" and reply.status_code in (404, 405, 501):
            return None
        if reply.is_success:
            try:
                return reply.json()
            except ValueError as exc:
                raise EmbedderError(
                    f"{self.host}{reply.url.path} did not answer with JSON: {self._said(reply)[:80]!r}. "
                    "Check the address."
                ) from exc
        raise EmbedderError(self._refusal(reply, attempt))

    def _refusal(self, reply: httpx.Response, attempt: int) -> str:
        said, key = self._said(reply)[:300], self._key()
        what = f"{self.host}{reply.url.path} answered {reply.status_code}"
        if reply.status_code in _REFUSED:
            known = f"The key in ${self._key_env} was refused" if key else "No key was sent"
            return f"{what}. {known}: set {self._key_env or '`key_env`'} to a valid key. It said: {said}"
        if reply.status_code in _TRANSIENT:
            return f"{what} to the last of {attempt + 1} attempts. Try again later. It said: {said}"
        return f"{what}: {said}"

    def _said(self, reply: httpx.Response) -> str:
        """The answer without our own key, which some servers repeat; whole, so that no half of it is left."""
        key = self._key()
        return reply.text.strip().replace(key, "***") if key else reply.text.strip()

    def _pause(self, attempt: int, reply: httpx.Response | None) -> float:
        """Seconds until the next attempt: what the server asks for, else doubled each time with jitter."""
        asked = _retry_after(reply)
        if asked is not None and asked > MAX_WAIT_SECONDS:
            raise EmbedderError(
                f"{self.host} asks to wait {asked:.0f} s; the quota is used up. Run again then: what was "
                "embedded is kept."
            )
        return asked if asked is not None else BACKOFF_SECONDS * 2**attempt * (0.5 + random.random() / 2)

    def _wait_for_turn(self) -> None:
        if not self._gap:
            return
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self._gap
        time.sleep(turn - now)

    def _key(self) -> str:
        """The key; one that no header can hold is refused here, since the library's error would show it."""
        key = os.environ.get(self._key_env, "").strip() if self._key_env else ""
        if not (key.isascii() and key.isprintable()):
            raise EmbedderError(f"the key in ${self._key_env} has characters that no key has. Set it again.")
        return key

    def _headers(self) -> dict[str, str]:
        key = self._key()
        return {"Authorization": f"Bearer {key}"} if key else {}


class HttpEmbedder(ABC):
    """An embedder behind HTTP; a kind of server says how it is asked and what it tells about its model."""

    version: ClassVar[str] = "1"
    engine: ClassVar[str] = "HTTP"
    needs: ClassVar[str] = "a server"

    def __init__(self, params: Any, address: str, key_env: str) -> None:
        self._params = params
        self._model: str = params.model
        self._server = Connection(address, key_env, params)
        self._dims: int | None = None

    @abstractmethod
    def _ask(self, texts: list[str], role: Role) -> Any:
        """The server's vectors of one batch, as lists of numbers."""

    def _said(self) -> Said:
        """What the server tells about its model; asked once, after its first vector."""
        return Said()

    @cached_property
    def info(self) -> ModelInfo:
        """What identifies these vectors; one text is embedded to learn their length."""
        probe = self._batch([PROBE], Role.DOCUMENT)[0]
        about = self._said()
        return ModelInfo(
            name=self._model,
            dims=len(probe),
            max_tokens=about.max_tokens,
            revision=about.revision or f"whatever {self._server.host} serves under this name",
            weights=f"remote:{self._model}" + (f"@{about.digest}" if about.digest else ""),
            normalised=bool(abs(float(np.linalg.norm(probe)) - 1) < 1e-3),
            pooling=about.pooling,
            query_prompt=about.query_prompt,
            document_prompt=about.document_prompt,
        )

    def embed(self, texts: Sequence[str], role: Role) -> np.ndarray:
        """One float32 row for each text, in order; an empty text is sent as one space."""
        info, size = self.info, self._params.batch_size
        if not texts:
            return np.empty((0, info.dims), np.float32)
        prompt = info.query_prompt if role is Role.QUERY else info.document_prompt
        ready = [prompt + (text[: self._params.max_characters] or " ") for text in texts]
        batches = [self._batch(ready[at : at + size], role) for at in range(0, len(ready), size)]
        return np.concatenate(batches)

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def _batch(self, texts: list[str], role: Role) -> np.ndarray:
        try:
            given = self._ask(texts, role)
            rows = [np.array([float(number) for number in row], np.float32) for row in given]
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as exc:
            raise EmbedderError(
                f"{self._server.host} answered in another shape than this kind of server does ({exc!r}). "
                "Choose the embedder that speaks its protocol."
            ) from exc
        self._check(rows, len(texts))
        return np.stack(rows)

    def _check(self, rows: list[np.ndarray], texts: int) -> None:
        """One finite row of the known length for each text."""
        host = self._server.host
        if len(rows) != texts:
            raise EmbedderError(f"{host} gave {len(rows)} vectors for {texts} texts; none of them is kept.")
        for row in rows:
            self._dims = self._dims or len(row)
            if row.shape != (self._dims,) or not len(row):
                raise EmbedderError(
                    f"{host} gave a vector of shape {row.shape} after vectors of {self._dims} numbers; another "
                    "model answers now. None of this batch is kept."
                )
            if not np.isfinite(row).all():
                raise EmbedderError(f"{host} gave a vector that is not finite for {self._model}.")


def _retry_after(reply: httpx.Response | None) -> float | None:
    """Seconds the server asks to wait, given as a number or as a date."""
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
