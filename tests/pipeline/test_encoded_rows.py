"""Rows of different lengths: what is refused, and what comes back from disk and from the row cache."""

from pathlib import Path

import numpy as np
import pytest

from bakeoff.errors import EmbedderError
from bakeoff.pipeline.encoded_rows import (
    check_encoded,
    gather_encoded,
    holds_encoded,
    join_encoded,
    read_encoded,
    write_encoded,
)
from bakeoff.types import ModelInfo, SparseRows, TokenRows

NAMES = ["a", "b", "c"]
STARTS = np.array([0, 2, 2, 3])


def model(dims: int) -> ModelInfo:
    return ModelInfo("m", dims, None, "1", "w", normalised=False)


def sparse(terms: list[int], weights: list[float], starts: np.ndarray = STARTS, dims: int = 9) -> SparseRows:
    return SparseRows(starts, np.array(terms, np.int32), np.array(weights, np.float32), dims)


def tokens(values: object, starts: np.ndarray = STARTS) -> TokenRows:
    return TokenRows(starts, np.array(values, np.float32))


GOOD = sparse([1, 4, 0], [0.5, 2, 1])
GOOD_TOKENS = tokens([[1, 0], [0, 1], [1, 1]])


@pytest.mark.parametrize("rows", [GOOD, GOOD_TOKENS])
def test_what_is_written_is_read_again(tmp_path: Path, rows: SparseRows | TokenRows) -> None:
    kind = "sparse" if isinstance(rows, SparseRows) else "tokens"
    checked = check_encoded(rows, NAMES, model(rows.shape[1]))
    assert checked.counts == [2, 0, 1]
    counts = np.array(checked.counts)
    write_encoded(tmp_path, kind, [checked.table], counts, rows.shape[1])
    read, digest = read_encoded(tmp_path)
    assert holds_encoded(tmp_path) and digest
    again = gather_encoded(kind, [checked.table], counts, rows.shape[1])
    for found in (read, again, join_encoded([rows[0:1], rows[1:3]])):
        assert found.shape == rows.shape and found.starts.tolist() == STARTS.tolist()
        for name in ("terms", "weights") if kind == "sparse" else ("vectors",):
            assert getattr(found, name).tolist() == getattr(rows, name).tolist()


def test_rows_without_anything_are_read_again(tmp_path: Path) -> None:
    none = np.zeros(3, np.int64)
    write_encoded(tmp_path, "sparse", [], none, 9)
    read, _ = read_encoded(tmp_path)
    assert len(read) == 3 and read.nbytes == 0


@pytest.mark.parametrize(
    ("rows", "dims", "said"),
    [
        (sparse([1, 4, 0], [0.5, np.nan, 1]), 9, "vector of a is not finite"),
        (sparse([1, 4, 9], [0.5, 1, 1]), 9, "returned term 9, but has only 9"),
        (sparse([4, 1, 0], [0.5, 1, 1]), 9, "terms of a are not in strictly ascending order"),
        (sparse([4, 4, 0], [0.5, 1, 1]), 9, "strictly ascending"),
        (sparse([1, 4, 0], [0.5, 1, 1], dims=8), 9, "not 3 of 9"),
        (sparse([1, 4], [0.5, 1]), 9, "2 values for rows that hold 3"),
        (sparse([1], [1], np.array([0, 1])), 9, "3 texts gave 1 rows"),
        (tokens([[1, 0], [0, 1], [np.inf, 1]]), 2, "vector of c is not finite"),
        (tokens([[1, 0], [0, 1], [1, 1]]), 3, "not 3 of 3"),
    ],
)
def test_bad_rows_are_refused(rows: SparseRows | TokenRows, dims: int, said: str) -> None:
    with pytest.raises(EmbedderError, match=said):
        check_encoded(rows, NAMES, model(dims))
