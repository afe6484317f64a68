"""The rows of a query to any database SQLAlchemy supports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar

import pyarrow as pa
import sqlalchemy as sa
from pydantic import AfterValidator, Field
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from bakeoff.corpus.tables.cells import python_column
from bakeoff.corpus.tables.open_table import TableFile
from bakeoff.errors import DataError
from bakeoff.plugins.kit.server import without_secret
from bakeoff.plugins.sources._records import RecordParams, document_batches
from bakeoff.storage.consent import Destination, secret_for
from bakeoff.storage.environment import SettingSource
from bakeoff.types import DocumentBatch

PASSWORD = "BAKEOFF_SQL_PASSWORD"  # noqa: S105 - the name of a variable
BATCH_ROWS = 8_192
READ_ONLY = {
    "sqlite": "PRAGMA query_only = ON",
    "postgresql": "SET TRANSACTION READ ONLY",
    "mysql": "SET SESSION TRANSACTION READ ONLY",
    "mariadb": "SET SESSION TRANSACTION READ ONLY",
    "oracle": "SET TRANSACTION READ ONLY",
}
"""Statement that makes a connection read-only, by database."""
DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
"""Default driver of a database."""


def _one_select(query: str) -> str:
    """Raise for more than one statement: rolling back a transaction does not undo a COMMIT inside it."""
    text = query.strip().rstrip(";").strip()
    if ";" in text or not re.match(r"(select|with|values|table)\b", text.lstrip("( \n"), re.IGNORECASE):
        raise ValueError("it must be one SELECT, without a semicolon")
    return text


class SqlParams(RecordParams):
    """Which database, the query, and the columns of its answer."""

    url: Annotated[str, AfterValidator(without_secret)] = Field(
        description=f"postgresql://user@host:5432/database; its password is {PASSWORD} in the environment"
    )
    query: Annotated[str, AfterValidator(_one_select)] = Field(
        description="one SELECT; ORDER BY the id, so that documents keep their order"
    )


class SqlSource:
    """Reads a query's answer in batches, inside a read-only transaction that is rolled back."""

    version: ClassVar[str] = "1"
    Params = SqlParams

    def __init__(self, params: SqlParams) -> None:
        self._params = params

    def content_version(self) -> str:
        """'': the rows of a query are unknown until they are read."""
        return ""

    def count_rows(self) -> int | None:
        """None: unknown before it is read."""
        return None

    def batches(self) -> Iterator[DocumentBatch]:
        """Yield the rows as documents."""
        engine = _engine(self._params.url)
        where = engine.url.render_as_string(hide_password=True)
        try:
            with engine.connect() as connection:
                if engine.dialect.name in READ_ONLY:
                    connection.execute(sa.text(READ_ONLY[engine.dialect.name]))
                answer = connection.execution_options(yield_per=BATCH_ROWS).execute(
                    sa.text(self._params.query)
                )
                columns = tuple(answer.keys())
                TableFile(where, columns, None, lambda _: iter(())).expect(self._params.columns)
                wanted = {name: columns.index(name) for name in self._params.columns}
                yield from document_batches(_batches(answer, wanted, where), self._params, where)
                connection.rollback()
        except SQLAlchemyError as exc:
            raise DataError(f"{where}: {_cause(exc)}") from exc
        finally:
            engine.dispose()


def _engine(address: str) -> sa.Engine:
    try:
        url = make_url(address)
        url = url.set(drivername=DRIVERS.get(url.drivername, url.drivername))
        secret = secret_for(PASSWORD, Destination(address, SettingSource.EXPERIMENT)) if url.host else None
        return sa.create_engine(url.set(password=secret) if secret else url)
    except ArgumentError:
        raise DataError(
            "corpus.url cannot be read. It looks like postgresql://user@host:5432/database."
        ) from None
    except (ImportError, SQLAlchemyError) as exc:
        raise DataError(
            f"no driver for {_without_password(url)}: {exc}. Install one that SQLAlchemy knows."
        ) from exc


def _without_password(url: URL) -> str:
    return url.render_as_string(hide_password=True)


def _cause(exc: SQLAlchemyError) -> str:
    """The database's own message, without the query and the library's links."""
    text = " ".join(str(getattr(exc, "orig", None) or exc).split())[:300]
    if "password" in text.lower():
        return f"{text}. Give the password as {PASSWORD}, in the environment or .env."
    return text


def _batches(answer: sa.CursorResult, wanted: dict[str, int], where: str) -> Iterator[pa.RecordBatch]:
    """The requested columns; other columns of a row may have any type."""
    begin = 1
    for rows in answer.partitions(BATCH_ROWS):
        at = f"{where}, from row {begin:,}"
        arrays = [python_column([row[n] for row in rows], name, at) for name, n in wanted.items()]
        yield pa.record_batch(arrays, names=list(wanted))
        begin += len(rows)
