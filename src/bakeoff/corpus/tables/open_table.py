"""Opens a file as a table: its columns, and batches of some of them.

A file's suffix decides how it is read; a folder is a dataset saved by Hugging Face. The files of a pattern
(`shards/*.parquet`) form one table.
"""

from __future__ import annotations

import csv
import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from bakeoff.corpus import fork_server
from bakeoff.corpus.table_process import TableProcess
from bakeoff.corpus.tables import arrow_files, row_files
from bakeoff.corpus.tables.arrow_files import Opened, Read
from bakeoff.corpus.tables.cells import as_text
from bakeoff.corpus.tables.places import COMPRESSED, TablePlace, list_places, reading
from bakeoff.errors import DataError

FORMATS: dict[str, Callable[[TablePlace], Opened]] = {
    ".csv": arrow_files.open_csv,
    ".tsv": arrow_files.open_csv,
    ".tab": arrow_files.open_csv,
    ".parquet": arrow_files.open_parquet,
    ".arrow": arrow_files.open_arrow,
    ".feather": arrow_files.open_arrow,
    ".jsonl": row_files.open_json_lines,
    ".ndjson": row_files.open_json_lines,
    ".json": row_files.open_json,
    ".xlsx": row_files.open_excel,
    ".xlsm": row_files.open_excel,
    ".xls": row_files.open_excel,
    ".ods": row_files.open_excel,
    ".db": row_files.open_sqlite,
    ".sqlite": row_files.open_sqlite,
    ".sqlite3": row_files.open_sqlite,
}
"""Reader of a file by its suffix."""
STREAMED = {".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".json"}
"""Text formats no larger than their file, unless compressed; all others are read in a process with limits."""


@dataclass(frozen=True, slots=True)
class TableFile:
    """One table: its location, its columns in order, its number of rows (None: only reading shows it)."""

    where: str
    columns: tuple[str, ...]
    rows: int | None
    _read: Read

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield some columns of all rows, in order; a damaged file is an error that names it."""
        self.expect(columns)
        with reading(self.where):
            yield from self._read(list(dict.fromkeys(columns)))

    def write_csv(self, path: Path) -> None:
        """All columns as texts in a CSV file."""
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            for batch in self.batches(self.columns):
                texts = [as_text(batch.column(name), name).to_pylist() for name in self.columns]
                writer.writerows(zip(*texts, strict=True))

    def expect(self, columns: Sequence[str]) -> None:
        """Raise DataError for a missing column, suggesting similar names."""
        for name in columns:
            if name not in self.columns:
                known = {one.lower(): one for one in reversed(self.columns)}
                near = [known[one] for one in difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)]
                guess = f" Did you mean {' or '.join(near)}?" if near else ""
                raise DataError(
                    f'{self.where} has no column "{name}".{guess} Columns: {", ".join(self.columns)}.'
                )


def table_suffix(place: Path | str) -> str:
    """Suffix of a table's name without compression: `.csv` of `tickets.csv.gz`; '' if it is not a table's."""
    name = str(place).rstrip("/").rsplit("/", 1)[-1].lower()
    for packed in COMPRESSED:
        name = name.removesuffix(packed)
    suffix = Path(name).suffix
    return suffix if suffix in FORMATS else ""


def open_table(place: Path | str, part: str = "", encoding: str = "utf-8") -> TableFile:
    """Open the table in a file, a pattern of files, a dataset folder, or behind a URL.

    `part` is the sheet of a workbook, the table of an SQLite file, or the split of a dataset.
    """
    places = list_places(place)
    tables = [_open_one(TablePlace(one, part, encoding), several=len(places) > 1) for one in places]
    first = tables[0]
    for other in tables[1:]:
        if set(other.columns) != set(first.columns):
            raise DataError(
                f"{other.where} has other columns than {first.where}: {', '.join(other.columns)}."
            )
    if len(tables) == 1:
        return first
    counts = [table.rows for table in tables if table.rows is not None]
    return TableFile(
        str(place),
        first.columns,
        sum(counts) if len(counts) == len(tables) else None,
        lambda columns: (batch for table in tables for batch in table.batches(columns)),
    )


def start_reader(place: Path | str) -> None:
    """Start what reading a table needs while the caller does something else."""
    if fork_server.AVAILABLE and not _is_plain(TablePlace(place)):
        fork_server.start_server()


def _is_plain(file: TablePlace) -> bool:
    return table_suffix(file.place) in STREAMED and not file.compressed


def _open_one(file: TablePlace, *, several: bool) -> TableFile:
    where = str(file.place)
    if isinstance(file.place, Path) and not (file.place.is_file() or file.place.is_dir()):
        raise DataError(f"{where} is neither a file nor a folder. Give the file of a table.")
    with reading(where):
        columns, rows, read = open_here(file) if _is_plain(file) else _open_in_process(file, several=several)
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise DataError(f'{where} has two columns named "{twice[0]}". Rename one.')
    return TableFile(where, tuple(columns), rows, read)


def _open_in_process(file: TablePlace, *, several: bool) -> Opened:
    process = TableProcess(file)
    opened = process.open()
    if several:  # the files of a pattern are read one after another
        process.end()
    return opened


def open_here(file: TablePlace) -> Opened:
    """Open the table in this process."""
    if isinstance(file.place, Path) and file.place.is_dir():
        return arrow_files.open_dataset(file)
    suffix = table_suffix(file.place)
    if not suffix:
        raise DataError(f"{file.place} is not a table by its name. Known endings: {', '.join(FORMATS)}.")
    return FORMATS[suffix](file)
