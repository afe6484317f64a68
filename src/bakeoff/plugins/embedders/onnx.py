"""Sentence encoders on ONNX Runtime: a catalogue model, or a folder with an ONNX graph or safetensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import onnxruntime
from pydantic import Field, model_validator

from bakeoff.errors import EmbedderError
from bakeoff.plugins.embedders._shared import EmbedderParams, StartedModel
from bakeoff.plugins.embedders.onnx_engine import (
    REFUSED,
    OnnxEngine,
    TokenBatch,
    TokenIds,
    _session,
    available_cores,
    ort_reason,
)
from bakeoff.plugins.embedders.onnx_folder import OnnxFolder, declared_pooling, read_model, token_graph
from bakeoff.runtime.count_text import count
from bakeoff.storage.weights import sha256
from bakeoff.types import ModelInfo, Role

_FEEDS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "input_ids": lambda ids: ids,
    "ids": lambda ids: ids,
    "attention_mask": np.ones_like,
    "token_type_ids": np.zeros_like,
    "position_ids": lambda ids: np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
}
_POOLED, _PER_TOKEN = 2, 3


class OnnxEmbedder:
    """An exported sentence encoder on ONNX Runtime; texts of one length run together, so nothing is padded."""

    version: ClassVar[str] = "1"
    engine: ClassVar[str] = "ONNX Runtime"
    needs: ClassVar[str] = "a folder of yours"

    class Params(EmbedderParams):
        """Location of the model, and how its token vectors are pooled."""

        folder: Path | None = Field(
            None,
            description="folder with tokenizer.json and model.onnx, onnx/model.onnx or model.safetensors",
        )
        model: str = Field(
            "",
            exclude_if=lambda value: not value,
            description="a model of `bakeoff models list`, or a repository that was pulled, as owner/name",
        )
        graph: str = Field("", description="another graph in the folder, as onnx/model_quantized.onnx")
        name: str = Field("", description="name of the model; default: the folder's")
        pooling: Literal["mean", "cls", "last"] | None = Field(
            None, description="how token vectors are pooled; default: the folder's or graph's setting"
        )
        normalise: bool = Field(True, description="normalise vectors to unit length")
        max_tokens: int | None = Field(None, ge=8, description="tokens read per text; default: all it can")
        query_prompt: str | None = Field(
            None, description="prefix of each query; default: as the folder says"
        )
        document_prompt: str | None = Field(
            None, description="prefix of each chunk; default: as the folder says"
        )
        batch_size: int = Field(
            32, ge=1, le=1024, description="most texts per run; an int8 graph always takes one"
        )
        threads: int | None = Field(
            None, ge=1, le=1024, description="texts computed at once; default: the cores"
        )

        @model_validator(mode="after")
        def _one_model(self) -> OnnxEmbedder.Params:
            if (self.folder is None) == (not self.model):
                raise ValueError("give either `folder` or `model`")
            return self

    def __init__(self, params: Params) -> None:
        self._params = params
        self._engine = StartedModel(self._start, OnnxEngine.close)

    @cached_property
    def info(self) -> ModelInfo:
        """Identity of these vectors: model, revision and settings."""
        given, found, engine = self._params, self._model_folder, self._engine.get()
        return ModelInfo(
            name=given.name or found.name,
            dims=engine.dims,
            max_tokens=self._max_tokens,
            revision=f"{found.graph_version}tokenizer {sha256(found.tokenizer)[:16]}",
            weights=found.weights(),
            normalised=given.normalise,
            pooling=engine.pooling,
            query_prompt=found.query_prompt if given.query_prompt is None else given.query_prompt,
            document_prompt=found.document_prompt if given.document_prompt is None else given.document_prompt,
            licence=found.licence,
        )

    def embed(self, texts: Sequence[str], role: Role) -> np.ndarray:
        """Return one float32 vector per text, in order."""
        prompt = self.info.query_prompt if role is Role.QUERY else self.info.document_prompt
        return self._engine.get().embed([prompt + text for text in texts])

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens per text before truncation, including special ones."""
        return self._tokens.count(texts)

    def declared_pooling(self) -> str:
        """The pooling in the model's files or the catalogue; '' if neither has one."""
        return declared_pooling(self._model_folder) if self._params.pooling else ""

    def close(self) -> None:
        """Release the session and its threads."""
        self._engine.close()

    @cached_property
    def _model_folder(self) -> OnnxFolder:
        return read_model(self._params.folder, self._params.model, self._params.graph)

    @property
    def _max_tokens(self) -> int:
        wanted, most = self._params.max_tokens, self._model_folder.positions
        if wanted is not None and most is not None and wanted > most:
            raise EmbedderError(f"max_tokens is {wanted}, but this model reads at most {most}")
        return wanted or self._model_folder.max_tokens

    @cached_property
    def _tokens(self) -> TokenBatch:
        return TokenBatch(self._model_folder.tokenizer, self._max_tokens)

    def _start(self) -> _PoolingEngine:
        return _PoolingEngine(self._model_folder, self._graph(), self._tokens, self._params)

    def _graph(self) -> Path:
        return token_graph(self._model_folder, self._params.model)


