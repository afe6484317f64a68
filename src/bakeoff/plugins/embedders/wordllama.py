"""WordLlama: the mean of trained token vectors, with the weights inside its wheel."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from bakeoff.errors import EmbedderError
from bakeoff.plugins import _tokenizers as tokenizers
from bakeoff.plugins.embedders._shared import EmbedderParams, StartedModel
from bakeoff.types import ModelInfo, Role

# Only the wheel's data is used: importing it would configure the root logger and load a downloader.
_SPEC = find_spec("wordllama")
if _SPEC is None or _SPEC.origin is None:
    raise ModuleNotFoundError("No module named 'wordllama'", name="wordllama")
_PACKAGE = Path(_SPEC.origin).parent
_WEIGHTS = _PACKAGE / "weights" / "l2_supercat_256.safetensors"
_TOKENIZER = _PACKAGE / "tokenizers" / "l2_supercat_tokenizer_config.json"
_BLOCK = 4096  # token vectors gathered at once: 4 MB


class WordLlamaEmbedder:
    """WordLlama l2_supercat_256; queries and documents are embedded alike, and no text is cut."""

    engine: ClassVar[str] = "numpy"
    version: ClassVar[str] = "1"

    class Params(EmbedderParams):
        """What shapes WordLlama's vectors."""

        dims: Literal[64, 128, 256] = Field(
            256, description="vector length; shorter vectors are the leading dimensions, normalised again"
        )

    def __init__(self, params: Params) -> None:
        self._dims = params.dims
        self._model = StartedModel(self._load)

    @cached_property
    def info(self) -> ModelInfo:
        """Identity of these vectors: model, revision and settings."""
        return ModelInfo(
            name="wordllama-l2-supercat",
            dims=self._dims,
            max_tokens=None,
            revision=f"tokenizer {_sha256(_TOKENIZER)[:16]}",
            weights=_sha256(_WEIGHTS),
            normalised=True,
            pooling="mean",
            licence="MIT",
        )

    def embed(self, texts: Sequence[str], role: Role) -> np.ndarray:
        """Return one float32 unit vector per text, in order; an empty text is embedded as one space."""
        table = self._model.get()[1]
        sums = np.empty((len(texts), self._dims), np.float32)
        for row, ids in enumerate(self._encode([text or " " for text in texts])):
            sums[row] = _sum(table, np.array(ids, np.intp))
        return sums / np.linalg.norm(sums, axis=1, keepdims=True)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens per text."""
        return [len(ids) for ids in self._encode(texts)]

    def close(self) -> None:
        """Release the token vectors."""
        self._model.close()

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        tokenizer = self._model.get()[0]
        try:
            return [e.ids for e in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]
        except TypeError as exc:
            raise EmbedderError(
                f"a text is not valid Unicode and cannot be tokenised ({exc}). Read it in its encoding."
            ) from exc

    def _load(self) -> tuple[Tokenizer, np.ndarray]:
        table = load_file(_WEIGHTS)["embedding.weight"][:, : self._dims]
        return tokenizers.shared_tokenizer(_TOKENIZER), np.ascontiguousarray(table, np.float32)


def _sum(table: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Sum of the tokens' vectors in blocks, so that a text of any length needs little memory."""
    total = np.add.reduce(table.take(ids[:_BLOCK], axis=0), axis=0)
    for start in range(_BLOCK, len(ids), _BLOCK):
        total += np.add.reduce(table.take(ids[start : start + _BLOCK], axis=0), axis=0)
    return total


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
