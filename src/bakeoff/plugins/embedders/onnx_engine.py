"""Runs a sentence encoder on ONNX Runtime over texts of equal length.

Without padding no mask is needed and no vector depends on its neighbours: vectors are bit-identical for any
batch and thread count, on one kind of CPU and one ONNX Runtime version. Parallelism is one single-threaded
run per core, which needs no barriers.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors
from tokenizers import Tokenizer

from bakeoff.errors import EmbedderError
from bakeoff.plugins import _tokenizers as tokenizers
from bakeoff.runtime.signals import raise_if_interrupted

_SLAB = (
    1024  # texts tokenised ahead and sorted by length: enough to fill batches, few enough to hold in memory
)
_BATCH_TOKENS = 512  # above this, a larger batch no longer raises the rate and leaves the second-level cache
_CHARACTERS_A_TOKEN = 16
_SPACE = re.compile("[ \n]")
_ORT_CODES = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ")
_ORT_PLACE = re.compile(r"^Non-zero status code.*?Status Message: (?:\S+:\d+ .*? was false\. )?", re.DOTALL)
REFUSED = (
    ort_errors.Fail,
    ort_errors.InvalidArgument,
    ort_errors.InvalidGraph,
    ort_errors.InvalidProtobuf,
    ort_errors.NoSuchFile,
    ort_errors.NotImplemented,
    ort_errors.RuntimeException,
    UnicodeDecodeError,  # names in a damaged graph, which are shown in the reason
)

TokenIds = list[int]


def available_cores() -> int:
    """Cores this process may use: OMP_NUM_THREADS limits one of many workers on a machine."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    if told.isdigit() and int(told):
        return int(told)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class TokenBatch:
    """A model's tokenizer, truncating at `limit` tokens including special ones."""

    def __init__(self, file: Path, limit: int) -> None:
        self._whole, self._cut = tokenizers.own(file), tokenizers.own(file)
        self._cut.enable_truncation(limit)
        self._limit = limit

    def encode(self, texts: Sequence[str]) -> list[TokenIds]:
        """Token ids per text, truncated at the limit."""
        heads = [self._head(text) for text in texts]
        ids = _encode(self._cut, heads)
        for row, (text, head) in enumerate(zip(texts, heads, strict=True)):
            if len(ids[row]) < self._limit and len(head) < len(text):
                ids[row] = _encode(self._cut, [text])[0]
        return ids

    def count(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens per text before truncation, including special ones."""
        return [len(ids) for ids in _encode(self._whole, texts)]

    def _head(self, text: str) -> str:
        """The start of a long text up to a space, which no token spans; the rest would be dropped."""
        space = _SPACE.search(text, self._limit * _CHARACTERS_A_TOKEN)
        return text[: space.start()] if space else text


class OnnxEngine:
    """One ONNX session with its threads; `batch` is the most texts per run."""

    def __init__(self, graph: Path, tokens: TokenBatch, threads: int, batch: int, optimise: bool) -> None:
        self._session = _session(graph, optimise)
        self._dims = int(self._session.get_outputs()[0].shape[1])
        self._tokens = tokens
        self._batch = batch
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="onnx")

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return one float32 row per text, in order; the next texts are tokenised while these are computed."""
        vectors = np.empty((len(texts), self._dims), np.float32)
        ahead = self._tokenise(texts, 0)
        for start in range(0, len(texts), _SLAB):
            ids, ahead = ahead.result(), self._tokenise(texts, start + _SLAB)
            self._fill(vectors[start : start + _SLAB], ids)
        return vectors

    def close(self) -> None:
        """Stop the threads."""
        self._pool.shutdown(cancel_futures=True)

    def _tokenise(self, texts: Sequence[str], start: int) -> Future[list[TokenIds]]:
        return self._pool.submit(self._tokens.encode, texts[start : start + _SLAB])

    def _fill(self, vectors: np.ndarray, ids: list[TokenIds]) -> None:
        groups = list(_groups(ids, self._batch))
        if len(groups) == 1:
            vectors[groups[0]] = self._run([ids[row] for row in groups[0]])
            return
        runs: list[Future[np.ndarray]] = [
            self._pool.submit(self._run, [ids[row] for row in group]) for group in groups
        ]
        try:
            for group, run in zip(groups, runs, strict=True):
                vectors[group] = run.result()
                raise_if_interrupted()
        finally:
            for run in runs:
                run.cancel()

    def _run(self, ids: list[TokenIds]) -> np.ndarray:
        answer: list[np.ndarray] = self._session.run(None, {"ids": np.array(ids, np.int64)})
        return answer[0]


def _groups(ids: list[TokenIds], batch: int) -> Iterator[list[int]]:
    """Row numbers of texts of equal length, longest first so that the threads finish together."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for row, text in enumerate(ids):
        by_length[len(text)].append(row)
    for length in sorted(by_length, reverse=True):
        rows, size = by_length[length], max(1, min(batch, _BATCH_TOKENS // length))
        yield from (rows[start : start + size] for start in range(0, len(rows), size))


def _encode(tokenizer: Tokenizer, texts: Sequence[str]) -> list[TokenIds]:
    try:
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts))]
    except TypeError as exc:
        raise EmbedderError(
            f"a text is not valid Unicode and cannot be tokenised ({exc}). Read it in its encoding."
        ) from exc


def ort_reason(error: Exception) -> str:
    """ONNX Runtime's own sentence, without its codes and places in source files."""
    text = _ORT_CODES.sub("", str(error))
    return _ORT_PLACE.sub("", text).replace("\\n", "").strip().rstrip(".")


def _session(graph: Path, optimise: bool) -> onnxruntime.InferenceSession:
    """A session that computes in the calling thread.

    A graph with its fused operators in place is run as it is: the optimiser would undo the pooling's
    transpose, and sums would depend on the batch. A quantised graph needs the optimiser.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 4  # failures are raised
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimise else levels.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(
            str(graph),
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=["SkipLayerNormFusion"],
        )
        for one in (*session.get_inputs(), *session.get_outputs()):
            one.name, one.shape, one.type  # noqa: B018 - they are decoded only now
        return session
    except REFUSED as exc:
        raise EmbedderError(
            f"ONNX Runtime {onnxruntime.__version__} could not load {graph}: {ort_reason(exc)}. The file is "
            "damaged or not an ONNX graph: fetch or export the model again."
        ) from exc
