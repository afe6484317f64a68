"""MaxSim: late interaction over MiniLM's token vectors, offline."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from bakeoff.errors import EmbedderError, RerankerError
from bakeoff.plugins.embedders._shared import StartedModel
from bakeoff.plugins.embedders.bert_shape import GRAPH_VERSION
from bakeoff.plugins.embedders.onnx_engine import TokenBatch, TokenEngine, available_cores
from bakeoff.storage.weights import WEIGHTS_FILE, FoundWeights, find, keep_weights, models_folder

for _package in ("onnx", "safetensors"):  # imported only to make the graph, which happens once
    if find_spec(_package) is None:
        raise ModuleNotFoundError(f"No module named {_package!r}", name=_package)

NAME = "minilm"
QUERY_TOKENS = 64


class MaxsimReranker:
    """The mean, over a query's tokens, of the cosine to the nearest token of the passage.

    The encoder was trained for whole sentences, not for tokens: it is a reranker that needs no other weights.
    """

    version: ClassVar[str] = "1"

    class Params(BaseModel):
        """How much of a passage is read."""

        model_config = ConfigDict(extra="forbid", frozen=True)

        max_tokens: int = Field(256, ge=8, le=512, description="tokens of a passage that are read")
        threads: int | None = Field(
            None, ge=1, le=1024, description="passages computed at once; default: the cores"
        )
        weights: Path | None = Field(
            None, description="folder with model.safetensors, tokenizer.json and config.json"
        )

    def __init__(self, params: Params) -> None:
        self._params = params
        self._engine = StartedModel(self._start, TokenEngine.close)

    def rerank(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """One score for each passage, −1 to 1; a text without a token of its own scores −1."""
        try:
            asked, *found = self._engine.get().embed([query, *passages])
        except EmbedderError as exc:
            raise RerankerError(str(exc)) from exc
        return np.array([_nearest(asked, tokens) for tokens in found])

    def close(self) -> None:
        """Give back the session and its threads."""
        self._engine.close()

    @cached_property
    def _found(self) -> FoundWeights:
        return find(NAME, self._params.weights)

    def _start(self) -> TokenEngine:
        tokens = TokenBatch(self._found.folder / "tokenizer.json", self._params.max_tokens)
        return TokenEngine(self._graph(), tokens, self._params.threads or available_cores())

    def _graph(self) -> Path:
        stem = f"{self._found.hashes[WEIGHTS_FILE][:16]}-tokens-v{GRAPH_VERSION}"
        return keep_weights(models_folder(NAME) / "graphs", stem, ".onnx", self._make)

    def _make(self, target: Path) -> None:
        from bakeoff.plugins.embedders.bert_graph import save_graph

        save_graph(self._found.folder, target, quantise=False, pooled=False)


def _nearest(query: np.ndarray, passage: np.ndarray) -> float:
    """Without the marks at both ends of a text, which are near to each other whatever it says."""
    asked, found = query[1:-1][:QUERY_TOKENS], passage[1:-1]
    return float((asked @ found.T).max(axis=1).mean()) if len(asked) and len(found) else -1.0
