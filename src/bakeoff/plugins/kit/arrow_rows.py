"""Rows and payloads as Arrow tables: `id`, `vector`, and a column for each payload field."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from bakeoff.plugins.kit.payload import Payload, PayloadSchemaMixin, from_rows
from bakeoff.types import Batch

KINDS = {"text": pa.large_string(), "integer": pa.int64(), "number": pa.float64()}


def schema(store: PayloadSchemaMixin, dims: int, *, tokens: bool = False) -> pa.Schema:
    """Columns of a collection; with `tokens`, a list of vectors per row."""
    vector = pa.list_(pa.float32(), dims)
    own = [("id", pa.int64()), ("vector", pa.list_(vector) if tokens else vector)]
    return pa.schema(own + [(name, KINDS[field.kind]) for name, field in store.columns().items()])


def payload_columns(store: PayloadSchemaMixin, batch: Batch) -> dict[str, pa.Array]:
    """A batch's payloads as columns."""
    rows = batch.payloads or []
    return {
        column: pa.array([row[field.name] for row in rows], KINDS[field.kind])
        for column, field in store.columns().items()
    }


def table(store: PayloadSchemaMixin, batch: Batch) -> pa.Table:
    """A batch with its payloads."""
    rows = batch.vectors if batch.tokens is None else batch.tokens.vectors
    assert rows is not None
    flat = pa.array(np.ascontiguousarray(rows, np.float32).ravel())
    vectors: pa.Array = pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])
    if batch.tokens is not None:
        vectors = pa.ListArray.from_arrays(pa.array(batch.tokens.starts, pa.int32()), vectors)
    return pa.table({"id": batch.ids, "vector": vectors, **payload_columns(store, batch)})


def payloads(store: PayloadSchemaMixin, ids: np.ndarray, found: pa.Table) -> list[Payload]:
    """Payloads in a table with ids and payload columns, in the order of the ids."""
    columns = [found[name].to_pylist() for name in ("id", *store.columns())]
    return from_rows(store, ids, zip(*columns, strict=True))
