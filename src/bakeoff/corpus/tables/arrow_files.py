"""Tables that Arrow reads: CSV and TSV, Parquet, Arrow and Feather files, datasets saved by Hugging Face."""

from __future__ import annotations

import collections
import csv
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from bakeoff.corpus.tables.places import TablePlace
from bakeoff.errors import DataError
from bakeoff.types import Json

BATCH_ROWS, BATCH_BYTES = 65_536, 128_000_000
CSV_BLOCK_BYTES = 32_000_000
"""One row must fit into one block."""
CODE_BYTES = 2
"""Most stored bytes per row, dictionary included, of a column that is read as codes."""
_SNIFFED_BYTES = 65_536
_DATASET_FOLDER = "A dataset that Hugging Face's save_to_disk wrote has state.json and data-*.arrow files."
_UNCODED = 2**62

Read = Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
Opened = tuple[list[str], int | None, Read]
"""The columns, the number of rows if the file stores it, and a reader of batches of some columns."""


def open_csv(file: TablePlace) -> Opened:
    """Open a CSV or TSV file with a header; every cell is text, so 007 stays 007, and an empty one is missing."""
    with file.stream() as stream:
        start = stream.read(_SNIFFED_BYTES).decode(file.encoding, "replace").removeprefix("\ufeff")
    first = start.lstrip("\r\n").splitlines()[:1]
    if not first:
        raise DataError(f"{file.place} is empty: a table needs a header and rows.")
    if "\ufffd" in first[0]:
        raise DataError(f"{file.place}: its header is not {file.encoding} text. Give its `encoding`.")
    mark = max("\t;,|", key=first[0].count)
    columns = next(csv.reader(start.lstrip("\r\n").splitlines(keepends=True), delimiter=mark))
    return columns, None, lambda wanted: _csv_batches(file, mark, wanted)


def _csv_batches(file: TablePlace, mark: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    reader = arrow_csv.open_csv(
        file.stream(),
        read_options=arrow_csv.ReadOptions(block_size=CSV_BLOCK_BYTES, encoding=file.encoding),
        parse_options=arrow_csv.ParseOptions(delimiter=mark, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=list(columns),
            column_types=dict.fromkeys(columns, pa.string()),
            strings_can_be_null=True,
            null_values=[""],
        ),
    )
    with ThreadPoolExecutor(1) as thread:  # parses the next block while this one is used
        ahead = thread.submit(next, reader, None)
        while (batch := ahead.result()) is not None:
            ahead = thread.submit(next, reader, None)
            yield batch


def open_parquet(file: TablePlace) -> Opened:
    """Open a Parquet file; columns of few distinct texts have dictionary codes, which take less time to decode."""
    stored = pq.read_metadata(file.mapped())
    groups = [stored.row_group(i) for i in range(stored.num_row_groups)]
    size = sum(group.total_byte_size for group in groups)
    rows = max(1, min(BATCH_ROWS, BATCH_BYTES * max(stored.num_rows, 1) // max(size, 1)))
    found = pq.ParquetFile(
        file.mapped(), metadata=stored, read_dictionary=_repetitive(groups), pre_buffer=file.remote
    )

    def read(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        yield from found.iter_batches(rows, columns=list(columns))

    return list(found.schema_arrow.names), stored.num_rows, read


def _repetitive(groups: Sequence[pq.RowGroupMetaData]) -> list[str]:
    """Columns of texts stored as dictionary codes of a few bits per row."""
    sizes = collections.Counter[str]()
    for group in groups:
        for i in range(group.num_columns):
            column = group.column(i)
            coded = column.physical_type == "BYTE_ARRAY" and "RLE_DICTIONARY" in column.encodings
            sizes[column.path_in_schema] += column.total_uncompressed_size if coded else _UNCODED
    most = CODE_BYTES * sum(group.num_rows for group in groups)
    return [name for name, size in sizes.items() if size <= most]


def open_arrow(file: TablePlace) -> Opened:
    """An Arrow or Feather file, or an Arrow stream."""
    source = file.random_access()
    try:
        opened = pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        return _open_stream([file.random_access])
    rows = None

    def read(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for i in range(opened.num_record_batches):
            yield from _slices(opened.get_batch(i).select(list(columns)))

    return list(opened.schema.names), rows, read


def open_dataset(file: TablePlace) -> Opened:
    """Open a dataset folder written by Hugging Face's `save_to_disk`, or of several, one per split."""
    folder = file.local
    if (splits := folder / "dataset_dict.json").is_file():
        names = _names(splits, lambda found: found["splits"])
        if file.part not in names:
            asked = f'has no split "{file.part}"' if file.part else "has several splits"
            raise DataError(f"{folder} {asked}. Give one with `part`: {', '.join(names)}.")
        folder = folder / file.part
    if not (state := folder / "state.json").is_file():
        raise DataError(f"{folder} has no state.json. {_DATASET_FOLDER} Or give the file of a table.")
    names = _names(state, lambda found: [one["filename"] for one in found["_data_files"]])
    if missing := [name for name in names if not (folder / name).is_file()]:
        raise DataError(
            f"{folder} lacks {len(missing)} of the {len(names)} Arrow files that its state.json lists, first "
            f"{missing[0]}. {_DATASET_FOLDER} Copy the whole folder, or save the dataset again."
        )
    return _open_stream([_opener(folder / name) for name in names])


def _names(path: Path, pick: Callable[[Json], Json]) -> list[str]:
    """File names in a dataset's metadata; no other file is opened."""
    try:
        names = pick(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, LookupError, TypeError, RecursionError) as exc:
        raise DataError(f"{path} is damaged ({type(exc).__name__}: {exc}). Save the dataset again.") from exc
    if not isinstance(names, list) or not names or not all(map(_is_plain, names)):
        raise DataError(f"{path} does not list files of its own folder. Save the dataset again.")
    return names


def _is_plain(name: Json) -> bool:
    return isinstance(name, str) and name not in ("", "..") and Path(name).name == name


def _opener(path: Path) -> Callable[[], pa.NativeFile]:
    return lambda: pa.OSFile(str(path))


def _open_stream(openers: Sequence[Callable[[], pa.NativeFile]]) -> Opened:
    columns = list(pa.ipc.open_stream(openers[0]()).schema.names)

    def read(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for opener in openers:
            for batch in pa.ipc.open_stream(opener()):
                yield from _slices(batch.select(list(wanted)))

    return columns, None, read


def _slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Split a batch into pieces of bounded size: a file may hold all its rows in one."""
    for begin in range(0, batch.num_rows, BATCH_ROWS):
        yield batch.slice(begin, BATCH_ROWS)
