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
from bakeoff.plugins.encoders.token_vectors import TokenVectorsEncoder
from bakeoff.plugins.kit.encoded import nearest_tokens
from bakeoff.types import JsonObject

QUERY_TOKENS = 64
MEGABYTE = 1_000_000


class MaxsimReranker:
    """Mean, over a query's tokens, of the cosine to the passage's nearest token.

    Sentence encoders were trained for whole texts, not tokens, but this needs no other weights. A run encodes
    every passage once and stores the vectors; elsewhere, the latest ones are kept in memory.
    """

    version: ClassVar[str] = "3"

    class Params(BaseModel):
        """Encoder, token limit per passage, and where passage vectors are kept."""

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
        stored: bool = Field(
            True,
            description="encode all chunks before the first query and store the vectors: about 1.5 kB per token; "
            "false: encode the passages of each query when it is asked",
        )
        cache_mb: int = Field(
            256, ge=0, description="without stored: megabytes of passage vectors to keep in memory"
        )

    def __init__(self, params: Params) -> None:
        self._rows = OnnxRows(OnnxModelParams.model_validate(_model(params)), output=token_output)
        self._kept = _PassageVectors(params.cache_mb * MEGABYTE)

    @classmethod
    def passage_encoder(cls, params: BaseModel) -> tuple[str, BaseModel] | None:
        """The encoder of stored passages; None if passages are encoded with each query."""
        assert isinstance(params, cls.Params)
        return (
            ("token_vectors", TokenVectorsEncoder.Params.model_validate(_model(params)))
            if params.stored
            else None
        )

    def rerank_tokens(self, query: str, passages: Sequence[np.ndarray]) -> np.ndarray:
        """Return one score per passage, −1 to 1, from its token vectors."""
        try:
            (asked,) = unit_tokens(self._rows, [query])
        except EmbedderError as exc:
            raise RerankerError(str(exc)) from exc
        return _score(asked[:QUERY_TOKENS], passages)

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
        return _score(asked[:QUERY_TOKENS], [known[text] for text in passages])

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


def _score(asked: np.ndarray, passages: Sequence[np.ndarray]) -> np.ndarray:
    """Mean cosine of the query's tokens to each passage's nearest; −1 where either has no tokens."""
    scores = np.full(len(passages), -1.0)
    filled = [row for row, vectors in enumerate(passages) if len(vectors)]
    if not len(asked) or not filled:
        return scores
    counts = [len(passages[row]) for row in filled]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    nearest = nearest_tokens(asked, np.concatenate([passages[row] for row in filled]), starts)
    scores[filled] = nearest.mean(axis=1, dtype=np.float64)
    return scores


def _model(params: MaxsimReranker.Params) -> JsonObject:
    """The parameters of the encoder, of queries and passages alike."""
    own = params.model_dump(mode="json", include={"model", "folder", "max_tokens", "threads"})
    return {**own, "model": ""} if params.folder else own
