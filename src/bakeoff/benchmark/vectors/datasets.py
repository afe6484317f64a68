"""A vector dataset: base and query vectors of one length, validated before use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bakeoff.benchmark.vectors.downloads import TABLE, read_named
from bakeoff.benchmark.vectors.files import RawVectors, read_vector_file
from bakeoff.errors import DataError
from bakeoff.fingerprint import bytes_fingerprint, fingerprint
from bakeoff.types import JsonObject, Metric

BLOCK_BYTES = 32 * 2**20
QUERIES = 1000
HELD_OUT_SHARE = 10
"""Of a file without queries, at most one row in this many is held out as queries."""


@dataclass(frozen=True, slots=True)
class VectorSet:
    """Base and queries as float32 rows; `neighbours` are given row numbers, nearest first, or None."""

    name: str
    base: np.ndarray
    queries: np.ndarray
    metric: Metric
    neighbours: np.ndarray | None
    duplicates: int
    leaked: int
    notes: tuple[str, ...]
    fingerprint: str

    @property
    def dims(self) -> int:
        """The vectors' length."""
        return int(self.base.shape[1])

    def warm_up(self, count: int, seed: int) -> np.ndarray:
        """Vectors to warm up with: rows of the base, none of which is a measured query."""
        count = min(count, len(self.base))
        rows = np.random.default_rng(seed).choice(len(self.base), count, replace=False)
        return np.asarray(self.base[rows])

    def facts(self) -> JsonObject:
        """What a record says about it."""
        return {
            "name": self.name,
            "fingerprint": self.fingerprint,
            "vectors": len(self.base),
            "queries": len(self.queries),
            "dims": self.dims,
            "metric": self.metric.value,
        }


def open_dataset(
    name: str, *, metric: Metric | None = None, queries: int | None = None, seed: int = 7
) -> VectorSet:
    """The dataset of a name (`synthetic:…`, `mnist`) or path; `queries` limits how many are used, from the first on."""
    if queries is not None and queries < 1:
        raise DataError(f"{queries} queries were requested; at least 1 is needed.")
    if name.startswith("synthetic:"):
        base, vectors = make_dataset(name, queries or QUERIES, seed)
        return _check_vectors(name, RawVectors(base, vectors, None, "l2"), metric, [], queries)
    path = Path(name).expanduser()
    file = read_named(name) if name in TABLE and not path.exists() else read_vector_file(path)
    raw, notes = _with_queries(file, queries, seed)
    return _check_vectors(Path(name).stem, raw, metric, notes, queries)


