"""Takes rows of a table by number, at the cost of those rows alone.

Arrow concatenates all chunks of a column before it takes rows, so each take would cost as much as the whole
table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

BLOCK = 65_536


class StringColumn(Sequence[str]):
    """A column of strings; only those that are asked for become Python strings, and none of them is kept."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        value = self._column[row]
        return list(value.to_pylist()) if isinstance(row, slice) else str(value.as_py())

    def __iter__(self) -> Iterator[str]:
        for begin in range(0, len(self._column), BLOCK):
            yield from self._column.slice(begin, BLOCK).to_pylist()


class ArrowTaker:
    """Takes rows from a table of many chunks, chunk by chunk."""

    def __init__(self, table: pa.Table) -> None:
        import numpy as np

        self._table = table
        self._pieces = [piece for piece in table.to_batches() if piece.num_rows]
        self._ends = np.cumsum([piece.num_rows for piece in self._pieces], dtype=np.int64)

    def __call__(self, positions: Sequence[int] | np.ndarray) -> pa.Table:
        """Return the rows at these positions, in order."""
        import numpy as np
        import pyarrow as pa

        wanted = np.asarray(positions, np.int64)
        if len(self._pieces) < 2 or not len(wanted):
            return self._table.take(pa.array(wanted))
        piece = np.searchsorted(self._ends, wanted, side="right")
        order = np.argsort(piece, kind="stable")
        numbers, first = np.unique(piece[order], return_index=True)
        parts = [
            self._of(number, wanted[rows])
            for number, rows in zip(numbers.tolist(), np.split(order, first[1:]), strict=True)
        ]
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return pa.Table.from_batches(parts).combine_chunks().take(pa.array(back))

    def _of(self, number: int, positions: np.ndarray) -> pa.RecordBatch:
        import pyarrow as pa

        piece = self._pieces[number]
        return piece.take(pa.array(positions - (self._ends[number] - piece.num_rows)))
