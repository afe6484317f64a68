"""payload: the fields that filters use → a payload for each chunk, and filters on it."""

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
"""Fields every chunk has; the others are those of its document."""

Value = str | int | float
NOTHING = (1.0, 0.0)
"""Bounds that no number is within."""


@dataclass(frozen=True, slots=True)
class ChunkPayload:
    """One column a field; a number that a document lacks is one below every other, which no filter reaches."""

    fields: tuple[PayloadField, ...]
    columns: Mapping[str, Sequence[Value]]
    lowest: Mapping[str, float]

    def rows(self, begin: int, end: int) -> list[dict[str, Value]]:
        """The payloads of some chunks."""
        names = [field.name for field in self.fields]
        parts = zip(*(self.columns[name][begin:end] for name in names), strict=True)
        return [dict(zip(names, values, strict=True)) for values in parts]

    def where(self, given: Where) -> Where:
        """A filter with values of the fields' kinds, which never holds for a number that is not there."""
        kinds = {field.name: field.kind for field in self.fields}
        return tuple(
            Condition(one.field, tuple(map(str, one.among)))
            if kinds[one.field] == "text"
            else self._number(one)
            for one in given
        )

    def matching_chunks(self, where: Where) -> np.ndarray:
        """Which chunks satisfy a filter."""
        import numpy as np

        kept = np.ones(max((len(column) for column in self.columns.values()), default=0), bool)
        for one in where:
            column = np.asarray(self.columns[one.field])
            kept &= np.isin(column, one.among) if one.among else np.ones(len(column), bool)
            kept &= column >= one.least if one.least is not None else True
            kept &= column <= one.most if one.most is not None else True
        return kept

    def _number(self, one: Condition) -> Condition:
        lowest = self.lowest[one.field]
        among = tuple(value for value in map(float, one.among) if value >= lowest)
        if one.among and not among:
            return Condition(one.field, (), *NOTHING)
        least = lowest if one.least is None else max(one.least, lowest)
        return Condition(one.field, among, least, one.most)


def build_payload(filters: Iterable[Where], documents: pa.Table, chunks: pa.Table) -> ChunkPayload:
    """The fields that filters ask about, for every chunk; a field is a number where a filter has bounds for it."""
    asked = [one for where in filters for one in where]
    ranged = {one.field for one in asked if one.least is not None or one.most is not None}
    dated = {one.field for one in asked if isinstance(one, DateCondition)}
    fields, lowest = [], {}
    columns: dict[str, Sequence[Value]] = {}
    for name in dict.fromkeys(one.field for one in asked):
        column = _column(name, documents, chunks)
        if name in ranged:
            parse = _as_date if name in dated else _as_number
            numbers = [parse(value, name) for value in column]
            whole = all(value is None or float(value).is_integer() for value in numbers)
            fields.append(PayloadField(name, "integer" if whole else "number"))
            columns[name], lowest[name] = _fill_missing(numbers, whole)
        else:
            fields.append(PayloadField(name, "text"))
            columns[name] = column
    return ChunkPayload(tuple(fields), columns, lowest)


def require_filters(
    store: PluginSpec, model: PluginSpec | None, filtered: Sequence[str], *, both: bool
) -> None:
    """Refuse a store that cannot filter; a filtered query is never searched without its filter.

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
            f"({', '.join(filtered[:3])}). Leave it out, or the filters."
        )


def _column(name: str, documents: pa.Table, chunks: pa.Table) -> list[str]:
    """A field of every chunk as text; '' where its document has none."""
    if name in ("section", "symbol"):
        return [value or "" for value in chunks[name].to_pylist()]
    return [values[i] for values in [_of_documents(name, documents)] for i in chunks["doc"].to_pylist()]


def _of_documents(name: str, documents: pa.Table) -> list[str]:
    if name in OWN:
        found: list[str] = documents["id" if name == "document" else name].to_pylist()
        return found
    fields = [json.loads(text) for text in documents["fields"].to_pylist()]
    if not any(name in one for one in fields):
        known = [*OWN, *sorted({key for one in fields for key in one})]
        raise QueryFileError(
            f'a filter asks for "{name}", which no document has.{did_you_mean(name, known)} '
            f"Known fields: {', '.join(known)}."
        )
    return [str(one.get(name, "")) for one in fields]


def _as_number(text: str, name: str) -> float | None:
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError as exc:
        raise QueryFileError(
            f'a filter has bounds for "{name}", and {text!r} is not a number. Filter it by its values instead.'
        ) from exc


def _as_date(text: str, name: str) -> float | None:
    if not text.strip():
        return None
    try:
        return date_seconds(text)
    except ValueError as exc:
        raise QueryFileError(
            f'a filter has dates for "{name}", and {text!r} is not a date such as 2026-05-01. Filter it by its '
            "values instead, or write the column's dates in ISO form."
        ) from exc


def _fill_missing(numbers: Sequence[float | None], whole: bool) -> tuple[Sequence[Value], float]:
    """The numbers, with one below them all where there is none, and the lowest of them."""
    lowest = min((value for value in numbers if value is not None), default=0.0)
    absent = lowest - max(1.0, abs(lowest))
    filled = [absent if value is None else value for value in numbers]
    return ([int(value) for value in filled] if whole else filled), lowest
