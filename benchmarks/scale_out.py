"""Cost and speed-up of workers: embedding 200,000 chunks with a static model, locally and on Ray.

Every process uses one core, so that two workers are held against one. A cluster's start is not counted, but printed.
Then exact truth, scores and the bootstrap by one and by two workers, and the rates that the page on scale-out reckons
with, in things a CPU second of one core. All rows are wall time and need two idle cores; the CPU seconds of the driver
and its processes are printed beside. Run with: python benchmarks/scale_out.py [chunks]
"""

from __future__ import annotations

import os
import resource
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import blockwork
from bakeoff import registry
from bakeoff.config.plan import PluginSpec
from bakeoff.pipeline.chunk import ChunkedCorpus
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.embed import embed_chunks
from bakeoff.plugins.chunkers.line import LineChunker
from bakeoff.plugins.chunkers.semantic import SemanticChunker
from bakeoff.plugins.embedders.wordllama import WordLlamaEmbedder
from bakeoff.protocols import Executor
from bakeoff.runtime.scheduler import WorkerPool, worker_pool
from bakeoff.storage.cache import Cache, folder_bytes
from bakeoff.storage.schemas import CHUNKS
from bakeoff.types import Batch, Document, Metric, Role
from common import Row, show

CHUNKS_EMBEDDED = 200_000
WINDOW = 8
SAMPLE_TEXTS = 256
INDEXED = 50_000
TURNS = 2


def main() -> int:
    """Measure everything and print the rows."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else CHUNKS_EMBEDDED
    chunking = _chunking(count)
    seconds: dict[str, float] = {}
    for _ in range(TURNS):
        for name, executor in _executors():
            cpu = time.process_time()
            taken = _embedded(chunking, executor)
            seconds[name] = min(taken, seconds.get(name, taken))
            cpu = time.process_time() - cpu
            print(f"{name}: {taken:.1f} s, the driver {cpu:.1f} s of CPU", file=sys.stderr)
    apart = _pieces(min(1.0, count / CHUNKS_EMBEDDED))
    for line in _rates(chunking):
        print(line)
    return show(
        [
            Row(
                "ray with one worker against this process, seconds",
                seconds["ray 1"],
                seconds["here"],
                "<= 1.1",
            ),
            Row("one ray worker against two, seconds", seconds["ray 1"], seconds["ray 2"], ">= 1.7"),
            Row("one local process against two, seconds", seconds["local 1"], seconds["local 2"]),
            *apart,
        ]
    )


def _pieces(share: float) -> list[Row]:
    """Exact truth, scores and bootstrap, by one and by two workers, held against this process bit by bit."""
    work = list(blockwork.pieces(share))
    alone = {piece.name: blockwork.seconds(piece, None)[1] for piece in work}
    taken: dict[tuple[str, str], float] = {}
    for name, executor in _executors():
        workers = worker_pool(executor)
        for piece in work if workers is not None else ():
            taken[name, piece.name], answer = _by_workers(piece, workers, name)
            if answer != alone[piece.name]:
                raise SystemExit(f"{piece.name}, {name}: not the answer of one process")
    return [
        Row(
            f"{piece}: one {kind} worker against two, seconds",
            taken[f"{kind} 1", piece],
            taken[f"{kind} 2", piece],
        )
        for kind in ("local", "ray")
        for piece in alone
    ]


def _by_workers(piece: blockwork.Piece, workers: WorkerPool, name: str) -> tuple[float, bytes]:
    """Seconds and answer of a piece by workers that have started; what it cost is printed."""
    children = _children()
    with workers.keep_running():
        workers(abs, [-1, -2, -3, -4], "a first call")
        cpu = time.process_time()
        taken, answer = blockwork.seconds(piece, workers)
        cpu = time.process_time() - cpu
    said = f"{piece.name}, {name}: {taken:.1f} s, the driver {cpu:.1f} s of CPU"
    if name.startswith("local"):  # the workers of Ray are not this process's
        said += f", its processes {_children() - children:.1f} s with their start"
    print(said, file=sys.stderr)
    return taken, answer


def _children() -> float:
    """CPU seconds of processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _executors() -> Iterator[tuple[str, Executor | None]]:
    """Each executor, started and then stopped again."""
    yield "here", None
    for name, workers in (("local", 1), ("ray", 1), ("local", 2), ("ray", 2)):
        plugin = registry.load("executors", name)
        executor = plugin(
            plugin.Params(**({"processes": workers} if name == "local" else {"workers": workers}))
        )
        begin = time.perf_counter()
        print(f"{executor.start()}, started in {time.perf_counter() - begin:.1f} s", file=sys.stderr)
        try:
            yield f"{name} {workers}", executor
        finally:
            executor.close()


