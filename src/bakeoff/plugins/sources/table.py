"""The rows of a table: CSV, TSV, JSON, Parquet, Arrow, Excel, SQLite, or a dataset as Hugging Face saves it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from pydantic import Field, field_validator

from bakeoff.corpus.tables import TableFile, open_table, start_reader, table_version
from bakeoff.plugins.kit.server import without_secret
from bakeoff.plugins.sources._records import RecordParams, document_batches
from bakeoff.types import DocumentBatch


class TableParams(RecordParams):
    """Which table, and its columns."""

    table: Path | str = Field(
        description="a file, a pattern of files (shards/*.parquet), a dataset's folder, or a URL (s3://bucket/t.csv)"
    )
    part: str = Field(
        "", description="the sheet of a workbook, table of an SQLite file, or split of a dataset"
    )
    encoding: str = Field("utf-8", description="of a CSV file")

    @field_validator("table", mode="after")
    @classmethod
    def _path_or_url(cls, value: Path | str) -> Path | str:
        return without_secret(str(value)) or "" if "://" in str(value) else Path(value)


class TableSource:
    """Reads a table in batches."""

    version: ClassVar[str] = "1"
    Params = TableParams

    def __init__(self, params: TableParams) -> None:
        self._params = params
        start_reader(params.table)

    @cached_property
    def _table(self) -> TableFile:
        found = open_table(self._params.table, self._params.part, self._params.encoding)
        found.expect(self._params.columns)
        return found

    def content_version(self) -> str:
        """The fingerprint of the files' bytes."""
        return table_version(self._params.table)

    def count_rows(self) -> int | None:
        """Number of rows, if the format stores it."""
        return self._table.rows

    def batches(self) -> Iterator[DocumentBatch]:
        """Yield the rows as documents."""
        return document_batches(self._table.batches(self._params.columns), self._params, self._table.where)
