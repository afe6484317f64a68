"""Token vectors for late interaction, from any encoder on ONNX Runtime that returns a vector per token."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
from pydantic import Field

from bakeoff.plugins.embedders.onnx_rows import OnnxModelParams, OnnxRows, token_output, unit_tokens
from bakeoff.storage.weights import sha256
from bakeoff.types import ModelInfo, Role, TokenRows, VectorKind


class TokenVectorsEncoder:
    """Unit vectors of a text's tokens, without special tokens such as [CLS].

    Sentence encoders were trained for one vector per text; ColBERT exports were trained for this.
    """

    version: ClassVar[str] = "1"
    vectors: ClassVar[VectorKind] = "tokens"

    class Params(OnnxModelParams):
        """Location of the model, token limit, and prefixes."""

        query_prompt: str = Field("", description="prefix of each query, for example '[Q] '")
        document_prompt: str = Field("", description="prefix of each chunk")
        special: bool = Field(False, description="keep the vectors of special tokens")

    def __init__(self, params: Params) -> None:
        self._params = params
        self._rows = OnnxRows(params, output=token_output)

    @cached_property
    def info(self) -> ModelInfo:
        """Identity of these vectors: model, revision and settings."""
        found, params = self._rows.folder, self._params
        return ModelInfo(
            name=found.name,
            dims=self._tokens(["a"])[0].shape[1],
            max_tokens=self._rows.max_tokens,
            revision=f"{found.graph_version}tokenizer {sha256(found.tokenizer)[:16]}",
            weights=found.weights(),
            normalised=True,
            pooling="tokens with special ones" if params.special else "tokens",
            query_prompt=params.query_prompt,
            document_prompt=params.document_prompt,
            licence=found.licence,
        )

    def embed(self, texts: Sequence[str], role: Role) -> TokenRows:
        """Return tokens × dims per text, in order."""
        prompt = self._params.query_prompt if role is Role.QUERY else self._params.document_prompt
        found = self._tokens([prompt + text for text in texts])
        counts = [len(one) for one in found]
        return TokenRows(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.concatenate([np.empty((0, self.info.dims), np.float32), *found]),
        )

    def _tokens(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Unit vectors per text; a text of special tokens only keeps theirs."""
        found = unit_tokens(self._rows, texts, special=self._params.special)
        empty = [i for i, vectors in enumerate(found) if not len(vectors)]
        for i, vectors in zip(
            empty, unit_tokens(self._rows, [texts[i] for i in empty], special=True), strict=True
        ):
            found[i] = vectors
        return found

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens per text before truncation, including special ones."""
        return self._rows.count_tokens(texts)

    def close(self) -> None:
        """Release the session and its threads."""
        self._rows.close()
