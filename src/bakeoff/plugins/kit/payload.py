"""Payloads: declared fields, their columns, and filters as comparisons or SQL."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np

from bakeoff.errors import StoreError
from bakeoff.types import Batch, Condition, DateCondition, PayloadField, Where

Payload = dict[str, str | int | float]
Value = str | int | float
VECTORS_ONLY = {"keywords": "vectors only", "hybrid": "vectors only"}
NO_LIMIT = {"dims limit": "the engine documents no limit"}
FLOAT32_ONLY = {"storage": "this adapter keeps float32 vectors only"}
TYPES: dict[str, type] = {"text": str, "integer": int, "number": float}
KIND_NAMES = {"text": "text", "integer": "integers", "number": "numbers", "boolean": "true or false"}
BOOLEANS = {"true": True, "false": False}
LAST_OF_SECOND = 0.999999


class PayloadSchemaMixin:
    """Mixin for a store with payload fields; columns are numbered, so that any field name is allowed."""

    fields: tuple[PayloadField, ...] = ()
    _adopted: Mapping[str, PayloadField] | None = None

    def declare(self, fields: tuple[PayloadField, ...]) -> None:
        """Set the payload fields."""
        self.fields, self._adopted = fields, None

    def adopt(self, columns: Mapping[str, PayloadField]) -> None:
        """Adopt the fields of an existing collection, by their names in the engine's filters."""
        self.fields, self._adopted = tuple(columns.values()), columns

    @property
    def adopted(self) -> bool:
        """Whether the fields come from an existing collection."""
        return self._adopted is not None

    def columns(self) -> dict[str, PayloadField]:
        """The fields by column name; adopted ones by an expression of the engine."""
        if self._adopted is not None:
            return dict(self._adopted)
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
    """Values of the field's kind: str, int, float, bool, or datetime in UTC."""


def terms(fields: tuple[PayloadField, ...], where: Where) -> Iterator[Term]:
    """A filter as comparisons; an undeclared field raises a StoreError."""
    kinds = {field.name: field.kind for field in fields}
    for one in where:
        if one.field not in kinds:
            near = difflib.get_close_matches(one.field, kinds, n=1)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            known = ", ".join(sorted(kinds)) or "none"
            raise StoreError(f"no payload field is called {one.field!r}.{guess} Known: {known}.")
        yield from _comparisons(one, kinds[one.field])


def _comparisons(one: Condition, kind: str) -> Iterator[Term]:
    """Comparisons of one condition, after checking that its values match the field's kind."""
    _check_kind(one, kind)
    least, most = BOUNDS.get(kind, (float, float))
    if one.among:
        yield Term(one.field, kind, "in", tuple(_value(one.field, kind, value) for value in one.among))
    if one.least is not None:
        yield Term(one.field, kind, ">=", (least(one.least),))
    if one.most is not None:
        yield Term(one.field, kind, "<=", (most(one.most),))


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


BOUNDS: dict[str, tuple[Callable[[float], object], Callable[[float], object]]] = {
    "integer": (math.ceil, math.floor),
    "date": (_moment, lambda seconds: _moment(seconds + LAST_OF_SECOND)),
}
"""Rounding of bounds by kind: integers inwards, the end of a date to the end of its second."""


def _check_kind(one: Condition, kind: str) -> None:
    """Raise for dates on a field of another kind, other values for dates, or bounds on an unordered field."""
    dated, bounded = isinstance(one, DateCondition), one.least is not None or one.most is not None
    if kind == "date" and not dated:
        raise StoreError(f"{one.field!r} holds dates. Filter it by {{from: …, to: …}}.")
    if (dated and kind != "date") or (bounded and kind in ("text", "boolean")):
        what = "dates" if dated else "bounds"
        raise StoreError(f"a filter has {what} for {one.field!r}, which holds {KIND_NAMES[kind]}.")


def _value(field: str, kind: str, value: Value) -> object:
    """Convert a value to the field's kind."""
    try:
        return BOOLEANS[str(value).lower()] if kind == "boolean" else TYPES[kind](value)
    except (KeyError, ValueError) as exc:
        raise StoreError(
            f"a filter compares {field!r} with {value!r}, but it holds {KIND_NAMES[kind]}."
        ) from exc


def sql(store: PayloadSchemaMixin, where: Where, mark: str = "?") -> tuple[str, list[Value]]:
    """A filter as SQL with placeholders, and their values; own columns are quoted, adopted ones are expressions."""
    names, parts, values = store.column_of(), [], list[Value]()
    for term in terms(store.fields, where):
        marks = ", ".join([mark] * len(term.values))
        right = f"IN ({marks})" if term.sign == "in" else f"{term.sign} {mark}"
        column = names[term.field]
        parts.append(f"{column if store.adopted else quoted(column)} {right}")
        values.extend(term.values)
    return " AND ".join(parts) or "1 = 1", values


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def sql_text(store: PayloadSchemaMixin, where: Where) -> str:
    """A filter as SQL with its values inlined, for engines without placeholders."""
    text, values = sql(store, where, "\x00")
    first, *rest = text.split("\x00")
    return first + "".join(literal(value) + after for value, after in zip(values, rest, strict=True))


def literal(value: Value) -> str:
    """A value as an SQL literal."""
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def payload_of(fields: tuple[PayloadField, ...], values: tuple[object, ...]) -> Payload:
    """A payload from an engine's values, given in the order of the fields."""
    return {field.name: TYPES[field.kind](value) for field, value in zip(fields, values, strict=True)}


def in_order(ids: np.ndarray, found: dict[int, Payload]) -> list[Payload]:
    """Payloads in the order of the ids; a missing id raises a StoreError."""
    try:
        return [found[number] for number in ids.tolist()]
    except KeyError as exc:
        raise StoreError(f"no row has the id {exc.args[0]}.") from exc


def from_rows(store: PayloadSchemaMixin, ids: np.ndarray, rows: Iterable[tuple[Any, ...]]) -> list[Payload]:
    """Payloads, in the order of the ids, from rows of an id and field values."""
    return in_order(ids, {row[0]: payload_of(store.fields, row[1:]) for row in rows})


def value_rows(store: PayloadSchemaMixin, batch: Batch) -> Iterator[tuple[Value, ...]]:
    """A batch as rows of an id and field values."""
    names = [field.name for field in store.fields]
    for number, row in zip(batch.ids.tolist(), batch.payloads or [], strict=True):
        yield (number, *(row[name] for name in names))