def _embedded(chunking: ChunkedCorpus, executor: Executor | None) -> float:
    """Seconds of the embed stage into an empty cache; the vectors are read back, and their workers loaded before."""
    params = WordLlamaEmbedder.Params()
    part = PluginSpec("embedders", "wordllama", "wordllama", params)
    with tempfile.TemporaryDirectory() as folder:
        embedder = WordLlamaEmbedder(params)
        first = ChunkedCorpus("few", chunking.chunks.slice(0, 2048), "few", 0.0, 0, 0)
        embed_chunks(part, embedder, first, StageContext(Cache(Path(folder) / "first"), executor=executor))
        made = embed_chunks(
            part, embedder, chunking, StageContext(Cache(Path(folder) / "cache"), executor=executor)
        )
        size = folder_bytes(Path(folder) / "cache") / made.matrix.shape[0]
        print(f"{size:.0f} bytes of cache a chunk", file=sys.stderr)
    return made.seconds


def _chunking(count: int) -> ChunkedCorpus:
    """Windows of lines of this Python's library, each a text of its own."""
    texts = list(_windows(count))
    names = [f"{i:08d}" for i in range(len(texts))]
    numbers = np.zeros(len(texts), np.int32)
    columns = dict.fromkeys(("doc", "start", "end", "line_start", "line_end"), numbers)
    blank = {name: [""] * len(texts) for name in ("section", "symbol", "context")}
    return ChunkedCorpus(
        "windows", CHUNKS.table({"id": names, **columns, **blank, "text": texts}), "windows", 0.0, 0, 0
    )


def _windows(count: int) -> Iterator[str]:
    seen = 0
    for round_ in range(count):
        for path in _files():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            for first in range(0, len(lines) - WINDOW, WINDOW // 2):
                if seen == count:
                    return
                seen += 1
                again = f"\n# {round_}" if round_ else ""
                yield "\n".join(lines[first : first + WINDOW]) + again


def _files() -> list[Path]:
    return sorted(
        path for path in Path(sysconfig.get_path("stdlib")).glob("*/*.py") if "packages" not in path.parts
    )


def _rates(chunking: ChunkedCorpus) -> Iterator[str]:
    """Things a CPU second of one core."""
    documents = [
        Document(str(p), p.read_text(encoding="utf-8", errors="replace"), "python") for p in _files()[:150]
    ]
    size = sum(len(one.text.encode()) for one in documents) / 1e6
    for name, chunker in (("line", LineChunker), ("semantic", SemanticChunker)):
        made = chunker(chunker.Params())
        seconds = _cpu(lambda made=made: [list(made.chunk(one)) for one in documents])
        yield f"chunk {name}: {size / seconds:.1f} MB/s"
    texts = chunking.chunks["text"][: 64 * SAMPLE_TEXTS].to_pylist()
    yield f"chunks of {sum(map(len, texts)) / len(texts):.0f} characters"
    static = WordLlamaEmbedder(WordLlamaEmbedder.Params())
    static.embed(texts[:1], Role.DOCUMENT)
    yield f"embed wordllama: {len(texts) / _cpu(lambda: static.embed(texts, Role.DOCUMENT)):,.0f} chunks/s"
    plugin = registry.load("embedders", "minilm")
    minilm = plugin(plugin.Params(threads=1))
    some = texts[:SAMPLE_TEXTS]
    minilm.embed(some[:1], Role.DOCUMENT)
    yield f"embed minilm: {len(some) / _cpu(lambda: minilm.embed(some, Role.DOCUMENT)):,.0f} chunks/s"
    yield from _index_rates(static, chunking.chunks["text"][:INDEXED].to_pylist())


def _index_rates(embedder: WordLlamaEmbedder, texts: list[str]) -> Iterator[str]:
    vectors = embedder.embed(texts, Role.DOCUMENT)
    rows = np.arange(len(texts), dtype=np.int64)
    for name in ("faiss", "hnswlib"):
        plugin = registry.load("stores", name)
        with tempfile.TemporaryDirectory() as folder:
            store = plugin(plugin.Params(), Path(folder))
            store.create("vectors", vectors.shape[1], Metric.COSINE)

            def build(store: object = store) -> None:
                store.insert(Batch(rows, vectors))  # type: ignore[attr-defined]
                store.ready()  # type: ignore[attr-defined]

            seconds = _cpu(build)
            size = folder_bytes(Path(folder)) / len(texts)
            yield f"index {name}: {len(texts) / seconds:,.0f} vectors/s, {size:.0f} bytes a vector"
            store.close()


def _cpu(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def _alone() -> None:
    """Begin anew with one thread a process, which libraries read when they are loaded."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
    if not threads.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **threads})


if __name__ == "__main__":
    _alone()
    sys.exit(main())