def blocks(rows: int, row_bytes: int) -> Iterator[slice]:
    """Slices that cover the rows, each of about 32 MB."""
    step = max(1, BLOCK_BYTES // max(1, row_bytes))
    for begin in range(0, rows, step):
        yield slice(begin, min(begin + step, rows))


def _with_queries(raw: RawVectors, count: int | None, seed: int) -> tuple[RawVectors, list[str]]:
    """Hold out some rows of a file without queries as its queries."""
    if raw.queries is not None:
        return raw, []
    _check_table("the base", raw.base)
    held_out = min(count or QUERIES, len(raw.base) // HELD_OUT_SHARE)
    if held_out < 1:
        raise DataError(
            f"{len(raw.base)} base vectors and no queries: too few to hold some out. Add a query file."
        )
    chosen = np.zeros(len(raw.base), bool)
    chosen[np.random.default_rng(seed).choice(len(raw.base), held_out, replace=False)] = True
    note = (
        f"no query vectors were given: {held_out:,} rows of the file, held out of the base, are the queries"
    )
    return RawVectors(raw.base[~chosen], raw.base[chosen], None, raw.metric), [note]


def _check_vectors(
    name: str, raw: RawVectors, metric: Metric | None, notes: list[str], limit: int | None
) -> VectorSet:
    assert raw.queries is not None
    for what, rows in (("the base", raw.base), ("the queries", raw.queries)):
        _check_table(what, rows)
    if raw.base.shape[1] != raw.queries.shape[1]:
        raise DataError(
            f"base vectors have {raw.base.shape[1]} dimensions, query vectors {raw.queries.shape[1]}: they come "
            "from different models."
        )
    if raw.neighbours is not None:
        _check_neighbours(raw.neighbours, len(raw.base), len(raw.queries))
    base, queries = _float32(raw.base), _float32(raw.queries)[:limit]
    for what, rows in (("base", base), ("query", queries)):
        _check_finite(what, rows)
    chosen = metric or Metric(raw.metric or Metric.COSINE)
    neighbours = None if raw.neighbours is None else raw.neighbours.astype(np.int64)[:limit]
    if neighbours is not None and metric is not None and raw.metric and metric.value != raw.metric:
        notes.append(
            f"the given truth uses {raw.metric}; it is ignored, because {metric.value} was requested"
        )
        neighbours = None
    keys, query_keys = _row_keys(base), _row_keys(queries)
    duplicates, leaked = len(keys) - len(np.unique(keys)), int(np.isin(query_keys, keys).sum())
    notes += _findings(base, queries, chosen, duplicates, leaked)
    identity = fingerprint("vectors", _content(base), _content(queries))
    return VectorSet(
        name=name,
        base=base,
        queries=queries,
        metric=chosen,
        neighbours=neighbours,
        duplicates=duplicates,
        leaked=leaked,
        notes=tuple(notes),
        fingerprint=identity,
    )


def _check_table(what: str, rows: np.ndarray) -> None:
    if rows.ndim != 2 or not rows.size:
        raise DataError(
            f"{what} has the shape {rows.shape}; one row per vector is needed, and at least one row."
        )
    if rows.dtype.kind not in "fiu":
        raise DataError(f"{what} holds {rows.dtype}, not numbers.")


def _check_neighbours(ids: np.ndarray, base: int, queries: int) -> None:
    if ids.ndim != 2 or ids.dtype.kind not in "iu":
        raise DataError(f"the truth has the shape {ids.shape} and type {ids.dtype}; row numbers are needed.")
    if len(ids) != queries:
        raise DataError(
            f"the truth holds {len(ids):,} queries, the dataset {queries:,}: it belongs to another one."
        )
    if int(ids.max()) >= base or int(ids.min()) < 0:
        raise DataError(
            f"the truth names row {int(ids.max()):,}, the base has {base:,} rows: it belongs to another base."
        )
    ordered = np.sort(ids, axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        raise DataError("the truth names a neighbour twice for one query.")


def _check_finite(what: str, rows: np.ndarray) -> None:
    for part in blocks(len(rows), rows.shape[1] * 4):
        good = np.isfinite(rows[part]).all(axis=1)
        if not good.all():
            row = part.start + int(np.flatnonzero(~good)[0])
            raise DataError(f"{what} vector {row} has a value that is not finite. Embed that row again.")


def _float32(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows, np.float32)


def _findings(
    base: np.ndarray, queries: np.ndarray, metric: Metric, duplicates: int, leaked: int
) -> Iterator[str]:
    if duplicates:
        yield f"{duplicates:,} of {len(base):,} base vectors repeat another one; ties count as found"
    if leaked:
        yield f"{leaked:,} of {len(queries):,} query vectors are also in the base: their search is easier"
    zero = int((~base.any(axis=1)).sum()) + int((~queries.any(axis=1)).sum())
    if zero and metric is Metric.COSINE:
        yield f"{zero:,} vectors are zero and have no direction; their cosine counts as 0"


def _row_keys(rows: np.ndarray) -> np.ndarray:
    """A 64-bit key per row: equal rows have equal keys; a collision has a chance of 2**-64 per pair."""
    factors = np.random.default_rng(11).integers(1, 2**63, rows.shape[1], dtype=np.uint64) | np.uint64(1)
    keys = np.empty(len(rows), np.uint64)
    for part in blocks(len(rows), rows.shape[1] * 8):
        bits = (rows[part] + np.float32(0)).view(np.uint32).astype(np.uint64)  # -0.0 becomes 0.0
        bits ^= bits >> np.uint64(15)
        keys[part] = (bits * factors).sum(axis=1, dtype=np.uint64)
    return keys


def _content(rows: np.ndarray) -> list[object]:
    parts = [bytes_fingerprint(rows[part].tobytes()) for part in blocks(len(rows), rows.shape[1] * 4)]
    return [list(rows.shape), *parts]


SHAPES = ("clustered", "uniform", "ood")
MOST_BYTES = 4 * 2**30
_NAME = re.compile(r"synthetic:(\d+)x(\d+)(?:,(\w+))?")


def make_dataset(name: str, queries: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Base and query vectors; the same name, count and seed give the same vectors."""
    rows, dims, shape = _parse_name(name)
    generator = np.random.default_rng([seed, rows, dims, SHAPES.index(shape)])
    if shape == "uniform":
        return _uniform(generator, rows, dims), _uniform(generator, queries, dims)
    centres = generator.normal(size=(max(1, round(rows**0.5)), dims)).astype(np.float32)
    base = _around(generator, centres, rows)
    if shape == "clustered":
        return base, _around(generator, centres, queries)
    elsewhere = generator.normal(loc=0.5, scale=1.5, size=centres.shape).astype(np.float32)
    return base, _around(generator, elsewhere, queries)


def _parse_name(name: str) -> tuple[int, int, str]:
    match = _NAME.fullmatch(name.replace(" ", ""))
    if match is None or (match[3] or SHAPES[0]) not in SHAPES:
        raise DataError(
            f"{name!r} is not a synthetic dataset. Write synthetic:ROWSxDIMS[,{'|'.join(SHAPES)}]."
        )
    rows, dims = int(match[1]), int(match[2])
    if rows < 2 or dims < 1:
        raise DataError(
            f"{name!r} has {rows} rows of {dims} dimensions; at least 2 rows and 1 dimension are needed."
        )
    if rows * dims * 4 > MOST_BYTES:
        raise DataError(f"{name!r} takes {rows * dims * 4 / 2**30:.1f} GiB; synthetic datasets end at 4 GiB.")
    return rows, dims, match[3] or SHAPES[0]


def _uniform(generator: np.random.Generator, rows: int, dims: int) -> np.ndarray:
    return generator.uniform(-1, 1, (rows, dims)).astype(np.float32)


def _around(generator: np.random.Generator, centres: np.ndarray, rows: int) -> np.ndarray:
    """Points around centres, with a spread that lets the clusters touch."""
    member = generator.integers(0, len(centres), rows)
    noise = generator.standard_normal((rows, centres.shape[1]), np.float32)
    return np.asarray(centres[member] + np.float32(0.6) * noise)
