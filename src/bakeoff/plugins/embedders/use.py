"""universal-sentence-encoder-multilingual on ONNX Runtime: its graph takes raw text, tokenizer included."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
import onnxruntime
import onnxruntime_extensions
from pydantic import Field

from bakeoff.errors import EmbedderError
from bakeoff.plugins.embedders._shared import EmbedderParams, StartedModel
from bakeoff.plugins.embedders.onnx_engine import REFUSED, available_cores
from bakeoff.runtime.signals import raise_if_interrupted
from bakeoff.storage.catalogue import find_entry
from bakeoff.storage.weights import FoundWeights, find
from bakeoff.types import ModelInfo, Role


class UseEmbedder:
    """A text encoder of 16 languages in one vector space; one text at a time, so that none depends on another."""

    version: ClassVar[str] = "1"
    engine: ClassVar[str] = "ONNX Runtime"
    needs: ClassVar[str] = "the weights of use-multilingual"

    class Params(EmbedderParams):
        """Which weights, and how fast they run."""

        model: str = Field("use-multilingual", description="its name in `bakeoff models list`")
        threads: int | None = Field(None, ge=1, le=1024, description="threads per text; default: the cores")

    def __init__(self, params: Params) -> None:
        self._params = params
        self._session = StartedModel(self._start)

    @cached_property
    def info(self) -> ModelInfo:
        """Identity of these vectors: model, revision and settings."""
        entry = find_entry(self._params.model)
        return ModelInfo(
            name=self._weights.model,
            dims=entry.dims or 0,
            max_tokens=None,
            revision=f"onnxruntime-extensions {onnxruntime_extensions.__version__}",
            weights=self._weights.hashes["model.onnx"],
            normalised=True,
            pooling="graph",
            licence=self._weights.licence,
        )

    def embed(self, texts: Sequence[str], role: Role) -> np.ndarray:
        """Return one float32 unit vector per text, in order."""
        rows = [self._run(text) for text in texts]
        matrix = np.stack(rows) if rows else np.empty((0, self.info.dims), np.float32)
        return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)

    def close(self) -> None:
        """Release the session."""
        self._session.close()

    @cached_property
    def _weights(self) -> FoundWeights:
        return find(self._params.model)

    def _run(self, text: str) -> np.ndarray:
        raise_if_interrupted()
        session = self._session.get()
        try:
            answer = session.run(None, {session.get_inputs()[0].name: np.array([text or " "])})[0]
        except (*REFUSED, UnicodeEncodeError) as exc:
            raise EmbedderError(f"ONNX Runtime failed on a text of {len(text):,} characters: {exc}") from exc
        return np.asarray(answer, np.float32).reshape(-1)

    def _start(self) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.register_custom_ops_library(onnxruntime_extensions.get_library_path())
        options.intra_op_num_threads = self._params.threads or available_cores()
        options.log_severity_level = 4  # failures are raised
        try:
            return onnxruntime.InferenceSession(
                str(self._weights.folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
            )
        except REFUSED as exc:
            raise EmbedderError(
                f"ONNX Runtime {onnxruntime.__version__} could not load the model: {exc}"
            ) from exc
