"""A cross-encoder on sentence-transformers, by name or folder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from sentence_transformers import CrossEncoder

from bakeoff.errors import ModelNotFoundError


class SentenceTransformersReranker:
    """Scores of a CrossEncoder; its weights come from a folder or are downloaded."""

    version: ClassVar[str] = "1"

    class Params(BaseModel):
        """Which model."""

        model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

        model: str = Field("cross-encoder/ms-marco-MiniLM-L6-v2", description="name or folder of the model")
        max_tokens: int | None = Field(None, ge=16, description="tokens read per pair")
        batch_size: int = Field(32, ge=1, le=1024, description="pairs computed together")

    def __init__(self, params: Params) -> None:
        self._params = params

    def rerank(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """Return one score per passage."""
        pairs = [(query, passage) for passage in passages]
        scores = self._model.predict(pairs, batch_size=self._params.batch_size, show_progress_bar=False)
        return np.asarray(scores, np.float64).reshape(len(passages), -1)[:, -1]

    def close(self) -> None:
        """The model is freed with its object."""
        self.__dict__.pop("_model", None)

    @cached_property
    def _model(self) -> Any:
        try:
            return CrossEncoder(self._params.model, max_length=self._params.max_tokens)
        except (OSError, ValueError) as exc:
            raise ModelNotFoundError(
                f"no cross-encoder {self._params.model!r}: {exc}. Give a model's name or its folder."
            ) from exc
