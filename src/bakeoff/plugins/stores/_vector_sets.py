"""Redis vector sets in commands: a client, attributes that filters can compare, answers as hits."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import numpy as np
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from bakeoff.errors import StoreError
from bakeoff.plugins.stores._base import hits
from bakeoff.plugins.stores._payload import Declared, Payload, payload_of, terms
from bakeoff.types import Hits, Where

ESCAPES = {code: f"%{code:02X}" for code in (*range(32), *map(ord, '"\\%'), 127)}
Value = str | int | float


def client(url: str, **password: str) -> redis.Redis:
    """A pool of connections for all threads; a URL that cannot be read is not shown, it may hold a password."""
    try:
        return redis.from_url(url, protocol=3, retry=Retry(NoBackoff(), 0), **password)
    except ValueError:
        raise StoreError("Redis: the URL cannot be read. It looks like redis://host:6379/0.") from None


def together(client: redis.Redis, commands: list[list[Any]]) -> list[Any]:
    """The answers to many commands sent at once."""
    pipe = client.pipeline(transaction=False)
    for command in commands:
        pipe.execute_command(*command)
    return list(pipe.execute())


def written(value: Value) -> Value:
    """A value as an attribute: filters compare the text of JSON, so no character of it may be written as an escape."""
    return value.translate(ESCAPES) if isinstance(value, str) else value


def attributes(store: Declared, payload: Payload) -> str:
    """A payload as the attributes of an element."""
    values = {column: written(payload[field.name]) for column, field in store.columns().items()}
    return json.dumps(values, ensure_ascii=False)


def payload(store: Declared, attributes: bytes) -> Payload:
    """The payload that an element's attributes hold."""
    values = json.loads(attributes).values()
    plain = tuple(unquote(value) if isinstance(value, str) else value for value in values)
    return payload_of(store.fields, plain)


def condition(store: Declared, where: Where) -> str:
    """A filter in the engine's language."""
    names, parts = store.column_of(), []
    for term in terms(store.fields, where):
        values = [json.dumps(written(value), ensure_ascii=False) for value in term.values]
        right = f"in [{', '.join(values)}]" if term.sign == "in" else f"{term.sign} {values[0]}"
        parts.append(f".{names[term.field]} {right}")
    return " and ".join(parts) or "1"


def answer(found: Any) -> Hits:
    """Elements with (1 + cosine) / 2 as hits with cosines; a set that is not there answers with an empty list."""
    found = found or {}
    return hits(
        [int(element) for element in found], 2 * np.fromiter(found.values(), np.float64, len(found)) - 1
    )
