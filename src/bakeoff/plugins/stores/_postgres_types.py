"""How vectors go to PostgreSQL and come back: one pair of writers for a type, however many connections there are."""

from __future__ import annotations

from functools import cache
from typing import Any

from pgvector.psycopg.vector import VectorBinaryDumper, VectorBinaryLoader, VectorDumper, VectorLoader
from psycopg import Connection
from psycopg.adapt import Dumper
from psycopg.types import TypeInfo

from bakeoff.errors import StoreError


def know_vectors(connection: Connection[Any]) -> None:
    """Let a connection take NumPy rows as vectors.

    The client keeps every class it was ever given, and `pgvector.psycopg.register_vector` makes eight new ones for each
    connection: a process that connects again and again would grow.
    """
    info = TypeInfo.fetch(connection, "vector")
    if info is None:
        raise StoreError(
            "pgvector: the database has no type vector. Look whether its extension is installed."
        )
    info.register(connection)
    for writer in _writers(info.oid):
        connection.adapters.register_dumper("numpy.ndarray", writer)
    for reader in (VectorLoader, VectorBinaryLoader):
        connection.adapters.register_loader(info.oid, reader)


@cache
def _writers(oid: int) -> tuple[type[Dumper], ...]:
    """Writers of the type with this number; each database numbers it anew."""
    return tuple(type(base.__name__, (base,), {"oid": oid}) for base in (VectorDumper, VectorBinaryDumper))
