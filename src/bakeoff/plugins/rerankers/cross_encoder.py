"""A cross-encoder exported to ONNX: query and passage are read together and get one score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from bakeoff.errors import EmbedderError, RerankerError
from bakeoff.plugins.embedders.onnx_rows import OnnxModelParams, OnnxRows


class CrossEncoderReranker:
    """A pair classifier on ONNX Runtime; with two classes, the score is the second's lead."""

    version: ClassVar[str] = "2"

    class Params(OnnxModelParams):
        """Location of the model, and how much of a pair it reads."""

        max_tokens: int | None = Field(None, ge=16, description="tokens of a pair; the passage is cut to fit")

    def __init__(self, params: Params) -> None:
        self._rows = OnnxRows(params, truncate="only_second")

    def rerank(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """Return one score per passage."""
        encoded = self._rows.tokenizer.encode_batch([(query, passage) for passage in passages])
        try:
            found = self._rows.run(encoded)
        except EmbedderError as exc:
            raise RerankerError(str(exc)) from exc
        return np.array([self._score(np.atleast_1d(answer)) for answer in found], np.float64)

    def close(self) -> None:
        """Stop the threads."""
        self._rows.close()

    def _score(self, answer: np.ndarray) -> float:
        if answer.shape not in ((1,), (2,)):
            raise RerankerError(
                f"{self._rows.folder.graph} returned {answer.shape} for a pair; a cross-encoder returns "
                "one score, or two classes."
            )
        return float(answer[-1] - answer[0]) if len(answer) == 2 else float(answer[0])
