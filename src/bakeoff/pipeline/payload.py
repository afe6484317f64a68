"""payload: the metadata fields that filters use, one payload per chunk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff import registry
from bakeoff.config.plan import PluginSpec
from bakeoff.config.pydantic_messages import did_you_mean
from bakeoff.corpus.dates import date_seconds
from bakeoff.errors import QueryFileError, StoreError
from bakeoff.protocols import SupportsKeywordsWhere, SupportsPayload
from bakeoff.types import Condition, DateCondition, PayloadField, Where

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

OWN = ("document", "kind", "section", "symbol")
"""Fields every chunk has; all others come from its document."""

Value = str | int | float
NOTHING = (1.0, 0.0)
"""Bounds that contain no number."""


@dataclass(frozen=True, slots=True)
class ChunkPayload:
    """One column per field; a missing number is stored below all others, where no filter reaches it."""

    fields: tuple[PayloadField, ...]
    columns: Mapping[str, Sequence[Value]]
    lowest: Mapping[str, float]

    def rows(self, begin: int, end: int) -> list[dict[str, Value]]:
        """Return the payloads of a range of chunks."""
        names = [field.name for field in self.fields]
        parts = zip(*(self.columns[name][begin:end] for name in names), strict=True)
        return [dict(zip(names, values, strict=True)) for values in parts]

    def where(self, conditions: Where) -> Where:
        """Convert a filter's values to the fields' types; a missing number never satisfies it."""
        kinds = {field.name: field.kind for field in self.fields}
        return tuple(
            Condition(one.field, tuple(map(str, one.among)))
            if kinds[one.field] == "text"
            else self._number(one)
            for one in conditions
        )

    def matching_chunks(self, where: Where) -> np.ndarray:
        """Return a mask of the chunks that satisfy a filter."""
        import numpy as np

        matching = np.ones(max((len(column) for column in self.columns.values()), default=0), bool)
        for one in where:
            column = np.asarray(self.columns[one.field])
            matching &= np.isin(column, one.among) if one.among else np.ones(len(column), bool)
            matching &= column >= one.least if one.least is not None else True
            matching &= column <= one.most if one.most is not None else True
        return matching

    def _number(self, one: Condition) -> Condition:
        lowest = self.lowest[one.field]
        among = tuple(value for value in map(float, one.among) if value >= lowest)
        if one.among and not among:
            return Condition(one.field, (), *NOTHING)
        least = lowest if one.least is None else max(one.least, lowest)
        return Condition(one.field, among, least, one.most)


def build_payload(filters: Iterable[Where], documents: pa.Table, chunks: pa.Table) -> ChunkPayload:
    """Collect the fields that filters use, for every chunk; a field with bounds in any filter is numeric."""
    conditions = [one for where in filters for one in where]
    ranged = {one.field for one in conditions if one.least is not None or one.most is not None}
    dated = {one.field for one in conditions if isinstance(one, DateCondition)}
    fields, lowest = [], {}
    columns: dict[str, Sequence[Value]] = {}
    for name in dict.fromkeys(one.field for one in conditions):
        column = _column(name, documents, chunks)
        if name in ranged:
            parse = _as_date if name in dated else _as_number
            numbers = [parse(value, name) for value in column]
            integers = all(value is None or float(value).is_integer() for value in numbers)
            fields.append(PayloadField(name, "integer" if integers else "number"))
            columns[name], lowest[name] = _fill_missing(numbers, integers)
        else:
            fields.append(PayloadField(name, "text"))
            columns[name] = column
    return ChunkPayload(tuple(fields), columns, lowest)


def require_filters(
    store: PluginSpec, model: PluginSpec | None, filtered: Sequence[str], *, both: bool
) -> None:
    """Raise if a store can't filter: a filtered query is never searched without its filter.

    `filtered` names the queries with a filter; `both` is whether the store fuses words and vectors.
    """
    plugin = registry.load("stores", store.name)
    payloads: tuple[type, ...] = (SupportsKeywordsWhere,) if model is None else (SupportsPayload,)
    if model is not None and model.kind == "encoders":
        payloads = (SupportsPayload, SupportsKeywordsWhere)
    if filtered and (both or not issubclass(plugin, payloads)):
        how = "search by words" if model is None else "fuse" if both else "search"
        raise StoreError(
            f"{store.name} cannot {how} within a filter, and {len(filtered)} queries have one "
            f"({', '.join(filtered[:3])}). Remove the store or the filters."
        )


def _column(name: str, documents: pa.Table, chunks: pa.Table) -> list[str]:
    """Return a field of every chunk as text; '' if its document lacks it."""
    if name in ("section", "symbol"):
        return [value or "" for value in chunks[name].to_pylist()]
    return [values[i] for values in [_of_documents(name, documents)] for i in chunks["doc"].to_pylist()]


def _of_documents(name: str, documents: pa.Table) -> list[str]:
    if name in OWN:
        values: list[str] = documents["id" if name == "document" else name].to_pylist()
        return values
    fields = [json.loads(text) for text in documents["fields"].to_pylist()]
    if not any(name in one for one in fields):
        names = [*OWN, *sorted({key for one in fields for key in one})]
        raise QueryFileError(
            f'a filter uses the field "{name}", which no document has.{did_you_mean(name, names)} '
            f"Known fields: {', '.join(names)}."
        )
    return [str(one.get(name, "")) for one in fields]


def _as_number(text: str, name: str) -> float | None:
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError as exc:
        raise QueryFileError(
            f'a filter has bounds for "{name}", but {text!r} is not a number. Filter it by its values instead.'
        ) from exc


def _as_date(text: str, name: str) -> float | None:
    if not text.strip():
        return None
    try:
        return date_seconds(text)
    except ValueError as exc:
        raise QueryFileError(
            f'a filter has dates for "{name}", but {text!r} is not a date such as 2026-05-01. Filter it by its '
            "values instead, or write the column's dates in ISO form."
        ) from exc


def _fill_missing(numbers: Sequence[float | None], integers: bool) -> tuple[Sequence[Value], float]:
    """Replace missing numbers by one below all others; returns the numbers and their minimum."""
    lowest = min((value for value in numbers if value is not None), default=0.0)
    absent = lowest - max(1.0, abs(lowest))
    filled = [absent if value is None else value for value in numbers]
    return ([int(value) for value in filled] if integers else filled), lowest