class _PoolingEngine(OnnxEngine):
    """Engine for a graph with the usual inputs that returns a vector per text or per token."""

    def __init__(
        self, found: OnnxFolder, graph: Path, tokens: TokenBatch, params: OnnxEmbedder.Params
    ) -> None:
        self._session = _session(graph, optimise=graph == found.graph)
        self._inputs = _inputs(self._session, graph)
        self._output, self.pooling = _choose(self._session, params.pooling or "", found)
        self._normalise = params.normalise
        # an int8 graph scales activations by a batch's largest value: alone, no text depends on another
        self._tokens, self._batch = tokens, 1 if found.quantised else params.batch_size
        self._pool = ThreadPoolExecutor(params.threads or available_cores(), thread_name_prefix="onnx")
        self.dims = self._dims = len(self._run(tokens.encode(["a"]))[0])

    def _run(self, ids: list[TokenIds]) -> np.ndarray:
        rows = np.array(ids, np.int64)
        try:
            answer = self._session.run([self._output], {name: _FEEDS[name](rows) for name in self._inputs})[0]
        except REFUSED as exc:
            raise EmbedderError(
                f"ONNX Runtime failed on {count(len(ids), 'text')} of {rows.shape[1]} tokens: {ort_reason(exc)}. "
                "Lower max_tokens if the model reads fewer."
            ) from exc
        _check(answer, len(ids), self.pooling)
        vectors = _pool(answer, self.pooling).astype(np.float32)
        if not self._normalise:
            return vectors
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def _inputs(session: onnxruntime.InferenceSession, graph: Path) -> list[str]:
    names = [given.name for given in session.get_inputs()]
    unknown = [name for name in names if name not in _FEEDS]
    if unknown:
        raise EmbedderError(
            f"{graph} requires the inputs {', '.join(unknown)}; supported: {', '.join(_FEEDS)}."
        )
    return names


def _choose(session: onnxruntime.InferenceSession, wanted: str, found: OnnxFolder) -> tuple[str, str]:
    """The output to read and its pooling: token vectors if a pooling is set, else the graph's own vectors."""
    ranks = {given.name: len(given.shape) for given in session.get_outputs()}
    pooled = [name for name, rank in ranks.items() if rank == _POOLED]
    tokens = [name for name, rank in ranks.items() if rank == _PER_TOKEN]
    told = wanted or found.pooling
    if tokens and told:
        return tokens[0], told
    if pooled and not wanted:
        return pooled[0], "graph"
    if tokens:
        raise EmbedderError(
            f"{found.graph} returns a vector per token, and its folder does not say how to pool them. "
            "Set pooling to mean, cls or last."
        )
    raise EmbedderError(f"{found.graph} has no output that can be pooled by {wanted!r}: {ranks}.")


def _check(answer: np.ndarray, texts: int, pooling: str) -> None:
    """Raise unless the graph returned numbers for each text, whatever it declared."""
    sides = _POOLED if pooling == "graph" else _PER_TOKEN
    if (
        getattr(answer, "ndim", 0) != sides
        or answer.dtype.kind not in "fiu"
        or len(answer) != texts
        or not answer.size
    ):
        shape = getattr(answer, "shape", type(answer).__name__)
        raise EmbedderError(
            f"the graph returned {shape} for {texts} texts, which are not vectors. Export the model again."
        )


def _pool(answer: np.ndarray, pooling: str) -> np.ndarray:
    if pooling == "mean":
        return answer.mean(axis=1)
    if pooling in ("cls", "last"):
        return answer[:, 0 if pooling == "cls" else -1]
    return answer
