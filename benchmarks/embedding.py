"""MiniLM's embedding speed against the limit set by this machine's matrix multiplication.

Rates are texts a CPU second (one core), which a busy machine changes less than wall time; the same run prints the
wall rate on all cores. sentence-transformers is not installed beside bakeoff: name a Python that has it in
BAKEOFF_BENCH_TORCH, and the same texts go through it on one thread in the same turns.
Run with: python benchmarks/embedding.py
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

from bakeoff.plugins.embedders.minilm import MiniLMEmbedder
from bakeoff.storage.weights import find
from bakeoff.types import Role
from common import Row, show

TEXTS, REPEATS = 32, 3
PADDED_BATCH = 32


def main() -> int:
    """Measure everything interleaved and print the rows."""
    fp32, int8 = _embedder("fp32"), _embedder("int8")
    full, mixed = _texts(np.full(TEXTS, 256)), _texts(np.random.default_rng(0).integers(8, 257, 4 * TEXTS))
    tokens = fp32.count_tokens(mixed)
    inside = _Inside(fp32)
    works: dict[str, Callable[[], object]] = {
        "sgemm": _matrices(),
        "fp32": lambda: fp32.embed(full, Role.DOCUMENT),
        "int8": lambda: int8.embed(full, Role.DOCUMENT),
        "sorted": lambda: fp32.embed(mixed, Role.DOCUMENT),
        "unsorted": lambda: _padded(fp32, tokens),
        "int8 mixed": lambda: int8.embed(mixed, Role.DOCUMENT),
    }
    peer = _Torch.start(mixed)
    if peer is not None:
        works["torch"] = peer.embed
    cpu, wall = _interleaved(works)
    if peer is not None:
        cpu["torch"] = peer.close()
    limit = _GEMM_FLOP / cpu["sgemm"] / _flop_a_text(256)
    print(
        f"texts of 256 tokens a second, wall: fp32 {TEXTS / wall['fp32']:.1f}, int8 {TEXTS / wall['int8']:.1f}"
    )
    print(f"sgemm: {_GEMM_FLOP / cpu['sgemm'] / 1e9:.0f} GFLOP/s a core")
    return show(
        [
            Row("fp32 texts/cpu-s against the sgemm limit", TEXTS / cpu["fp32"], limit, ">= 0.6"),
            Row("int8 texts/cpu-s against fp32", TEXTS / cpu["int8"], TEXTS / cpu["fp32"], ">= 1.5"),
            Row("cpu time inside onnxruntime against all", inside.run, inside.all, ">= 0.95"),
            Row(
                "mixed lengths, texts/cpu-s: one length a batch against padded in order",
                len(mixed) / cpu["sorted"],
                len(mixed) / cpu["unsorted"],
                ">= 1.3",
            ),
            Row(
                "mixed lengths, texts/cpu-s: int8 against fp32 padded in order",
                len(mixed) / cpu["int8 mixed"],
                len(mixed) / cpu["unsorted"],
                ">= 1.5",
            ),
            *(_against_torch(len(mixed), cpu) if peer is not None else ()),
        ]
    )


def _against_torch(texts: int, cpu: dict[str, float]) -> list[Row]:
    names = {"fp32": ("sorted", ">= 1.15"), "int8": ("int8 mixed", ">= 1.7")}
    return [
        Row(
            f"mixed lengths, texts/cpu-s: {name} against sentence-transformers",
            texts / cpu[key],
            texts / cpu["torch"],
            target,
        )
        for name, (key, target) in names.items()
    ]


_TORCH = """
import json, sys, time
from sentence_transformers import SentenceTransformer
import torch
torch.set_num_threads(1)
texts = json.loads(sys.stdin.readline())
model = SentenceTransformer(sys.argv[1], device="cpu")
model.max_seq_length = 256
model.encode(texts[:8], show_progress_bar=False)
print("ready", flush=True)
for _ in sys.stdin:
    begin = time.process_time()
    model.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
    print(time.process_time() - begin, flush=True)
