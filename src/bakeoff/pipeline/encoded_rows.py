"""Rows of varying length from sparse and multi-vector encoders: checked, kept in the row cache,
memory-mapped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.errors import EmbedderError
from bakeoff.storage.row_cache import BatchRows
from bakeoff.types import ModelInfo, SparseRows, TokenRows, VectorKind

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

EncodedRows = SparseRows | TokenRows
_STARTS, _ABOUT = "starts.npy", "about.json"
_COLUMNS: dict[VectorKind, tuple[tuple[str, str], ...]] = {
    "sparse": (("terms", "<i4"), ("weights", "<f4")),
    "tokens": (("vectors", "<f4"),),
}
"""The arrays of each kind, with their type on disk."""


def check_encoded(rows: EncodedRows, names: Sequence[str], model: ModelInfo) -> BatchRows:
    """Return an encoder's batch as cache rows after checking shape, order and finiteness."""
    import numpy as np
    import pyarrow as pa

    counts = np.diff(rows.starts)
    if len(rows) != len(names) or rows.shape[1] != model.dims or (counts < 0).any() or rows.starts[0] != 0:
        raise EmbedderError(
            f"{model.name}: {len(names)} texts gave {len(rows)} rows of {rows.shape[1]} dimensions, not {len(names)} "
            f"of {model.dims}. The batch was discarded."
        )
    values = rows.weights if isinstance(rows, SparseRows) else rows.vectors
    if len(values) != rows.starts[-1]:
        raise EmbedderError(
            f"{model.name} returned {len(values)} values for rows that hold {rows.starts[-1]}."
        )
    finite = np.isfinite(values) if values.ndim == 1 else np.isfinite(values).all(axis=1)
    if not finite.all():
        bad = int(np.searchsorted(rows.starts, np.flatnonzero(~finite)[0], side="right")) - 1
        raise EmbedderError(f"{model.name}: the vector of {names[bad]} is not finite.")
    if isinstance(rows, TokenRows):
        flat = pa.array(np.ascontiguousarray(values, np.float32).ravel())
        return BatchRows(
            counts.tolist(), pa.table({"vectors": pa.FixedSizeListArray.from_arrays(flat, model.dims)})
        )
    _check_terms(rows, names, model)
    columns = {"terms": pa.array(rows.terms, pa.int32()), "weights": pa.array(values, pa.float32())}
    return BatchRows(counts.tolist(), pa.table(columns))


def _check_terms(rows: SparseRows, names: Sequence[str], model: ModelInfo) -> None:
    """Raise unless terms are below `dims` and ascending in each row."""
    import numpy as np

    terms = rows.terms
    if len(terms) and not 0 <= int(terms.min()) <= int(terms.max()) < model.dims:
        raise EmbedderError(
            f"{model.name} returned term {int(terms.max())}, but has only {model.dims:,} terms."
        )
    falls = np.flatnonzero(np.diff(terms) <= 0) + 1
    inside = falls[~np.isin(falls, rows.starts)]
    if inside.size:
        bad = int(np.searchsorted(rows.starts, inside[0], side="right")) - 1
        raise EmbedderError(f"{model.name}: the terms of {names[bad]} are not in strictly ascending order.")


def join_encoded(parts: Sequence[EncodedRows]) -> EncodedRows:
    """Concatenate rows; needs at least one part."""
    import numpy as np

    counts = np.concatenate([np.diff(part.starts) for part in parts])
    if isinstance(parts[0], TokenRows):
        return TokenRows(_starts(counts), np.concatenate([part.vectors for part in parts]))  # type: ignore[union-attr]
    sparse = [part for part in parts if isinstance(part, SparseRows)]
    terms, weights = (
        np.concatenate([getattr(part, name) for part in sparse]) for name in ("terms", "weights")
    )
    return SparseRows(_starts(counts), terms, weights, sparse[0].dims)


def gather_encoded(
    kind: VectorKind, blocks: Iterable[pa.Table], counts: np.ndarray, dims: int
) -> EncodedRows:
    """Load cached rows into memory, in the order of their keys."""
    import numpy as np

    found = [_arrays(kind, block, dims) for block in blocks]
    arrays = [np.concatenate(parts) for parts in zip(*found, strict=True)] or _no_rows(kind, dims)
    return _rows(kind, _starts(counts), arrays, dims)


def write_encoded(
    folder: Path, kind: VectorKind, blocks: Iterable[pa.Table], counts: np.ndarray, dims: int
) -> None:
    """Write cached rows, one array per file, with their metadata."""
    import numpy as np

    starts, digest = _starts(counts), hashlib.blake2b(digest_size=16)
    digest.update(starts.data)
    files = [(folder / f"{name}.bin").open("wb") for name, _ in _COLUMNS[kind]]
    try:
        for block in blocks:
            for file, values in zip(files, _arrays(kind, block, dims), strict=True):
                digest.update(values.data)
                file.write(values.data)
    finally:
        for file in files:
            file.close()
    np.save(folder / _STARTS, starts)
    (folder / _ABOUT).write_text(json.dumps({"digest": digest.hexdigest(), "kind": kind, "dims": dims}))


def read_encoded(folder: Path) -> tuple[EncodedRows, str]:
    """Memory-map the rows that `write_encoded` wrote, and return their digest."""
    import numpy as np

    about = json.loads((folder / _ABOUT).read_text())
    kind, dims, starts = about["kind"], about["dims"], np.load(folder / _STARTS)
    count = int(starts[-1])
    if not count:
        return _rows(kind, starts, _no_rows(kind, dims), dims), about["digest"]
    shape = (count, dims) if kind == "tokens" else (count,)
    arrays = [np.memmap(folder / f"{name}.bin", form, "r", shape=shape) for name, form in _COLUMNS[kind]]
    return _rows(kind, starts, arrays, dims), about["digest"]


def holds_encoded(folder: Path) -> bool:
    """Whether a folder of vectors holds rows of varying length."""
    return (folder / _STARTS).is_file()


def _starts(counts: np.ndarray) -> np.ndarray:
    import numpy as np

    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def _arrays(kind: VectorKind, block: pa.Table, dims: int) -> list[np.ndarray]:
    """Return the arrays of a block of cached rows."""
    import numpy as np

    arrays = []
    for name, form in _COLUMNS[kind]:
        column = block[name].combine_chunks()
        array = column.chunk(0) if hasattr(column, "num_chunks") else column
        flat = array.flatten() if kind == "tokens" else array
        values = np.ascontiguousarray(flat.to_numpy(zero_copy_only=False), form)
        arrays.append(values.reshape(-1, dims) if kind == "tokens" else values)
    return arrays


def _no_rows(kind: VectorKind, dims: int) -> list[np.ndarray]:
    import numpy as np

    shape = (0, dims) if kind == "tokens" else (0,)
    return [np.empty(shape, form) for _, form in _COLUMNS[kind]]


def _rows(kind: VectorKind, starts: np.ndarray, arrays: Sequence[np.ndarray], dims: int) -> EncodedRows:
    return (
        TokenRows(starts, arrays[0]) if kind == "tokens" else SparseRows(starts, arrays[0], arrays[1], dims)
    )
