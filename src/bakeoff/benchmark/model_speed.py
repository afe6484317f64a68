"""How fast models embed here: texts per second, memory, share of the matrix multiplication limit, time needed."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff import registry
from bakeoff.benchmark.run_in_subprocess import run_isolated
from bakeoff.config.model_names import resolve_model
from bakeoff.errors import StoreError
from bakeoff.protocols import Embedder, SupportsTokens
from bakeoff.storage.catalogue import CatalogueEntry, entries
from bakeoff.storage.weights import here
from bakeoff.types import Role

TEXTS = 64
_WARM_UP = 4
_MATRIX = 1024
_MATRIX_FLOP = 2.0 * _MATRIX**3
_MATRICES = 6
_MATRIX_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_TYPICAL = (12, 24, 48, 96, 160)
"""Words of the sample texts that replace a missing corpus."""
_TEXT = (
    "the retrieval of documents depends on words that occur in questions and on meaning that does not show in them so "
    "a model maps each text to a vector and near vectors should belong to texts that answer each other"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedSample:
    """A sample of texts and the number of texts in the corpus; 0 without a corpus."""

    texts: tuple[str, ...]
    corpus_texts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpeed:
    """One model on this machine; `share` is None if its arithmetic is unknown, `fault` is why it did not run."""

    name: str
    texts_per_second: float | None = None
    tokens_per_second: float | None = None
    megabytes: float | None = None
    share: float | None = None
    corpus_seconds: float | None = None
    cpu_seconds_per_text: float | None = None
    fault: str = ""


def typical_texts(count: int = TEXTS) -> tuple[str, ...]:
    """Texts of mixed lengths that differ from each other."""
    words = _TEXT.split()
    return tuple(
        " ".join(words[(at * (number % 7 + 1) + number) % len(words)] for at in range(_TYPICAL[number % 5]))
        for number in range(count)
    )


def models_at_hand() -> list[str]:
    """The embedders of the catalogue whose weights are here."""
    packaged = {one.name for one in registry.entries("embedders") if not one.missing}
    return [
        entry.name
        for entry in entries().values()
        if entry.kind == "embedders" and entry.plugin in packaged and (not entry.files or here(entry))
    ]


def measure_speeds(
    names: Sequence[str], sample: SpeedSample, progress: Callable[[ModelSpeed], None] = lambda _: None
) -> list[ModelSpeed]:
    """Measure each model in its own process, one after the other."""
    speeds = []
    for name in names:
        try:
            with _one_matrix_thread():
                speed = run_isolated(_measure, (name, sample))
        except StoreError as exc:
            speed = ModelSpeed(name=name, fault=str(exc))
        progress(speed)
        speeds.append(speed)
    return speeds


@contextlib.contextmanager
def _one_matrix_thread() -> Iterator[None]:
    """Child processes multiply on one thread: with several, waiting would count as CPU time."""
    before = {name: os.environ.get(name) for name in _MATRIX_THREADS}
    os.environ.update(dict.fromkeys(_MATRIX_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _measure(job: tuple[str, SpeedSample]) -> ModelSpeed:
    """Run in the child."""
    name, sample = job
    plugin, params = resolve_model("embedders", name, {}, Path())
    kind = registry.load("embedders", plugin)
    before = _resident()
    embedder = kind(kind.Params(**params))
    try:
        return _embed_sample(name, embedder, sample, before)
    finally:
        embedder.close()


def _embed_sample(name: str, embedder: Embedder, sample: SpeedSample, before: float) -> ModelSpeed:
    texts = list(sample.texts)
    embedder.embed(texts[:_WARM_UP], Role.DOCUMENT)
    wall, cpu = time.perf_counter(), time.process_time()
    embedder.embed(texts, Role.DOCUMENT)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    rate = len(texts) / wall
    tokens = _tokens(embedder, texts)
    return ModelSpeed(
        name=name,
        texts_per_second=rate,
        tokens_per_second=sum(tokens) / wall if tokens else None,
        megabytes=max(0.0, _resident() - before),
        share=_share(entries().get(name), tokens, cpu),
        corpus_seconds=sample.corpus_texts / rate if sample.corpus_texts else None,
        cpu_seconds_per_text=cpu / len(texts),
    )


def _tokens(embedder: Embedder, texts: list[str]) -> list[int]:
    """The tokens of each text that the model reads; [] if unknown."""
    if not isinstance(embedder, SupportsTokens):
        return []
    limit, info = embedder.info.max_tokens, embedder.info
    counted = embedder.count_tokens([info.document_prompt + text for text in texts])
    return [min(count, limit) if limit else count for count in counted]


def _share(entry: CatalogueEntry | None, tokens: list[int], cpu_seconds: float) -> float | None:
    """The rate over that of plain float32 matrix multiplication, both per second of processor time.

    An int8 model can exceed 1: it multiplies smaller numbers.
    """
    if entry is None or not entry.layers or not entry.dims or not tokens:
        return None
    flop = sum(encoder_flop(count, entry.layers, entry.dims) for count in tokens)
    return flop / cpu_seconds / matrix_rate()


def encoder_flop(tokens: int, layers: int, dims: int) -> float:
    """Multiplications and additions of a BERT encoder's matrices and attention for one text."""
    return layers * (2.0 * tokens * 12 * dims * dims + 4.0 * tokens * tokens * dims)


def matrix_rate() -> float:
    """Float32 multiplications and additions per second of processor time, of numpy's matrix multiplication."""
    import numpy as np

    matrix = np.random.default_rng(0).random((_MATRIX, _MATRIX), np.float32)
    seconds = []
    for _ in range(_MATRICES):
        begin = time.process_time()
        np.matmul(matrix, matrix)
        seconds.append(time.process_time() - begin)
    return _MATRIX_FLOP / sorted(seconds)[len(seconds) // 2]


def _resident() -> float:
    import psutil

    return float(psutil.Process().memory_info().rss) / 1e6