"""


class _Torch:
    """sentence-transformers in a process of its own, on the same weights and texts; it says its CPU seconds."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        self._child = child
        self._seconds: list[float] = []

    @classmethod
    def start(cls, texts: list[str]) -> _Torch | None:
        """None, and a line that says so, where no Python with it is named."""
        python = os.environ.get("BAKEOFF_BENCH_TORCH", "")
        if not python:
            print("sentence-transformers: not installed (name a Python that has it in BAKEOFF_BENCH_TORCH)")
            return None
        command = [python, "-c", _TORCH, str(find("minilm").folder)]
        pipe = subprocess.PIPE
        child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        peer = cls(child)
        peer._say(json.dumps(texts))
        if peer._hear() != "ready":
            raise SystemExit(f"{python} could not run sentence-transformers")
        return peer

    def embed(self) -> None:
        """All texts once."""
        self._say("go")
        self._seconds.append(float(self._hear()))

    def close(self) -> float:
        """End it; the median of its CPU seconds."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        self._child.wait()
        return statistics.median(self._seconds)

    def _say(self, line: str) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(line + "\n")
        self._child.stdin.flush()

    def _hear(self) -> str:
        assert self._child.stdout is not None
        return self._child.stdout.readline().strip()


class _Inside:
    """CPU seconds in the runtime and in all of embed, gathered by wrapping one embedder's engine."""

    def __init__(self, embedder: MiniLMEmbedder) -> None:
        self.run = self.all = 0.0
        engine = embedder._engine.get()
        compute, embed = engine._run, embedder.embed

        def timed_run(ids: list[list[int]]) -> np.ndarray:
            start = time.thread_time()
            answer = compute(ids)
            self.run += time.thread_time() - start
            return answer

        def timed_embed(texts: Sequence[str], role: Role) -> np.ndarray:
            start = time.process_time()
            answer = embed(texts, role)
            self.all += time.process_time() - start
            return answer

        engine._run = timed_run  # type: ignore[method-assign]
        embedder.embed = timed_embed  # type: ignore[method-assign]


def _embedder(precision: str) -> MiniLMEmbedder:
    embedder = MiniLMEmbedder(MiniLMEmbedder.Params.model_validate({"precision": precision}))
    embedder.embed(["warm up"], Role.QUERY)
    return embedder


def _texts(lengths: np.ndarray) -> list[str]:
    """Real words from this interpreter's own sources, about as many tokens as asked."""
    words = Path(statistics.__file__).read_text(encoding="utf-8").split()
    generator = np.random.default_rng(1)
    starts = generator.integers(0, len(words) - 300, len(lengths))
    return [
        " ".join(words[s : s + (n if n == 256 else n // 2)]) for s, n in zip(starts, lengths, strict=True)
    ]


_SIZE = 2048
_GEMM_FLOP = 2.0 * _SIZE**3


def _matrices() -> Callable[[], object]:
    """One square float32 multiplication in the same runtime on one thread."""
    values = np.random.default_rng(2).random((_SIZE, _SIZE), np.float32)
    weights = helper.make_tensor("b", TensorProto.FLOAT, values.shape, values.tobytes(), raw=True)
    shape = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [_SIZE, _SIZE]) for name in "ac"]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["a", "b"], ["c"])], "g", shape[:1], shape[1:], [weights]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return lambda: session.run(None, {"a": values})


def _flop_a_text(tokens: int, layers: int = 6, dims: int = 384) -> float:
    """Multiplications and additions of the matrices and of attention, in FLOP."""
    return layers * (2.0 * tokens * 12 * dims * dims + 4.0 * tokens * tokens * dims)


def _padded(embedder: MiniLMEmbedder, tokens: list[int]) -> None:
    """The same lengths in batches as they come, padded to each batch's longest: the arithmetic without a mask."""
    session = embedder._engine.get()._session
    for start in range(0, len(tokens), PADDED_BATCH):
        batch = tokens[start : start + PADDED_BATCH]
        session.run(None, {"ids": np.full((len(batch), min(256, max(batch))), 1037, np.int64)})


def _interleaved(works: dict[str, Callable[[], object]]) -> tuple[dict[str, float], dict[str, float]]:
    """Median CPU and wall seconds of each work, all works taking turns."""
    cpu: dict[str, list[float]] = {name: [] for name in works}
    wall: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(REPEATS):
        for name, work in works.items():
            start = time.process_time(), time.perf_counter()
            work()
            cpu[name].append(time.process_time() - start[0])
            wall[name].append(time.perf_counter() - start[1])
    return _medians(cpu), _medians(wall)


def _medians(taken: dict[str, list[float]]) -> dict[str, float]:
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


if __name__ == "__main__":
    sys.exit(main())
