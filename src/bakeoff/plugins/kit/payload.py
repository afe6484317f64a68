"""Payloads: declared fields, their columns, and filters as comparisons or SQL."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bakeoff.errors import StoreError
from bakeoff.types import Batch, Condition, PayloadField, Where

Payload = dict[str, str | int | float]
Value = str | int | float
VECTORS_ONLY = {"keywords": "vectors only", "hybrid": "vectors only"}
NO_LIMIT = {"dims limit": "the engine names no limit"}
TYPES: dict[str, type] = {"text": str, "integer": int, "number": float}


class PayloadSchemaMixin:
    """Mixin for a store with payload fields; columns are numbered, so that any field name is allowed."""

    fields: tuple[PayloadField, ...] = ()

    def declare(self, fields: tuple[PayloadField, ...]) -> None:
        """Set the payload fields."""
        self.fields = fields

    def columns(self) -> dict[str, PayloadField]:
        """The fields by column name."""
        return {f"payload_{place}": field for place, field in enumerate(self.fields)}

    def column_of(self) -> dict[str, str]:
        """Column names by field name."""
        return {field.name: column for column, field in self.columns().items()}


@dataclass(frozen=True, slots=True)
class Term:
    """One comparison of a filter: a field is in a set of values, at least one value, or at most one."""

    field: str
    kind: str
    sign: Literal["in", ">=", "<="]
    values: tuple[Any, ...]
    """Values of the field's kind: str, int or float."""


def terms(fields: tuple[PayloadField, ...], where: Where) -> Iterator[Term]:
    """A filter as comparisons; an undeclared field raises a StoreError."""
    kinds = {field.name: field.kind for field in fields}
    for one in where:
        if one.field not in kinds:
            known = ", ".join(kinds) or "none"
            raise StoreError(f"no payload field is called {one.field!r}. Declared: {known}.")
        yield from _comparisons(one, kinds[one.field])


def _comparisons(one: Condition, kind: str) -> Iterator[Term]:
    """The comparisons of one condition; bounds of an integer field are rounded inwards."""
    whole: tuple[Callable[[float], Value], ...] = (
        (math.ceil, math.floor) if kind == "integer" else (float, float)
    )
    if one.among:
        yield Term(one.field, kind, "in", tuple(map(TYPES[kind], one.among)))
    if one.least is not None:
        yield Term(one.field, kind, ">=", (whole[0](one.least),))
    if one.most is not None:
        yield Term(one.field, kind, "<=", (whole[1](one.most),))


def sql(store: PayloadSchemaMixin, where: Where, mark: str = "?") -> tuple[str, list[Value]]:
    """A filter as SQL with placeholders, and their values; columns are quoted."""
    names, parts, values = store.column_of(), [], list[Value]()
    for term in terms(store.fields, where):
        marks = ", ".join([mark] * len(term.values))
        right = f"IN ({marks})" if term.sign == "in" else f"{term.sign} {mark}"
        parts.append(f'"{names[term.field]}" {right}')
        values.extend(term.values)
    return " AND ".join(parts) or "1 = 1", values


def sql_text(store: PayloadSchemaMixin, where: Where) -> str:
    """A filter as SQL with its values inlined, for engines without placeholders."""
    text, values = sql(store, where, "\x00")
    first, *rest = text.split("\x00")
    return first + "".join(literal(value) + after for value, after in zip(values, rest, strict=True))


def literal(value: Value) -> str:
    """A value as an SQL literal."""
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def payload_of(fields: tuple[PayloadField, ...], values: tuple[Any, ...]) -> Payload:
    """A payload from an engine's values, given in the order of the fields."""
    return {field.name: TYPES[field.kind](value) for field, value in zip(fields, values, strict=True)}


def in_order(ids: np.ndarray, found: dict[int, Payload]) -> list[Payload]:
    """Payloads in the order of the ids; a missing id raises a StoreError."""
    try:
        return [found[number] for number in ids.tolist()]
    except KeyError as exc:
        raise StoreError(f"there is no row with the id {exc.args[0]}.") from exc


def from_rows(store: PayloadSchemaMixin, ids: np.ndarray, rows: Iterable[tuple[Any, ...]]) -> list[Payload]:
    """Payloads, in the order of the ids, from rows of an id and field values."""
    return in_order(ids, {row[0]: payload_of(store.fields, row[1:]) for row in rows})


def value_rows(store: PayloadSchemaMixin, batch: Batch) -> Iterator[tuple[Value, ...]]:
    """A batch as rows of an id and field values."""
    names = [field.name for field in store.fields]
    for number, row in zip(batch.ids.tolist(), batch.payloads or [], strict=True):
        yield (number, *(row[name] for name in names))
