"""PostgreSQL with pgvector in statements: a connection that keeps its settings, and the SQL of a collection."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import psycopg
from pgvector.psycopg import register_vector

from bakeoff.errors import StoreError
from bakeoff.plugins.stores._base import hits
from bakeoff.types import Batch, Hits, Metric, PayloadField

SIGNS = {Metric.COSINE: "<=>", Metric.DOT: "<#>", Metric.L2: "<->"}
OPERATORS = {Metric.COSINE: "vector_cosine_ops", Metric.DOT: "vector_ip_ops", Metric.L2: "vector_l2_ops"}
COLUMNS = {"text": "text", "integer": "bigint", "number": "double precision"}
COPIED = {"text": "text", "integer": "int8", "number": "float8"}
INDEXES = {"text": "hash", "integer": "btree", "number": "btree"}  # a B-tree takes no text over 2.7 kB
EXTENSION = """SELECT pg_advisory_lock(7407); CREATE EXTENSION IF NOT EXISTS vector; SELECT pg_advisory_unlock(7407);
SET client_min_messages = warning;
SET hnsw.iterative_scan = relaxed_order; SET ivfflat.iterative_scan = relaxed_order"""
INDEXED = """SELECT amname, indisvalid AND indisready FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
JOIN pg_am ON pg_am.oid = relam WHERE indrelid = %s::regclass"""
FUSE = """WITH near AS ({near}), words AS ({words}), ranked AS (
SELECT id, row_number() OVER (ORDER BY far, id) AS place FROM near UNION ALL
SELECT id, row_number() OVER (ORDER BY score DESC, id) FROM words)
SELECT id, sum(1.0 / (60 + place))::float8 AS score FROM ranked GROUP BY id ORDER BY score DESC, id LIMIT %s"""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that commits each statement, knows vectors, and is told a setting only when it changes."""

    tuned: dict[str, str]

    @classmethod
    def to(cls, dsn: str, **password: str) -> Self:
        """Connect; an address that cannot be read is not shown, it may hold a password."""
        try:
            psycopg.conninfo.conninfo_to_dict(dsn)
        except psycopg.ProgrammingError:
            raise StoreError(
                "pgvector: the DSN cannot be read. It looks like postgresql://user@host:5432/database."
            ) from None
        made = cls.connect(dsn, autocommit=True, connect_timeout=10, **password)  # type: ignore[arg-type]
        made.execute(EXTENSION)
        register_vector(made)
        made.tuned = {}
        return made

    def tune(self, **settings: object) -> None:
        """Set what is not set yet; two underscores stand for the dot of an extension's setting."""
        wanted = {name.replace("__", "."): str(value) for name, value in settings.items()}
        changed = {name: value for name, value in wanted.items() if self.tuned.get(name) != value}
        if changed:
            calls = ", ".join(["set_config(%s, %s, false)"] * len(changed))
            self.rows(f"SELECT {calls}", *(part for pair in changed.items() for part in pair))
            self.tuned |= changed

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """What a statement answers."""
        return self.execute(statement, values).fetchall()

    def count(self, table: str) -> int:
        """Rows of a table."""
        return int(self.rows(f'SELECT count(*) FROM "{table}"')[0][0])  # noqa: S608

    def width(self, table: str) -> int:
        """Dimensions of a table's vectors."""
        asked = "SELECT atttypmod FROM pg_attribute WHERE attname = 'vector' AND attrelid = %s::regclass"
        return int(self.rows(asked, f'"{table}"')[0][0])

    def expect_indexes(self, table: str, wanted: str | None) -> None:
        """Every index of a table is valid, and one of the wanted kind is among them, or a StoreError says which are."""
        found = dict(self.rows(INDEXED, f'"{table}"'))
        if not all(found.values()) or (wanted and wanted not in found):
            raise StoreError(f"pgvector has not finished its {wanted} index; the table's indexes: {found}.")

    def copy_in(self, table: str, batch: Batch, fields: dict[str, PayloadField]) -> None:
        """Add rows by COPY in binary form; of texts only the words matter, so their NUL characters become spaces."""
        names = [
            "id",
            *(["vector"] if batch.vectors is not None else []),
            *(["text"] if batch.texts else []),
            *fields,
        ]
        types = {"id": "int8", "vector": "vector", "text": "text"} | {
            c: COPIED[f.kind] for c, f in fields.items()
        }
        columns: list[Any] = [batch.ids.tolist()]
        columns += [batch.vectors] if batch.vectors is not None else []
        columns += [[text.replace("\0", " ") for text in batch.texts]] if batch.texts else []
        columns += [[row[field.name] for row in batch.payloads or ()] for field in fields.values()]
        into = f'COPY "{table}" ({", ".join(names)}) FROM STDIN (FORMAT BINARY)'
        with self.cursor() as cursor, cursor.copy(into) as copy:
            copy.set_types([types[name] for name in names])
            for row in zip(*columns, strict=True):
                copy.write_row(row)


def table(name: str, dims: int, language: str, fields: dict[str, PayloadField]) -> str:
    """Statements that make an empty table in the place of one that may be there."""
    columns = ["id bigint PRIMARY KEY", f"vector vector({max(dims, 1)})", "text text"]
    columns += [f"{column} {COLUMNS[field.kind]} NOT NULL" for column, field in fields.items()]
    columns += [f"words tsvector GENERATED ALWAYS AS (to_tsvector('{language}', text)) STORED"]
    return f'DROP TABLE IF EXISTS "{name}"; CREATE TABLE "{name}" ({", ".join(columns)})'


def nearest(table: str, metric: Metric, condition: str = "true") -> str:
    """The rows nearest to a vector; values: vector, the condition's, count."""
    far = f"vector {SIGNS[metric]} %s"
    return f'SELECT id, {far} AS far FROM "{table}" WHERE {condition} ORDER BY far LIMIT %s'  # noqa: S608


def matching(table: str, language: str) -> str:
    """The rows that have any of a text's words, ranked with the length of their text; values: text, count."""
    asked = f"replace(plainto_tsquery('{language}', %s)::text, ' & ', ' | ')::tsquery AS asked"
    ranked = "ts_rank(words, asked, 1)::float8 AS score"
    found = f'SELECT id, {ranked} FROM "{table}", (SELECT {asked}) AS one WHERE words @@ asked'  # noqa: S608
    return f"{found} ORDER BY score DESC, id LIMIT %s"


def ranked(found: list[tuple[Any, ...]]) -> Hits:
    """Rows of id and score as an answer."""
    return hits([row[0] for row in found], [row[1] for row in found])


def near(found: list[tuple[Any, ...]], metric: Metric) -> Hits:
    """Rows of id and distance as an answer; the engine's relaxed order may be off by a little, so they are sorted."""
    far = np.array([row[1] for row in found], np.float64)
    scores = {Metric.COSINE: 1 - far, Metric.DOT: -far, Metric.L2: -(far**2)}[metric]
    order = np.argsort(-scores, kind="stable")
    return hits(np.array([row[0] for row in found], np.int64)[order], scores[order])


def chosen(table: str, columns: tuple[str, ...]) -> str:
    """Some columns of some rows; value: ids."""
    return f'SELECT {", ".join(columns)} FROM "{table}" WHERE id = ANY(%s)'  # noqa: S608


def removed(table: str) -> str:
    """Some rows taken out; value: ids."""
    return f'DELETE FROM "{table}" WHERE id = ANY(%s)'  # noqa: S608
