"""embed: chunks and queries → vectors, each text once for each model and role."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.errors import EmbedderError
from bakeoff.fingerprint import fingerprint, text_keys
from bakeoff.plan import Part
from bakeoff.pool import Pool, Rows
from bakeoff.protocols import Embedder
from bakeoff.stages.chunk import Chunking, embedded_texts
from bakeoff.stages.work import Workshop, stage
from bakeoff.types import Role

if TYPE_CHECKING:
    import numpy as np

VERSION = "1"
BATCH = 256
TIMED = 200
WARM_UP = 5


@dataclass(frozen=True, slots=True)
class Vectors:
    """One row for each chunk, memory-mapped; `fresh` texts were embedded now, `reused` ones before."""

    matrix: np.ndarray
    fingerprint: str
    seconds: float
    fresh: int
    reused: int


@dataclass(frozen=True, slots=True)
class QueryVectors:
    """One row for each query, and how long one query took in milliseconds, for the timed ones in each repeat."""

    matrix: np.ndarray
    milliseconds: np.ndarray
    fingerprint: str


def identity(part: Part, embedder: Embedder, role: Role) -> str:
    """The name of everything that shapes a vector: model, revision, weights, prompt, cut, dtype, role (F42)."""
    return fingerprint("embed", VERSION, part.identity(), embedder.info, role)


def embed_chunks(part: Part, embedder: Embedder, chunking: Chunking, shop: Workshop) -> Vectors:
    """The vectors of a chunking; texts embedded before are taken from the cache."""
    key = identity(part, embedder, Role.DOCUMENT)
    name = fingerprint("vectors", key, chunking.fingerprint)
    label = f"{part.label} · {chunking.label}"
    with stage(shop, "embed", label, chunking.chunks.num_rows, "chunks") as report:
        folder = shop.cache.get("vectors", name)
        fresh, reused = 0, chunking.chunks.num_rows
        if folder is None:
            texts = embedded_texts(chunking.chunks)
            keys = text_keys(texts)
            pool = Pool(shop.cache, "embed", key)
            lengths = [len(text) for text in texts]

            def work(positions: list[int]) -> Rows:
                return _rows(
                    embedder,
                    [texts[p] for p in positions],
                    [chunking.chunks["id"][p].as_py() for p in positions],
                )

            def longest_first(positions: list[int]) -> list[int]:
                return sorted(positions, key=lambda p: (-lengths[p], p))

            fresh = pool.fill(keys, work, batch=BATCH, order=longest_first, progress=report.advance)
            reused = len(set(keys)) - fresh
            dims = embedder.info.dims
            folder = shop.cache.make("vectors", name, lambda aside: _assemble(aside, pool, keys, dims))
        else:
            report.advance(chunking.chunks.num_rows)
        matrix = _open(folder)
        report.summary = f"{matrix.shape[0]:,} × {matrix.shape[1]}" + ("" if fresh else ", from the cache")
    return Vectors(matrix, name, report.seconds, fresh, reused)


def embed_queries(
    part: Part, embedder: Embedder, texts: list[str], warm_up: list[str], repeats: int, shop: Workshop
) -> QueryVectors:
    """The vectors of the queries, and the time of one query at a time, after a warm-up with other texts."""
    import numpy as np

    for text in warm_up[:WARM_UP]:
        embedder.embed([text], Role.QUERY)
    timed = texts[:TIMED]
    milliseconds = np.empty((repeats, len(timed)))
    fresh: dict[str, np.ndarray] = {}
    with stage(shop, "embed", f"{part.label} · queries", len(texts), "queries") as report:
        report.advance(0)
        for repeat in range(repeats):
            for i, text in enumerate(timed):
                begin = time.perf_counter_ns()
                row = embedder.embed([text], Role.QUERY)
                milliseconds[repeat, i] = (time.perf_counter_ns() - begin) / 1e6
                fresh.setdefault(text, row)
        key = identity(part, embedder, Role.QUERY)
        pool = Pool(shop.cache, "embed", key)
        keys = text_keys(texts)

        def work(positions: list[int]) -> Rows:
            rows = [fresh.get(texts[p]) for p in positions]
            made = [
                embedder.embed([texts[p]], Role.QUERY) if row is None else row
                for p, row in zip(positions, rows, strict=True)
            ]
            return _checked(np.concatenate(made), [texts[p] for p in positions], embedder.info.dims)

        pool.fill(keys, work, batch=BATCH, progress=report.advance)
        matrix = np.concatenate([_matrix(block) for block in pool.gather(keys)])
        report.summary = f"{len(texts):,} × {matrix.shape[1]}"
    return QueryVectors(matrix, milliseconds, fingerprint(key, keys))


def _rows(embedder: Embedder, texts: list[str], names: list[str]) -> Rows:
    return _checked(embedder.embed(texts, Role.DOCUMENT), names, embedder.info.dims)


def _checked(matrix: np.ndarray, names: list[str], dims: int) -> Rows:
    """The rows as a table, after asserting shape and finiteness."""
    import numpy as np
    import pyarrow as pa

    if matrix.shape != (len(names), dims):
        raise EmbedderError(
            f"{len(names)} texts gave vectors of shape {matrix.shape}, not ({len(names)}, {dims}). "
            "The model changed its dimension, or dropped a text; nothing of this batch is kept."
        )
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        raise EmbedderError(
            f"the vector of {names[bad[0]]} is not finite ({bad.size} of {len(names)} in its batch)."
        )
    flat = pa.array(np.ascontiguousarray(matrix, np.float32).ravel())
    return Rows([1] * len(names), pa.table({"vector": pa.FixedSizeListArray.from_arrays(flat, dims)}))


def _matrix(block: object) -> np.ndarray:
    column = block["vector"].combine_chunks()  # type: ignore[index]
    array = column.chunk(0) if hasattr(column, "num_chunks") else column
    return array.flatten().to_numpy().reshape(len(array), -1)


def _assemble(folder: Path, pool: Pool, keys: list[str], dims: int) -> None:
    import numpy as np

    shape = {"descr": "<f4", "fortran_order": False, "shape": (len(keys), dims)}
    with (folder / "vectors.npy").open(
        "wb"
    ) as file:  # written, not mapped: a full disk is an error, not a signal
        np.lib.format.write_array_header_1_0(file, shape)
        for block in pool.gather(keys):
            file.write(np.ascontiguousarray(_matrix(block), "<f4").data)


def _open(folder: Path) -> np.ndarray:
    import numpy as np

    return np.load(folder / "vectors.npy", mmap_mode="r")
