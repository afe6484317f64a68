"""Search by sparse or token vectors against dense search in the same store: speed and quality.

BM25 as sparse vectors of 4,000 passages of Python's standard library, and seeded vectors of 16 tokens for 1,000 rows.
Stores whose server does not answer are left out (bakeoff servers up NAME). Run: python benchmarks/encoded.py [STORE …]
"""

from __future__ import annotations

import statistics
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np

from bakeoff import registry
from bakeoff.errors import MissingExtraError, StoreError
from bakeoff.protocols import CompleteStore, SupportsDrop
from bakeoff.types import Batch, Hits, Metric, Role, SparseRows, TokenRows, VectorKind
from common import Row, show

PASSAGES, LINES, QUESTIONS, K = 4_000, 12, 60, 10
MATRICES, TOKENS, ASKED, DIMS = 1_000, 16, 8, 64
SPARSE = (
    ("postings", {}),
    ("qdrant", {}),
    ("milvus", {}),
    ("pgvector", {}),
    ("pgvector", {"build": {"index": "none"}}),
    ("elasticsearch", {}),
    ("opensearch", {}),
)
OF_TOKENS = (("exact", {}), ("qdrant", {}), ("lancedb", {}), ("pgvector", {}), ("weaviate", {}))
Search = Callable[[int], Hits]
Vectors = np.ndarray | SparseRows | TokenRows
FIELDS: dict[VectorKind, str] = {"dense": "vectors", "sparse": "sparse", "tokens": "tokens"}


def main() -> int:
    """Measure each store that is there."""
    return show([*_sparse(), *_tokens()])


def _sparse() -> Iterator[Row]:
    passages = list(islice(_passages(), PASSAGES))
    asked = [" ".join(text.split()[:8]) for text in passages[:: PASSAGES // QUESTIONS]][:QUESTIONS]
    encoder = _plugin("encoders", "bm25_sparse")
    encoder.fit(passages)
    model = _plugin("embedders", "wordllama")
    rows, queries = (encoder.embed(texts, role) for texts, role in _texts(passages, asked))
    dense, points = (model.embed(texts, role) for texts, role in _texts(passages, asked))
    true: list[set[int]] = []
    for name, params in _wanted(SPARSE):
        label = f"{name}{' (no index)' if params else ''}"
        with tempfile.TemporaryDirectory() as home:
            try:
                store = _filled(name, params, "sparse", rows, Path(home) / "sparse")
                query = type(store).Query()
                ours = lambda i: store.search_sparse(queries.row(i), K, query)  # noqa: E731, B023
                found = [{*ours(i).ids.tolist()} for i in range(QUESTIONS)]
                true = true or found
                share = [len(mine & due) / len(due) for mine, due in zip(found, true, strict=True) if due]
                yield Row(f"{label}: sparse, recall@{K} against every row", statistics.mean(share), 1.0)
                if name == "postings":
                    continue
                other = _filled(name, params, "dense", dense, Path(home) / "dense")
                peer = lambda i: other.search(points[i], K, query)  # noqa: E731, B023
                yield Row(f"{label}: sparse search, ms, against dense", *_medians(ours, peer))
                _end(store, other)
            except (StoreError, MissingExtraError) as exc:
                print(f"{label} is left out: {exc}", file=sys.stderr)


def _tokens() -> Iterator[Row]:
    generator = np.random.default_rng(3)
    flat = _unit(generator.normal(size=(MATRICES * TOKENS, DIMS)))
    rows = TokenRows(np.arange(MATRICES + 1, dtype=np.int64) * TOKENS, flat)
    asked = _unit(generator.normal(size=(QUESTIONS * ASKED, DIMS))).reshape(QUESTIONS, ASKED, DIMS)
    means = _unit(flat.reshape(MATRICES, TOKENS, DIMS).mean(axis=1))
    true: list[set[int]] = []
    for name, params in _wanted(OF_TOKENS):
        with tempfile.TemporaryDirectory() as home:
            try:
                store = _filled(name, params, "tokens", rows, Path(home) / "tokens")
                other = _filled(name, params, "dense", means, Path(home) / "dense")
                query = type(store).Query()
                ours = lambda i: store.search_tokens(asked[i], K, query)  # noqa: E731, B023
                peer = lambda i: other.search(asked[i, 0], K, query)  # noqa: E731, B023
                found = [{*ours(i).ids.tolist()} for i in range(QUESTIONS)]
                true = true or found
                share = [len(mine & due) / K for mine, due in zip(found, true, strict=True)]
                yield Row(f"{name}: tokens, recall@{K} against every row", statistics.mean(share), 1.0)
                yield Row(f"{name}: search by {ASKED} tokens, ms, against dense", *_medians(ours, peer))
                _end(store, other)
            except (StoreError, MissingExtraError) as exc:
                print(f"{name} is left out: {exc}", file=sys.stderr)


def _wanted(stores: tuple[tuple[str, dict[str, Any]], ...]) -> list[tuple[str, dict[str, Any]]]:
    """The stores that are named as arguments, or all; the first compares every row, so it is always there."""
    return [one for i, one in enumerate(stores) if not i or not sys.argv[1:] or one[0] in sys.argv[1:]]


def _passages() -> Iterator[str]:
    """Parts of the standard library's files."""
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        for begin in range(0, len(lines), LINES):
            yield "\n".join(lines[begin : begin + LINES]) or path.stem


def _texts(passages: list[str], asked: list[str]) -> tuple[tuple[list[str], Role], ...]:
    return (passages, Role.DOCUMENT), (asked, Role.QUERY)


def _plugin(kind: str, name: str) -> Any:
    made = cast(Any, registry.load(kind, name))
    return made(made.Params())


def _unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def _filled(name: str, params: dict[str, Any], kind: VectorKind, rows: Vectors, home: Path) -> CompleteStore:
    plugin = cast("type[CompleteStore]", registry.load("stores", name))
    home.mkdir()
    store = plugin(plugin.Params(**params), home)
    if kind != "dense":
        store.hold(kind)
    store.create(f"bench_{kind}", rows.shape[1], Metric.COSINE if kind == "dense" else Metric.DOT)
    count = len(rows)
    for begin in range(0, count, 1_000):
        part = slice(begin, min(begin + 1_000, count))
        given: dict[str, Any] = {FIELDS[kind]: rows[part]}
        store.insert(Batch(np.arange(part.start, part.stop, dtype=np.int64), **given))
    store.ready()
    return store


def _medians(ours: Search, peer: Search) -> tuple[float, float]:
    """Milliseconds of both searches, taken by turns."""
    taken: tuple[list[float], list[float]] = ([], [])
    for i in range(QUESTIONS):
        for search, times in zip((ours, peer), taken, strict=True):
            begin = time.perf_counter()
            search(i)
            times.append(1000 * (time.perf_counter() - begin))
    return statistics.median(taken[0]), statistics.median(taken[1])


def _end(*stores: CompleteStore) -> None:
    """Close stores and remove what they left on a server."""
    for store in stores:
        for kind in FIELDS if isinstance(store, SupportsDrop) else ():
            store.drop(f"bench_{kind}")
        store.close()


if __name__ == "__main__":
    sys.exit(main())
