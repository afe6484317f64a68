"""MaxSim: late interaction over the token vectors of any encoder on ONNX Runtime, offline."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from bakeoff.errors import EmbedderError, RerankerError
from bakeoff.plugins.embedders.onnx_rows import OnnxModelParams, OnnxRows, token_output, unit_tokens

QUERY_TOKENS = 64
MEGABYTE = 1_000_000


class MaxsimReranker:
    """Mean, over a query's tokens, of the cosine to the passage's nearest token.

    Sentence encoders were trained for whole texts, not tokens, but this needs no other weights. Passage
    vectors are kept in memory, so a passage found by several queries is read once.
    """

    version: ClassVar[str] = "2"

    class Params(BaseModel):
        """Encoder, token limit per passage, and size of the vector cache."""

        model_config = ConfigDict(extra="forbid", frozen=True)

        model: str = Field("minilm", description="a model of `bakeoff models list`, or a pulled repository")
        folder: Path | None = Field(
            None,
            exclude_if=lambda value: value is None,
            description="a folder with tokenizer.json and an ONNX graph or safetensors instead",
        )
        max_tokens: int = Field(256, ge=8, le=8192, description="tokens read per passage")
        threads: int | None = Field(
            None, ge=1, le=1024, description="passages computed at once; default: the cores"
        )
        cache_mb: int = Field(256, ge=0, description="megabytes of passage vectors to keep in memory")

    def __init__(self, params: Params) -> None:
        model = OnnxModelParams(
            folder=params.folder,
            model="" if params.folder else params.model,
            max_tokens=params.max_tokens,
            threads=params.threads,
        )
        self._rows = OnnxRows(model, output=token_output)
        self._kept = _PassageVectors(params.cache_mb * MEGABYTE)

    def rerank(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """Return one score per passage, −1 to 1; a text without tokens of its own scores −1."""
        known = {text: vectors for text in passages if (vectors := self._kept.find(text)) is not None}
        new = [text for text in dict.fromkeys(passages) if text not in known]
        try:
            asked, *found = unit_tokens(self._rows, [query, *new])
        except EmbedderError as exc:
            raise RerankerError(str(exc)) from exc
        for text, vectors in zip(new, found, strict=True):
            known[text] = vectors
            self._kept.add(text, vectors)
        return np.array([_nearest(asked[:QUERY_TOKENS], known[text]) for text in passages])

    def close(self) -> None:
        """Release the session, its threads and the vectors."""
        self._rows.close()
        self._kept.clear()


class _PassageVectors:
    """Vectors of the most recently used passages, up to a number of bytes."""

    def __init__(self, most: int) -> None:
        self._most, self._bytes, self._lock = most, 0, threading.Lock()
        self._kept: OrderedDict[str, np.ndarray] = OrderedDict()

    def find(self, text: str) -> np.ndarray | None:
        with self._lock:
            if text in self._kept:
                self._kept.move_to_end(text)
            return self._kept.get(text)

    def add(self, text: str, vectors: np.ndarray) -> None:
        with self._lock:
            if text in self._kept:
                return
            self._kept[text] = vectors
            self._bytes += vectors.nbytes
            while self._bytes > self._most:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._bytes = 0


def _nearest(asked: np.ndarray, found: np.ndarray) -> float:
    return float((asked @ found.T).max(axis=1).mean()) if len(asked) and len(found) else -1.0
