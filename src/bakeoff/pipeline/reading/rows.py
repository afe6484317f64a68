"""read, for sources of rows: Arrow batches → a cached file of documents, in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.errors import CorpusError
from bakeoff.fingerprint import fingerprint, pair_fingerprints
from bakeoff.protocols import RowSource
from bakeoff.storage.arrow_take import StringColumn
from bakeoff.storage.cache import Cache
from bakeoff.storage.row_cache import read_arrow, write_arrow
from bakeoff.storage.schemas import DOCUMENTS
from bakeoff.storage.temp_dir import TempDir
from bakeoff.types import DocumentBatch, Skipped

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = "1"
STAGE = "read-rows"
ROWS, SKIPPED = "documents.arrow", "skipped.json"
BLOCK = 65_536

Found = tuple["pa.Table", list[Skipped], bool]
"""The documents, memory-mapped; what was skipped; whether they were read in this run."""


def read_rows(source: RowSource, settings: str, cache: Cache, advance: Callable[[int], None]) -> Found:
    """Return every document of a source of rows, from the cache if its content was read before.

    `settings` identifies the source and its parameters. A source whose version is unknown until it is read,
    such as a database query, is read each time.
    """
    version = source.content_version()
    if not version:
        with TempDir("rows") as folder:
            _write(source, folder, advance)
            return *_read(folder), True
    key = fingerprint(STAGE, VERSION, settings, version)
    fresh: list[Path] = []

    def write(folder: Path) -> None:
        _write(source, folder, advance)
        fresh.append(folder)

    folder = cache.make(STAGE, key, write)
    return *_read(folder), bool(fresh)


def content_fingerprint(documents: pa.Table) -> list[str]:
    """Fingerprint of each block of ids and versions, from which the corpus fingerprint is made."""
    blocks = (documents.slice(begin, BLOCK) for begin in range(0, documents.num_rows, BLOCK))
    return [fingerprint(block["id"].to_pylist(), block["version"].to_pylist()) for block in blocks]


def _write(source: RowSource, folder: Path, advance: Callable[[int], None]) -> None:
    skipped: list[Skipped] = []
    advance(0)
    write_arrow(folder / ROWS, _tables(source, skipped, advance))
    _check_ids(read_arrow(folder / ROWS)["id"])
    (folder / SKIPPED).write_text(json.dumps([asdict(one) for one in skipped]), encoding="utf-8")


def _tables(source: RowSource, skipped: list[Skipped], advance: Callable[[int], None]) -> Iterator[pa.Table]:
    yield DOCUMENTS.arrow().empty_table()  # a table without rows still needs a file
    for batch in source.batches():
        skipped += batch.skipped
        table = _table(batch, skipped)
        advance(table.num_rows)
        yield table


def _table(batch: DocumentBatch, skipped: list[Skipped]) -> pa.Table:
    """Return the documents of a batch; rows without text are added to `skipped`."""
    import pyarrow as pa

    ids, texts = batch.ids.to_pylist(), [text or "" for text in batch.texts.to_pylist()]
    titles = (
        [title or "" for title in batch.titles.to_pylist()] if batch.titles is not None else [""] * len(ids)
    )
    table = DOCUMENTS.table(
        {
            "id": ids,
            "version": pair_fingerprints(texts, titles),
            "kind": [batch.kind] * len(ids),
            "title": titles,
            "fields": _fields(batch),
            "text": texts,
        }
    )
    blank = [not text.strip() for text in texts]
    if not any(blank):
        return table
    skipped += [
        Skipped(name, "empty: contains no text", has_text=False)
        for name, no in zip(ids, blank, strict=True)
        if no
    ]
    return table.filter(pa.array([not no for no in blank]))


def _fields(batch: DocumentBatch) -> list[str]:
    """Return a JSON object per document, without keys for missing values."""
    names = sorted(batch.fields)
    if not names:
        return ["{}"] * len(batch.ids)
    columns = [batch.fields[name] for name in names]
    rows = zip(*(_texts(column).to_pylist() for column in columns), strict=True)
    written: dict[tuple[str | None, ...], str] = {}  # many rows have the same fields
    return [written.get(row) or written.setdefault(row, _json_object(names, row)) for row in rows]


def _texts(column: pa.Array) -> pa.Array:
    """Dictionary codes as texts: Arrow converts those to Python values many times as fast."""
    import pyarrow as pa

    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _json_object(names: list[str], row: tuple[str | None, ...]) -> str:
    return json.dumps({name: value for name, value in zip(names, row, strict=True) if value is not None})


def _check_ids(ids: pa.ChunkedArray) -> None:
    """Raise CorpusError if an id occurs twice, naming its rows."""
    import numpy as np
    import pyarrow.compute as pc

    hashes = np.sort(np.fromiter(map(hash, StringColumn(ids)), np.int64, len(ids)))
    if (
        hashes[1:] != hashes[:-1]
    ).all():  # 8 bytes for each id; the ids themselves are counted only where some repeat
        return
    if pc.count_distinct(ids).as_py() == len(ids):
        return
    counted = pc.value_counts(ids)
    counts = counted.field("counts")
    name = counted.field("values")[pc.index(pc.greater(counts, 1), True).as_py()].as_py()
    rows = pc.indices_nonzero(pc.equal(ids, name)).to_pylist()
    several = pc.sum(pc.greater(counts, 1)).as_py()
    more = f"{several - 1:,} more ids occur several times" if several > 1 else "no other does"
    at = " and ".join(f"{row + 1:,}" for row in rows[:2])
    raise CorpusError(
        f"id {name!r} occurs {len(rows)} times, first as documents {at}; {more}. Choose a column whose values are "
        "unique, or remove the repeats."
    )


def _read(folder: Path) -> tuple[pa.Table, list[Skipped]]:
    skipped = json.loads((folder / SKIPPED).read_text(encoding="utf-8"))
    return read_arrow(folder / ROWS), [Skipped(**one) for one in skipped]
