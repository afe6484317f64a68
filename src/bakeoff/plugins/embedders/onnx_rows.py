"""An exported model on ONNX Runtime that returns rows per text or pair: tokens × numbers, or classes.

Texts of equal length run together, so nothing is padded and no row depends on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import onnxruntime
from pydantic import BaseModel, ConfigDict, Field, model_validator
from tokenizers import Encoding, Tokenizer

from bakeoff.errors import EmbedderError
from bakeoff.plugins import _tokenizers as tokenizers
from bakeoff.plugins.embedders._shared import StartedModel
from bakeoff.plugins.embedders.onnx_engine import REFUSED, _groups, _session, available_cores, ort_reason
from bakeoff.plugins.embedders.onnx_folder import OnnxFolder, read_model, token_graph
from bakeoff.runtime.signals import raise_if_interrupted

_FEEDS: dict[str, Callable[[Encoding], Sequence[int]]] = {
    "input_ids": lambda text: text.ids,
    "ids": lambda text: text.ids,
    "attention_mask": lambda text: text.attention_mask,
    "token_type_ids": lambda text: text.type_ids,
    "position_ids": lambda text: range(len(text.ids)),
}
_BATCH = 32


class OnnxModelParams(BaseModel):
    """Location of an exported model, and how much of a text it reads."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: Path | None = Field(
        None, description="folder with model.onnx (or onnx/model.onnx) and tokenizer.json"
    )
    model: str = Field(
        "",
        exclude_if=lambda value: not value,
        description="a model of `bakeoff models list`, or a repository that was pulled, as owner/name",
    )
    graph: str = Field("", description="another graph in the folder, for example onnx/model_quantized.onnx")
    max_tokens: int | None = Field(None, ge=8, description="tokens read; default: the model's limit")
    threads: int | None = Field(
        None, ge=1, le=1024, description="runs at once; default: the cores of this machine"
    )

    @model_validator(mode="after")
    def _one_model(self) -> Self:
        if (self.folder is None) == (not self.model):
            raise ValueError("give either `folder` or `model`")
        return self


@dataclass(frozen=True, slots=True)
class _Started:
    session: onnxruntime.InferenceSession
    pool: ThreadPoolExecutor
    inputs: tuple[str, ...]


class OnnxRows:
    """A model that starts on first use; `output` selects which of the graph's outputs is read."""

    def __init__(
        self,
        params: OnnxModelParams,
        *,
        truncate: str = "longest_first",
        output: Callable[[onnxruntime.InferenceSession, Path], str | None] = lambda _session, _graph: None,
    ) -> None:
        self._params, self._truncate, self._output = params, truncate, output
        self._model = StartedModel(self._start, lambda made: made.pool.shutdown(cancel_futures=True))

    @cached_property
    def folder(self) -> OnnxFolder:
        """The model's files and configuration."""
        return read_model(self._params.folder, self._params.model, self._params.graph)

    @property
    def max_tokens(self) -> int:
        """Token limit, including special ones."""
        return self._params.max_tokens or self.folder.max_tokens

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer, truncating at its limit."""
        tokenizer = tokenizers.own(self.folder.tokenizer)
        tokenizer.enable_truncation(self.max_tokens, strategy=self._truncate)
        return tokenizer

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens per text before truncation, including special ones."""
        whole = tokenizers.shared_tokenizer(self.folder.tokenizer)
        return [len(text.ids) for text in whole.encode_batch(list(texts))]

    @cached_property
    def _batch(self) -> int:
        """Most texts per run; int8 activations are scaled by a batch's largest value, so they run alone."""
        return 1 if self.folder.quantised else _BATCH

    @cached_property
    def _chosen(self) -> str | None:
        return self._output(self._model.get().session, self.folder.graph)

    def run(
        self, encoded: Sequence[Encoding], reduce: Callable[[np.ndarray], Sequence[np.ndarray]] = list
    ) -> list[np.ndarray]:
        """The output per text or pair, in order; `reduce` turns the output for texts of one length into rows."""
        started, found = self._model.get(), [np.empty(0)] * len(encoded)
        groups = list(_groups([text.ids for text in encoded], self._batch))
        answers = started.pool.map(
            lambda rows: reduce(self._run(started, [encoded[i] for i in rows])), groups
        )
        for rows, answer in zip(groups, answers, strict=True):
            raise_if_interrupted()
            for row, values in zip(rows, answer, strict=True):
                found[row] = values
        return found

    def close(self) -> None:
        """Stop the threads."""
        self._model.close()

    def _start(self) -> _Started:
        found = self.folder
        graph = token_graph(found, self._params.model)
        session = _session(graph, optimise=graph == found.graph)
        names = tuple(given.name for given in session.get_inputs())
        unknown = [name for name in names if name not in _FEEDS]
        if unknown:
            raise EmbedderError(
                f"{graph} requires the inputs {', '.join(unknown)}; supported: {', '.join(_FEEDS)}."
            )
        pool = ThreadPoolExecutor(self._params.threads or available_cores(), thread_name_prefix="onnx")
        return _Started(session, pool, names)

    def _run(self, started: _Started, texts: list[Encoding]) -> np.ndarray:
        feeds = {name: np.array([_FEEDS[name](text) for text in texts], np.int64) for name in started.inputs}
        names = [self._chosen] if self._chosen else None
        try:
            answer = np.asarray(started.session.run(names, feeds)[0])
        except REFUSED as exc:
            raise EmbedderError(
                f"ONNX Runtime failed on {len(texts)} texts or pairs: {ort_reason(exc)}."
            ) from exc
        if not answer.ndim or len(answer) != len(texts):
            raise EmbedderError(f"{self.folder.graph} gave {answer.shape} for {len(texts)} texts or pairs.")
        return answer


def token_output(session: onnxruntime.InferenceSession, graph: Path) -> str:
    """The output with numbers per token: the one called logits, else the first."""
    ranks = {given.name: len(given.shape) for given in session.get_outputs()}
    per_token = [name for name, rank in ranks.items() if rank == 3]
    if not per_token:
        raise EmbedderError(
            f"{graph} returns no numbers per token (outputs and their ranks: {ranks}). Export the model "
            "without "
            "its pooling."
        )
    return "logits" if "logits" in per_token else per_token[0]


def unit_tokens(rows: OnnxRows, texts: Sequence[str], *, special: bool = False) -> list[np.ndarray]:
    """Unit vectors of each text's tokens, without special tokens unless requested."""
    encoded = rows.tokenizer.encode_batch(list(texts))
    found = []
    for text, vectors in zip(encoded, rows.run(encoded), strict=True):
        own = vectors if special else vectors[np.asarray(text.special_tokens_mask) == 0]
        unit = own / np.maximum(np.linalg.norm(own, axis=1, keepdims=True), 1e-12)
        found.append(unit.astype(np.float32))
    return found
