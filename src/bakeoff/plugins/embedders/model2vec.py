"""Static models of Model2Vec from a folder: the mean of one stored vector per token."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar

import numpy as np
from model2vec import StaticModel
from pydantic import Field

from bakeoff.errors import EmbedderError, ModelNotFoundError
from bakeoff.plugins.embedders._shared import EmbedderParams, StartedModel
from bakeoff.storage.weights import WEIGHTS_FILE, sha256
from bakeoff.types import ModelInfo, Role

_FILES = (WEIGHTS_FILE, "tokenizer.json", "config.json")


class Model2VecEmbedder:
    """A static model in a folder of its own; queries and documents are embedded alike."""

    version: ClassVar[str] = "1"
    engine: ClassVar[str] = "numpy"

    class Params(EmbedderParams):
        """Location of the model, and how much of a text and vector to use."""

        folder: Path = Field(description="folder with model.safetensors, tokenizer.json and config.json")
        dims: int | None = Field(None, ge=1, description="leading dimensions to keep; default: all")
        max_tokens: int | None = Field(None, ge=1, description="tokens read per text; default: all")

    def __init__(self, params: Params) -> None:
        self._params = params
        self._model = StartedModel(self._load)

    @cached_property
    def info(self) -> ModelInfo:
        """Identity of these vectors, which have unit length whatever the folder's default is."""
        folder = self._folder
        hashes = "".join(sha256(folder / file) for file in _FILES[1:])
        return ModelInfo(
            name=folder.resolve().name,
            dims=int(self._model.get().dim),
            max_tokens=self._params.max_tokens,
            revision=f"model2vec {version('model2vec')}, files {hashlib.sha256(hashes.encode()).hexdigest()[:16]}",
            weights=sha256(folder / WEIGHTS_FILE),
            normalised=True,
            pooling="mean",
        )

    def embed(self, texts: Sequence[str], role: Role) -> np.ndarray:
        """Return one float32 unit vector per text, in order; an unknown text is all zeros."""
        if not texts:
            return np.empty((0, self.info.dims), np.float32)
        try:
            rows = self._model.get().encode(
                list(texts), max_length=self._params.max_tokens, normalize=True, use_multiprocessing=False
            )
        except IndexError as exc:
            raise EmbedderError(
                f"the tokenizer in {self._folder} has tokens without a vector in its weights ({exc}). Save "
                "both again from the same model."
            ) from exc
        return np.ascontiguousarray(rows, np.float32)

    def close(self) -> None:
        """Release the token vectors."""
        self._model.close()

    @property
    def _folder(self) -> Path:
        folder = self._params.folder.expanduser()
        missing = [file for file in _FILES if not (folder / file).is_file()]
        if missing:  # otherwise the library would search the network for a model of that name
            raise ModelNotFoundError(
                f"{folder} has no {', '.join(missing)}. Give a folder with {', '.join(_FILES)}."
            )
        return folder

    def _load(self) -> StaticModel:
        folder = self._folder
        try:
            return StaticModel.from_pretrained(str(folder), dimensionality=self._params.dims)
        except Exception as exc:  # the library passes on the errors of all its parsers
            raise ModelNotFoundError(
                f"{folder} contains no Model2Vec model ({type(exc).__name__}: {exc}). Save it again with "
                "model2vec."
            ) from exc
