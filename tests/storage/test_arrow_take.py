"""Rows taken piece by piece are those that Arrow takes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from bakeoff.storage.arrow_take import ArrowTaker


def _table(pieces: list[int]) -> pa.Table:
    rows = iter(range(sum(pieces)))
    parts = [[next(rows) for _ in range(count)] for count in pieces]
    schema = pa.schema({"n": pa.int32(), "text": pa.string(), "vector": pa.list_(pa.float32(), 2)})
    return pa.Table.from_batches(
        [
            pa.record_batch(
                {"n": part, "text": [f"text {n}" * (n % 4) for n in part], "vector": [[n, -n] for n in part]},
                schema=schema,
            )
            for part in parts
        ],
        schema=schema,
    )


@pytest.mark.parametrize("pieces", [[7], [3, 0, 4, 90, 1], [1] * 40, [0, 0]])
def test_any_rows_in_any_order(pieces: list[int]) -> None:
    table, random = _table(pieces), np.random.default_rng(1)
    taker, total = ArrowTaker(table), sum(pieces)
    wanted = [[], *([random.integers(0, total, count).tolist() for count in (1, 5, 200)] if total else [])]
    for positions in (*wanted, list(range(total)), list(range(total))[::-1]):
        assert taker(positions).equals(table.take(pa.array(positions, pa.int64())))


def test_an_offset_table_keeps_its_own_rows() -> None:
    table = _table([5, 6, 7]).slice(3, 11)
    assert ArrowTaker(table)([10, 0, 5]).equals(table.take(pa.array([10, 0, 5])))
