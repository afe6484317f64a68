"""A cross-encoder exported to ONNX: query and passage are read together and get one score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
import onnxruntime
from pydantic import BaseModel, ConfigDict, Field
from tokenizers import Encoding, Tokenizer

from bakeoff.errors import EmbedderError, RerankerError
from bakeoff.plugins import _tokenizers as tokenizers
from bakeoff.plugins.embedders._shared import StartedModel
from bakeoff.plugins.embedders.onnx_engine import REFUSED, _session, available_cores
from bakeoff.plugins.embedders.onnx_folder import OnnxFolder, read_folder

_FEEDS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}


class CrossEncoderReranker:
    """A pair classifier on ONNX Runtime; of two classes the second is the score, as exports number them."""

    version: ClassVar[str] = "1"

    class Params(BaseModel):
        """Where the model is and how much of a pair it reads."""

        model_config = ConfigDict(extra="forbid", frozen=True)

        folder: Path = Field(description="folder with model.onnx (or onnx/model.onnx) and tokenizer.json")
        graph: str = Field("", description="another graph in the folder, as onnx/model_quantized.onnx")
        max_tokens: int | None = Field(None, ge=16, description="tokens of a pair; the passage is cut to fit")
        threads: int | None = Field(
            None, ge=1, le=1024, description="runs at once; default: the cores of this machine"
        )

    def __init__(self, params: Params) -> None:
        self._params = params
        self._pool = StartedModel(
            lambda: ThreadPoolExecutor(params.threads or available_cores()),
            lambda pool: pool.shutdown(cancel_futures=True),
        )

    def rerank(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """One score for each passage; pairs of one length run together, so nothing is padded."""
        scores = np.empty(len(passages))
        encoded = self._tokenizer.encode_batch([(query, passage) for passage in passages])
        by_length: dict[int, list[int]] = defaultdict(list)
        for row, pair in enumerate(encoded):
            by_length[len(pair.ids)].append(row)
        groups = list(by_length.values())
        answers = self._pool.get().map(lambda rows: self._run([encoded[row] for row in rows]), groups)
        for rows, found in zip(groups, answers, strict=True):
            scores[rows] = found
        return scores

    def close(self) -> None:
        """Stop the threads."""
        self._pool.close()

    @cached_property
    def _found(self) -> OnnxFolder:
        return read_folder(self._params.folder, self._params.graph)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        tokenizer = tokenizers.own(self._found.tokenizer)
        tokenizer.enable_truncation(self._params.max_tokens or self._found.max_tokens, strategy="only_second")
        return tokenizer

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        try:
            session = _session(self._found.graph, optimise=True)
        except EmbedderError as exc:
            raise RerankerError(str(exc)) from exc
        unknown = {given.name for given in session.get_inputs()} - set(_FEEDS)
        if unknown:
            raise RerankerError(
                f"{self._found.graph} wants the inputs {', '.join(sorted(unknown))}; known: {', '.join(_FEEDS)}."
            )
        return session

    def _run(self, pairs: list[Encoding]) -> np.ndarray:
        session = self._session
        feeds = {
            given.name: np.array([getattr(pair, _FEEDS[given.name]) for pair in pairs], np.int64)
            for given in session.get_inputs()
        }
        try:
            answer = np.asarray(session.run(None, feeds)[0])
        except REFUSED as exc:
            raise RerankerError(f"ONNX Runtime failed on {len(pairs)} pairs: {exc}") from exc
        if (
            answer.ndim not in (1, 2)
            or len(answer) != len(pairs)
            or (answer.ndim == 2 and answer.shape[1] > 2)
        ):
            raise RerankerError(
                f"{self._found.graph} gave {answer.shape} for {len(pairs)} pairs; a cross-encoder gives one score, "
                "or two classes."
            )
        return answer.reshape(len(pairs), -1)[:, -1]
