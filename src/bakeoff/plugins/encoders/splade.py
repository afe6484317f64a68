"""SPLADE: sparse vectors from a masked language model on ONNX Runtime, one weight per vocabulary entry."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
from pydantic import Field

from bakeoff.errors import EmbedderError
from bakeoff.plugins.embedders.onnx_rows import OnnxModelParams, OnnxRows, token_output
from bakeoff.storage.weights import sha256
from bakeoff.types import ModelInfo, Role, SparseRows, VectorKind


class SpladeEncoder:
    """A term's weight is the largest, over the tokens of a text, of ln(1 + max(logit, 0))."""

    version: ClassVar[str] = "1"
    vectors: ClassVar[VectorKind] = "sparse"

    class Params(OnnxModelParams):
        """Location of the model, token limit, and number of terms to keep."""

        max_terms: int | None = Field(
            None, ge=1, description="number of heaviest terms to keep per text; default: all"
        )

    def __init__(self, params: Params) -> None:
        self._params = params
        self._rows = OnnxRows(params, output=token_output)

    @cached_property
    def info(self) -> ModelInfo:
        """Identity of these weights: model, revision and settings."""
        found, words = self._rows.folder, self._rows.tokenizer.get_vocab_size(with_added_tokens=True)
        dims = len(self._weights(["a"])[0])
        if dims < words:
            raise EmbedderError(
                f"{found.graph} returns {dims:,} numbers per token, but the vocabulary has {words:,} "
                "entries: it has no masked-language-model head. Export the model with it "
                "(AutoModelForMaskedLM)."
            )
        return ModelInfo(
            name=found.name,
            dims=dims,
            max_tokens=self._rows.max_tokens,
            revision=f"{found.graph_version}tokenizer {sha256(found.tokenizer)[:16]}",
            weights=found.weights(),
            normalised=False,
            pooling="max of ln(1 + relu)",
            licence=found.licence,
        )

    def embed(self, texts: Sequence[str], role: Role) -> SparseRows:
        """Return one sparse row per text, in order."""
        dims = self.info.dims
        found = [self._heaviest(row) for row in self._weights(texts)]
        return SparseRows(
            np.concatenate([[0], np.cumsum([len(terms) for terms, _ in found])]).astype(np.int64),
            np.concatenate([np.empty(0, np.int32), *(terms for terms, _ in found)]),
            np.concatenate([np.empty(0, np.float32), *(weights for _, weights in found)]),
            dims,
        )

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens per text before truncation, including special ones."""
        return self._rows.count_tokens(texts)

    def close(self) -> None:
        """Release the session and its threads."""
        self._rows.close()

    def _weights(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Weight of every term in each text."""
        encoded = self._rows.tokenizer.encode_batch(list(texts))
        return self._rows.run(encoded, lambda logits: list(np.log1p(np.maximum(logits, 0).max(axis=1))))

    def _heaviest(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Terms with a weight, ascending, and their weights; NaN is passed on."""
        terms = np.flatnonzero(weights)
        most = self._params.max_terms
        if most is not None and len(terms) > most:
            terms = np.sort(terms[np.argsort(-weights[terms], kind="stable")[:most]])
        return terms.astype(np.int32), weights[terms].astype(np.float32)
