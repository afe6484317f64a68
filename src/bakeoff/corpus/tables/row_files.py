"""Tables read row by row: JSON, JSON lines, Excel and SQLite, whose columns may mix types; every cell becomes
text."""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from bakeoff.corpus.tables.arrow_files import Opened, Read
from bakeoff.corpus.tables.cells import python_column
from bakeoff.corpus.tables.places import TablePlace
from bakeoff.errors import DataError, MissingExtraError

BATCH_ROWS = 8_192
LINE_BYTES = 32_000_000
"""Longer lines are not parsed: parsed JSON takes many times its text in memory."""
JSON_BYTES = 500_000_000
"""Larger JSON files are not read, because they are parsed as a whole."""
CELL_BYTES = 200_000_000
"""A larger SQLite cell is an error: a view can compute one from nothing."""
BATCH_CHARACTERS = 100_000_000
UNPACKED_BYTES = 1_000_000_000
"""Most bytes of an unpacked workbook."""
_SEEN_LINES = 1000

Record = dict[str, object]


def open_json_lines(file: TablePlace) -> Opened:
    """One JSON object per line; the columns are the keys of the first thousand."""
    columns = _keys(islice(_json_lines(file), _SEEN_LINES))
    return columns, None, _reader(file, lambda: _json_lines(file))


def open_json(file: TablePlace) -> Opened:
    """A JSON list of objects, or an object whose only list holds them."""
    with file.stream() as stream:
        data = stream.read(JSON_BYTES + 1)
    if len(data) > JSON_BYTES:
        raise DataError(
            f"{file.place} is larger than {JSON_BYTES / 1e6:g} MB. Save it as JSON lines or Parquet."
        )
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as exc:
        raise DataError(f"{file.place} is not JSON in UTF-8: {exc}") from exc
    lists = (
        [value for value in found.values() if isinstance(value, list)] if isinstance(found, dict) else [found]
    )
    rows = lists[0] if len(lists) == 1 else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{file.place} is not a list of objects: write [{{…}}, {{…}}], or JSON lines.")
    return _keys(rows), len(rows), _reader(file, lambda: iter(rows))


def open_excel(file: TablePlace) -> Opened:
    """Open a sheet of a workbook, by default the first; its first non-empty row has the names."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as exc:
        raise MissingExtraError("Excel files need python-calamine: pip install 'bakeoff[excel]'.") from exc
    with file.stream() as stream:
        data = stream.read()
    _check_unpacked(file, data)
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheet = _chosen(file, book.sheet_names, "sheet")
        rows = [row for row in book.get_sheet_by_name(sheet).to_python() if any(cell != "" for cell in row)]
    except CalamineError as exc:
        raise DataError(f"{file.place} is not a workbook that can be read: {exc}") from exc
    if not rows:
        raise DataError(f"{file.place}: sheet {sheet} is empty.")
    columns = [str(cell) for cell in rows[0] if cell != ""]
    records = [
        dict(zip(columns, (None if cell == "" else cell for cell in row), strict=False)) for row in rows[1:]
    ]
    return columns, len(records), _reader(file, lambda: iter(records))


def _check_unpacked(file: TablePlace, data: bytes) -> None:
    """Raise for a packed workbook that would fill the memory."""
    if not zipfile.is_zipfile(io.BytesIO(data)):
        return
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            size = sum(one.file_size for one in packed.infolist())
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError) as exc:
        raise DataError(f"{file.place} is not a workbook that can be read: {exc}.") from exc
    if size > UNPACKED_BYTES:
        raise DataError(
            f"{file.place} holds {size / 1e6:,.0f} MB unpacked; at most {UNPACKED_BYTES / 1e6:,.0f} MB are read. "
            "Save it as CSV or Parquet."
        )


def open_sqlite(file: TablePlace) -> Opened:
    """Open a table of an SQLite file, read-only."""
    path = file.local.resolve()
    try:
        opened = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False)
        opened.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, CELL_BYTES)
        opened.execute("PRAGMA trusted_schema = OFF")
        kinds = dict(opened.execute(
            "SELECT name, type FROM sqlite_master "
            "WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name"
        ).fetchall())  # fmt: skip
        name = _chosen(file, list(kinds), "table", only=True)
        table = _quote(name)
        columns = [row[1] for row in opened.execute(f"PRAGMA table_info({table})")]
        count = None
        if kinds[name] == "table":  # the rows of a view may have no end
            (count,) = opened.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - quoted above
    except sqlite3.Error as exc:
        raise DataError(f"{file.place} is not an SQLite file that can be read: {exc}") from exc

    def read(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        try:
            cursor = opened.execute(f"SELECT {', '.join(map(_quote, wanted))} FROM {table}")  # noqa: S608 - quoted
            rows = (dict(zip(wanted, row, strict=True)) for row in cursor)
            yield from _batches(rows, wanted, str(file.place))
        except sqlite3.Error as exc:
            raise DataError(f"{file.place} is a damaged SQLite file: {exc}") from exc

    return columns, count, read


def _chosen(file: TablePlace, names: Sequence[str], what: str, *, only: bool = False) -> str:
    """The requested part, else the first, or the only one."""
    if file.part in names:
        return file.part
    if file.part or not names or (only and len(names) > 1):
        asked = f'no {what} "{file.part}"' if file.part else f"{len(names)} {what}s"
        raise DataError(
            f"{file.place} has {asked}. Give one with `part`: {', '.join(names) or 'none is there'}."
        )
    return names[0]


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _json_lines(file: TablePlace) -> Iterator[Record]:
    with io.BufferedReader(file.stream()) as stream:
        number = 0
        while line := stream.readline(LINE_BYTES + 1):
            number += 1
            if len(line) > LINE_BYTES:
                raise DataError(
                    f"{file.place}, line {number} is longer than {LINE_BYTES / 1e6:g} MB. Split it."
                )
            if line.strip():
                yield _json_record(line, f"{file.place}, line {number}", first=number == 1)


def _json_record(line: bytes, where: str, *, first: bool) -> Record:
    try:
        row = json.loads(line.decode("utf-8-sig" if first else "utf-8"))
    except (ValueError, RecursionError) as exc:
        raise DataError(f"{where} is not JSON in UTF-8: {exc}") from exc
    if not isinstance(row, dict):
        raise DataError(f"{where} is a {type(row).__name__}, not an object.")
    return row


def _keys(rows: Iterable[Record]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row))


def _reader(file: TablePlace, rows: Any) -> Read:
    return lambda columns: _batches(rows(), columns, str(file.place))


def _batches(rows: Iterator[Record], columns: Sequence[str], where: str) -> Iterator[pa.RecordBatch]:
    begin = 0
    while some := list(_first_rows(rows)):
        at = f"{where}, rows {begin + 1:,} to {begin + len(some):,}"
        arrays = [python_column([row.get(name) for row in some], name, at) for name in columns]
        yield pa.record_batch(arrays, names=list(columns))
        begin += len(some)


def _first_rows(rows: Iterator[Record]) -> Iterator[Record]:
    """The next rows: fewer if their texts are long, so that a batch stays small."""
    characters = 0
    for row in islice(rows, BATCH_ROWS):
        yield row
        characters += sum(len(cell) for cell in row.values() if isinstance(cell, str))
        if characters > BATCH_CHARACTERS:
            return
