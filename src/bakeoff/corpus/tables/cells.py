"""Converts cells of any type to text: numbers without a needless ".0", dates in ISO form, nothing nested."""

from __future__ import annotations

import datetime
import functools
import uuid
from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from bakeoff.errors import DataError


def as_text(column: pa.Array, name: str) -> pa.Array:
    """A column of numbers, dates, booleans or texts as texts; raises for lists, structures or bytes."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return as_text(column.cast(kind.value_type), name)
    if pa.types.is_large_string(kind) or pa.types.is_string(kind):
        return column
    if pa.types.is_floating(kind):
        return _number_text(column)
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise DataError(f'column "{name}" holds {kind}; only text, numbers and dates can be read.')
    try:
        return column.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as exc:
        raise DataError(f'column "{name}" of type {kind} cannot be read as text: {exc}') from exc


def as_text_or_codes(column: pa.Array, name: str) -> pa.Array:
    """A column as texts, or as dictionary codes of texts if it has those."""
    is_coded = pa.types.is_dictionary(column.type) and pa.types.is_string(column.type.value_type)
    return column if is_coded else as_text(column, name)


def _number_text(column: pa.Array) -> pa.Array:
    """Numbers as text: 12, not 12.0, because tables often store whole numbers as floats."""
    whole = pc.equal(column, pc.floor(column))
    if pc.all(whole, min_count=0).as_py() and not (pc.max(pc.abs(column)).as_py() or 0) >= 2**53:
        column = column.cast(pa.int64())
    return column.cast(pa.string())


def join_text(columns: Sequence[pa.Array], separator: str) -> pa.Array:
    """Join the texts of several columns; an empty or missing cell adds no separator."""
    if len(columns) == 1:
        return columns[0]
    wide = any(pa.types.is_large_string(column.type) for column in columns)
    kind = pa.large_string() if wide else pa.string()
    first, *others = (_without_empty(column.cast(kind)) for column in columns)
    if all(column.null_count for column in (first, *others)):
        # the join below drops a row whose cells are all missing
        blank = functools.reduce(pc.and_, map(pc.is_null, (first, *others)))
        first = pc.if_else(blank, pa.scalar("", kind), first)
    filled = [first, *others]
    return pc.binary_join_element_wise(*filled, pa.scalar(separator, kind), null_handling="skip")


def _without_empty(column: pa.Array) -> pa.Array:
    lengths = pc.binary_length(column)
    if pc.min(lengths).as_py() != 0:
        return column
    return pc.if_else(pc.equal(lengths, 0), pa.scalar(None, column.type), column)


def python_column(values: Sequence[object], name: str, where: str) -> pa.Array:
    """A column of Python values: vectors if they are lists of numbers, else texts."""
    if any(isinstance(value, list) for value in values):
        try:
            return pa.array(values, pa.list_(pa.float32()))
        except (pa.ArrowInvalid, pa.ArrowTypeError) as exc:
            raise DataError(
                f'{where}: column "{name}" holds lists that are not all lists of numbers ({exc}).'
            ) from exc
    return pa.array([_cell_text(value, name, where) for value in values], pa.large_string())


def _cell_text(value: object, name: str, where: str) -> str | None:
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            return str(int(value)) if value.is_integer() else str(value)
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case Decimal():
            return f"{value:f}"
        case int() | datetime.timedelta() | uuid.UUID():
            return str(value)
    raise DataError(f'{where}: column "{name}" holds a {type(value).__name__}, not a text, number or date.')
