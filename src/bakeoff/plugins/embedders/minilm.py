"""all-MiniLM-L6-v2 (or another BERT encoder with mean pooling) on ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from bakeoff.errors import EmbedderError
from bakeoff.plugins.embedders._shared import EmbedderParams, StartedModel
from bakeoff.plugins.embedders.bert_shape import GRAPH_VERSION, read_shape
from bakeoff.plugins.embedders.onnx_engine import OnnxEngine, TokenBatch, available_cores
from bakeoff.storage.weights import WEIGHTS_FILE, FoundWeights, find, keep_weights, models_folder
from bakeoff.types import ModelInfo, Role

for _package in (
    "onnx",
    "safetensors",
):  # needed only to build a graph, once, but required here
    if find_spec(_package) is None:
        raise ModuleNotFoundError(f"No module named {_package!r}", name=_package)

NAME = "minilm"


class MiniLMEmbedder:
    """A sentence encoder whose ONNX graph is built once; queries and documents are embedded alike."""

    engine: ClassVar[str] = "ONNX Runtime"
    version: ClassVar[str] = "1"

    class Params(EmbedderParams):
        """Settings of MiniLM's vectors, and of its speed."""

        precision: Literal["fp32", "int8"] = Field(
            "fp32",
            description="fp32, or int8 weights: 1.5 to 2.5 times as fast by CPU, cosine about 0.99 to fp32",
        )
        max_tokens: int = Field(256, ge=8, le=512, description="tokens read per text; the rest is cut off")
        batch_size: int = Field(
            32, ge=1, le=1024, description="most texts per run; changes speed, not vectors"
        )
        threads: int | None = Field(
            None, ge=1, le=1024, description="texts computed at once; default: the cores of this machine"
        )
        weights: Path | None = Field(
            None, description="folder with model.safetensors, tokenizer.json and config.json"
        )

    def __init__(self, params: Params) -> None:
        self._params = params
        self._engine = StartedModel(self._start, OnnxEngine.close)

    @cached_property
    def info(self) -> ModelInfo:
        """Identity of these vectors; raises ModelNotFoundError if the weights are missing."""
        shape = read_shape(self._weights.folder / "config.json", ("bert",))
        if self._params.max_tokens > shape.positions:
            raise EmbedderError(
                f"max_tokens is {self._params.max_tokens}, but this model reads at most {shape.positions}"
            )
        name = self._weights.model
        return ModelInfo(
            name=name if self._params.precision == "fp32" else f"{name}-{self._params.precision}",
            dims=shape.dims,
            max_tokens=self._params.max_tokens,
            revision=f"graph {GRAPH_VERSION}, tokenizer {self._weights.hashes['tokenizer.json'][:16]}",
            weights=self._weights.hashes[WEIGHTS_FILE],
            normalised=True,
            pooling="mean",
            licence=self._weights.licence,
        )

    def embed(self, texts: Sequence[str], role: Role) -> np.ndarray:
        """Return one float32 unit vector per text, in order."""
        return self._engine.get().embed(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens per text before truncation, including [CLS] and [SEP]."""
        return self._tokens.count(texts)

    def close(self) -> None:
        """Release the session and its threads."""
        self._engine.close()

    @cached_property
    def _weights(self) -> FoundWeights:
        return find(NAME, self._params.weights)

    @cached_property
    def _tokens(self) -> TokenBatch:
        return TokenBatch(self._weights.folder / "tokenizer.json", self._params.max_tokens)

    def _start(self) -> OnnxEngine:
        """Start the engine; int8 runs take one text, because activations are scaled by the batch's largest value."""
        quantised = self._params.precision == "int8"
        batch = 1 if quantised else self._params.batch_size
        threads = self._params.threads or available_cores()
        return OnnxEngine(self._graph(), self._tokens, threads, batch, optimise=quantised)

    def _graph(self) -> Path:
        stem = f"{self.info.weights[:16]}-{self._params.precision}-v{GRAPH_VERSION}"
        return keep_weights(models_folder(NAME) / "graphs", stem, ".onnx", self._make)

    def _make(self, target: Path) -> None:
        from bakeoff.plugins.embedders.bert_graph import save_graph

        save_graph(self._weights.folder, target, quantise=self._params.precision == "int8")
