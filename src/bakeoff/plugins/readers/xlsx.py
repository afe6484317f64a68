"""Spreadsheets with calamine (xlsx, xlsm, xlsb, xls, ods): each sheet under its name, one line per row."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from importlib.metadata import version as installed
from io import BytesIO
from typing import ClassVar

import python_calamine as calamine
from pydantic import BaseModel, ConfigDict, Field

from bakeoff.errors import UnreadableFileError
from bakeoff.plugins.kit.reading import heading, make_document, open_archive, report_damage, table_lines
from bakeoff.types import Document, Skipped, SourceFile

Cell = int | float | str | bool | datetime.time | datetime.date | datetime.datetime | datetime.timedelta


class XlsxReader:
    """Reads cell values as displayed, without formulas or hidden formatting."""

    version: ClassVar[str] = f"1 with python-calamine {installed('python-calamine')}"
    kinds: ClassVar[tuple[str, ...]] = ("xlsx",)

    class Params(BaseModel):
        """Parameters of the spreadsheet reader."""

        model_config = ConfigDict(extra="forbid", frozen=True)

        max_rows: int = Field(100_000, ge=1, description="most rows of a sheet; a longer one is skipped")

    def __init__(self, params: Params) -> None:
        self._params = params

    def read(self, file: SourceFile) -> Document | Skipped:
        """The rows of all sheets."""
        if not file.id.lower().endswith(".xls"):  # the old format is not an archive
            open_archive(file, "spreadsheet").close()
        try:
            with report_damage("spreadsheet", calamine.CalamineError):
                book = calamine.CalamineWorkbook.from_filelike(BytesIO(file.data))
                return make_document(file, self._blocks(book))
        except UnreadableFileError as exc:
            if isinstance(exc.__cause__, calamine.PasswordError):
                raise UnreadableFileError(
                    "password-protected spreadsheet: save it without a password"
                ) from exc
            raise

    def _blocks(self, book: calamine.CalamineWorkbook) -> Iterator[str]:
        for name in book.sheet_names:
            sheet = book.get_sheet_by_name(name)
            if sheet.total_height > self._params.max_rows:
                raise UnreadableFileError(
                    f"sheet {name!r} has {sheet.total_height:,} rows, max_rows is {self._params.max_rows:,}: "
                    "give it as a table"
                )
            rows = table_lines([_text(cell) for cell in row] for row in sheet.to_python())
            if rows:
                yield heading(2, name)
                yield "\n".join(rows)


def _text(cell: Cell) -> str:
    """A cell as displayed: whole numbers without a point, dates without midnight."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    return str(cell)
