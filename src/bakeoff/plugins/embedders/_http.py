"""Base of embedders behind HTTP: batching, the server's model description, checks of its vectors."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from bakeoff.errors import EmbedderError
from bakeoff.plugins.embedders._shared import EmbedderParams
from bakeoff.runtime.json_client import OTHER_SHAPE, JsonClient
from bakeoff.runtime.signals import raise_if_interrupted
from bakeoff.types import Json, JsonObject, ModelInfo, Role

MOST_DIMS = 65_536
"""Most numbers in one vector; the longest of known models have 16,384."""
PROBE = "a sentence to measure the length of this model's vectors"


class HttpParams(EmbedderParams):
    """Parameters of every embedder behind HTTP."""

    batch_size: int = Field(32, ge=1, le=2048, description="most texts in one request")
    timeout: float = Field(60.0, gt=0, le=3600, description="seconds to wait for one answer")
    retries: int = Field(3, ge=0, le=20, description="retries after 429, 5xx or a timeout")
    requests_per_minute: float | None = Field(
        None, gt=0, description="most requests per minute; default: no limit"
    )
    max_characters: int | None = Field(
        None,
        ge=1,
        description="most characters sent per text; default: all, leaving it to the server to truncate or reject",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerMessage:
    """A server's description of its model; empty fields are unknown."""

    revision: str = ""
    digest: str = ""
    max_tokens: int | None = None
    pooling: str = ""
    query_prompt: str = ""
    document_prompt: str = ""


class HttpEmbedder(ABC):
    """An embedder behind HTTP; a subclass implements the request and the model description."""

    version: ClassVar[str] = "1"
    engine: ClassVar[str] = "HTTP"
    needs: ClassVar[str] = "a server"
    remote: ClassVar[bool] = True

    def __init__(self, params: Any, address: str, key_env: str) -> None:
        self._params = params
        self._model: str = params.model
        self._server = JsonClient(address, key_env, params)
        self._dims: int | None = None

    @abstractmethod
    def _ask(self, texts: list[str], role: Role) -> Json:
        """Request the vectors of one batch, as lists of numbers."""

    def _describe_model(self) -> ServerMessage:
        """Request the model's description; called once, after the first vector."""
        return ServerMessage()

    @cached_property
    def info(self) -> ModelInfo:
        """Identity of these vectors; embeds one text to learn their length."""
        probe = self._batch([PROBE], Role.DOCUMENT)[0]
        with self._understood():
            about = self._describe_model()
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
        """Return one float32 row per text, in order; an empty text is sent as one space."""
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
        raise_if_interrupted()
        with self._understood():
            given = self._ask(texts, role)
            if not isinstance(given, list):
                raise TypeError(f"vectors as {type(given).__name__}")
            rows = [self._numbers(row) for row in given]
        self._check(rows, len(texts))
        return np.stack(rows)

    def _in_order(self, given: list[JsonObject], texts: int) -> list[Any]:
        """Order an answer's embeddings by their index; every text must have its own."""
        numbers = [row["index"] for row in given]
        if len(numbers) == texts and sorted(numbers) != list(range(texts)):
            raise EmbedderError(
                f"{self._server.host} numbered the vectors of {self._model} {_some(numbers)} for {texts} "
                "texts, so they can't be matched to texts. The batch was discarded."
            )
        return [row["embedding"] for row in sorted(given, key=lambda row: row["index"])]

    def _numbers(self, row: Json) -> np.ndarray:
        """Parse a vector of the answer; text is rejected, because its digits would be read as numbers."""
        if isinstance(row, str) or not all(type(number) in (int, float) for number in row):
            raise EmbedderError(
                f"{self._server.host} returned a vector of {self._model} that is not a list of numbers: "
                f"{_shorten(row)}. The batch was discarded."
            )
        return np.array(row, np.float32)

    @contextlib.contextmanager
    def _understood(self) -> Iterator[None]:
        """Name the server in errors about an answer with an unexpected structure."""
        try:
            yield
        except OTHER_SHAPE as exc:
            raise EmbedderError(
                f"{self._server.host} sent an unexpected response ({exc!r}). Choose the embedder for its "
                "protocol."
            ) from exc

    def _check(self, rows: list[np.ndarray], texts: int) -> None:
        """Raise unless there is one finite row of the known length per text."""
        host = self._server.host
        if len(rows) != texts:
            raise EmbedderError(
                f"{host} returned {len(rows)} vectors for {texts} texts; the batch was discarded."
            )
        for row in rows:
            if row.size > MOST_DIMS:
                raise EmbedderError(
                    f"{host} returned a vector of {row.size:,} numbers for {self._model}; at most "
                    f"{MOST_DIMS:,} are accepted. Check the address and the model."
                )
            self._dims = self._dims or len(row)
            if row.shape != (self._dims,) or not len(row):
                raise EmbedderError(
                    f"{host} returned a vector of shape {row.shape} after vectors of {self._dims} numbers; "
                    "the model behind it changed. The batch was discarded."
                )
            if not np.isfinite(row).all():
                raise EmbedderError(f"{host} returned a vector that is not finite for {self._model}.")


def _some(numbers: list[object]) -> str:
    shown = ", ".join(str(number) for number in numbers[:5])
    return f"{shown}, …" if len(numbers) > 5 else shown


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
