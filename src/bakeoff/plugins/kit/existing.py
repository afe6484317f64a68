"""Helpers for searching an existing collection: errors, and ids from a payload field."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from bakeoff.corpus.dates import date_seconds
from bakeoff.errors import StoreError
from bakeoff.types import Json, Metric, NamedHits, NamedVectors, PayloadField

SHOWN = 10
SAMPLED = 100
"""Number of rows to sample for the fields of an engine without a schema."""
READ_ROWS = 1000
"""Rows per request that reads vectors."""
Kind = Literal["text", "integer", "number", "date", "boolean"]


def no_such_collection(engine: str, name: str, known: Iterable[str]) -> StoreError:
    """The error for a missing collection, listing those that exist."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    guess = f' Did you mean "{near[0]}"?' if near else ""
    there = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    return StoreError(f'{engine} has no collection "{name}".{guess} Collections: {there or "none"}.')


def no_such_field(engine: str, name: str, known: Iterable[str], what: str) -> StoreError:
    """The error for a missing field, listing those that exist."""
    return StoreError(f'{engine}: no {what} "{name}". Known: {", ".join(sorted(known)[:SHOWN]) or "none"}.')


def the_vector_field(engine: str, asked: str, known: Sequence[str]) -> str:
    """The requested vector field, or the only one there is."""
    if asked in known or (not asked and len(known) == 1):
        return asked or known[0]
    if asked or not known:
        raise no_such_field(engine, asked or "vector", known, "field of vectors")
    raise StoreError(f"{engine}: several fields hold vectors. Give one with `vector`: {', '.join(known)}.")


def payload_id(engine: str, payload: Mapping[str, object] | None, field: str) -> str:
    """Id from a payload's field, which may be nested ("metadata.id"); a row without it is an error."""
    held = payload or {}
    value = held.get(field, _inner(held, field))
    if value is None:
        raise no_such_field(
            engine, field, (one.name for one in sampled_fields([held])), "payload field of ids"
        )
    return str(value)


def _inner(payload: object, path: str) -> object:
    """Value at a dotted path; None if missing."""
    for name in path.split("."):
        payload = payload.get(name) if isinstance(payload, Mapping) else None
    return payload


def sampled_fields(payloads: Iterable[Mapping[str, Json]], *, dates: bool = False) -> list[PayloadField]:
    """Fields of some payloads, nested ones by path; with `dates`, texts that are dates count as dates."""
    found: dict[str, set[Kind]] = {}
    for payload in payloads:
        for name, value in _leaves(payload):
            found.setdefault(name, set()).add(_kind(value, dates=dates))
    return [PayloadField(name, _common(kinds)) for name, kinds in found.items()]


def _leaves(payload: Mapping[str, Json], before: str = "") -> Iterator[tuple[str, Json]]:
    for name, value in payload.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{before}{name}.")
        elif isinstance(value, list):
            yield from ((before + name, one) for one in value[:1] if not isinstance(one, Mapping | list))
        elif value is not None:
            yield before + name, value


def _kind(value: Json, *, dates: bool) -> Kind:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "integer" if isinstance(value, int) else "number"
    return "date" if dates and _is_date(str(value)) else "text"


def _is_date(value: str) -> bool:
    try:
        date_seconds(value)
    except ValueError:
        return False
    return "-" in value


def _common(kinds: set[Kind]) -> Kind:
    """Common kind of a field's values: a number if all are numbers, text if they are mixed."""
    return kinds.pop() if len(kinds) == 1 else "number" if kinds == {"integer", "number"} else "text"


def named_vectors(ids: Iterable[object], vectors: Iterable[object], after: object = None) -> NamedVectors:
    """Ids as texts, and the vectors of the rows that have one."""
    pairs = [(str(name), row) for name, row in zip(ids, vectors, strict=True) if row is not None]
    matrix = np.asarray([row for _, row in pairs], np.float32) if pairs else np.empty((0, 0), np.float32)
    return NamedVectors(tuple(name for name, _ in pairs), matrix, after)


def named_hits(ids: Iterable[object], scores: Iterable[float]) -> NamedHits:
    """Ids as texts with their scores."""
    return NamedHits(tuple(map(str, ids)), tuple(map(float, scores)))


def metric_of(engine: str, names: Mapping[Metric, object], held: object) -> Metric | None:
    """The metric for an engine's name of it; None without a name, an error if we don't support it."""
    if not held:
        return None
    for metric, name in names.items():
        if str(name).lower() == str(held).lower():
            return metric
    raise StoreError(f"{engine}: the collection uses the metric {held}; supported are cosine, dot and l2.")
