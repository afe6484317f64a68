"""Seeded vectors by name: synthetic:20000x64, with clustered, uniform or ood (queries of another distribution)."""

from __future__ import annotations

import re

import numpy as np

from bakeoff.errors import DataError

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
