"""Rows and payloads as Arrow tables: `id`, `vector`, and a column for each payload field."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from bakeoff.plugins.kit.payload import Payload, PayloadSchemaMixin, from_rows
from bakeoff.types import Batch

KINDS = {"text": pa.large_string(), "integer": pa.int64(), "number": pa.float64()}


def schema(store: PayloadSchemaMixin, dims: int) -> pa.Schema:
    """The columns of a collection."""
    own = [("id", pa.int64()), ("vector", pa.list_(pa.float32(), dims))]
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
    assert batch.vectors is not None
    flat = pa.array(np.ascontiguousarray(batch.vectors, np.float32).ravel())
    vectors = pa.FixedSizeListArray.from_arrays(flat, batch.vectors.shape[1])
    return pa.table({"id": batch.ids, "vector": vectors, **payload_columns(store, batch)})


def payloads(store: PayloadSchemaMixin, ids: np.ndarray, found: pa.Table) -> list[Payload]:
    """The payloads in a table that has the ids and the payloads' columns, in the order of the ids."""
    columns = [found[name].to_pylist() for name in ("id", *store.columns())]
    return from_rows(store, ids, zip(*columns, strict=True))
