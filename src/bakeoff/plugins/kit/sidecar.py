"""Payloads for engines without them: an Arrow table next to the index."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import feather

from bakeoff.errors import StoreError
from bakeoff.plugins.kit import arrow_rows
from bakeoff.plugins.kit.payload import Payload, PayloadSchemaMixin, terms
from bakeoff.types import Batch, PayloadField, Where


class SidecarPayloads(PayloadSchemaMixin):
    """Payloads in Arrow columns, in memory and optionally in a file.

    `allowed` turns a filter into the ids of matching rows, to which the engine then restricts its search.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._parts: list[pa.Table] = []

    def keep_at(self, file: Path) -> None:
        """Set the file to write to and read from."""
        self._file = file

    def clear(self) -> None:
        """Remove every row."""
        self._parts = []

    def add(self, batch: Batch) -> None:
        """Add the payloads of new rows."""
        if self.fields:
            self._parts.append(pa.table({"id": batch.ids, **arrow_rows.payload_columns(self, batch)}))

    def remove(self, ids: np.ndarray) -> None:
        """Remove rows."""
        table = self._table()
        self._parts = [] if table is None else [table.filter(~np.isin(table["id"].to_numpy(), ids))]

    def save(self) -> None:
        """Write the file."""
        table = self._table()
        if table is not None and self._file is not None:
            feather.write_feather(table, str(self._file), compression="zstd")

    def load(self) -> None:
        """Read the file if fields are declared."""
        self._parts = [feather.read_table(str(self._file))] if self.fields and self._file else []

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        """The payload of each row, in the order of the ids."""
        table = self._table()
        if table is None:
            raise StoreError("no payload fields were declared for this collection.")
        return arrow_rows.payloads(self, ids, table.filter(np.isin(table["id"].to_numpy(), ids)))

    def matching_ids(self, where: Where) -> np.ndarray:
        """The ids of the rows that satisfy a filter, ascending."""
        compare = {">=": pc.greater_equal, "<=": pc.less_equal}
        comparisons, table, names = list(terms(self.fields, where)), self._table(), self.column_of()
        if table is None:
            return np.empty(0, np.int64)
        matching = np.ones(table.num_rows, bool)
        for term in comparisons:
            column = table[names[term.field]]
            mask = (
                pc.is_in(column, value_set=pa.array(term.values, column.type))
                if term.sign == "in"
                else compare[term.sign](column, term.values[0])
            )
            matching &= mask.to_numpy()
        return np.sort(table["id"].to_numpy()[matching])

    def _table(self) -> pa.Table | None:
        if len(self._parts) > 1:
            self._parts = [pa.concat_tables(self._parts).combine_chunks()]
        return self._parts[0] if self._parts else None


class SidecarPayloadsMixin:
    """Mixin for a store that keeps its payloads in `self._sidecar`."""

    _sidecar: SidecarPayloads

    def declare(self, fields: tuple[PayloadField, ...]) -> None:
        """Set the payload fields."""
        self._sidecar.declare(fields)

    def payloads(self, ids: np.ndarray) -> list[Payload]:
        """The payload of each row, in the order of the ids."""
        return self._sidecar.payloads(ids)
