"""Tables as corpora, chunks and rankings made elsewhere, and what a taken project keeps."""

from __future__ import annotations

import io
import json
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

from bakeoff import registry
from bakeoff.cli.watch import read_questions
from bakeoff.corpus.tables import as_text
from bakeoff.corpus.tables.open_table import open_here
from bakeoff.corpus.tables.places import TablePlace, reading
from bakeoff.errors import BakeoffError
from bakeoff.plugins._chunk_table import ChunkTable, ChunkTableParams
from bakeoff.runs.live.replay import read_expected, read_measured
from bakeoff.storage.ranking_files import read_rankings
from fuzzed.reader import Reader, scratch

ROWS: dict[str, list[object]] = {
    "id": ["a", "b"],
    "text": ["The pilot slept.", "Ice on the wing"],
    "vector": ["[1, 0.5]", "[0, 1]"],
}

VECTORS: list[object] = [[1.0, 0.5], [0.0, 1.0]]


def rows(path: Path) -> None:
    """Every cell of the table as text, in this process."""
    with reading(str(path)):
        columns, _, read = open_here(TablePlace(path))
        batches = list(read(list(dict.fromkeys(columns))))
    for batch in batches:
        for name in batch.schema.names:
            as_text(batch.column(name), name)


def chunk_table(path: Path) -> None:
    """Chunks with their vectors."""
    table = ChunkTable(ChunkTableParams(table=path, id="id", text="text", vector="vector", model="wordllama"))
    for _ in table.vectors([row.as_py() for row in table.rows["id"]]):
        pass


def squad(path: Path) -> None:
    plugin = registry.load("sources", "squad")
    for _ in plugin(plugin.Params(squad=path)).batches():
        pass


def _arrow(stream: bool) -> bytes:
    table, target = pa.table(ROWS), io.BytesIO()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(target, table.schema) as writer:
        writer.write_table(table)
    return target.getvalue()


def _parquet(columns: dict[str, list[object]]) -> bytes:
    target = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), target)
    return target.getvalue()


def _sqlite() -> bytes:
    path = scratch() / "table.sqlite"
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as base:
        base.execute("create table t (id text, text text, vector text)")
        base.executemany("insert into t values (?, ?, ?)", list(zip(*ROWS.values(), strict=True)))
    base.close()
    return path.read_bytes()


def _excel() -> bytes:
    import openpyxl

    book, target = openpyxl.Workbook(), io.BytesIO()
    for row in (list(ROWS), *zip(*ROWS.values(), strict=True)):
        book.active.append(list(row))
    book.save(target)
    return target.getvalue()


CSV = b'id,text,vector\na,"The pilot slept.","[1, 0.5]"\nb,Ice on the wing,"[0, 1]"\n'
RECORDS = [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
JSONL = "".join(json.dumps(one) + "\n" for one in RECORDS).encode()
SQUAD = json.dumps(
    {"data": [{"title": "T", "paragraphs": [{"context": "The pilot slept.", "qas": []}]}]}
).encode()
RANKS = b'{"query_id": "q", "document_id": "a.md", "rank": 1, "score": 0.5}\n'
EXPECTED = (
    b'{"query_id": "q", "text": "t", "results": [{"document": "a", "start": 0, "end": 1, "score": 0.5}]}\n'
)

IN_PROCESS = (BakeoffError, MemoryError)
"""Formats that a process reads, which answers with a DataError where memory ends."""
READERS = [
    Reader("table in CSV", "t.csv", rows, CSV),
    Reader("table in JSONL", "t.jsonl", rows, JSONL),
    Reader("table in JSON", "t.json", rows, json.dumps(RECORDS).encode()),
    Reader("table in Parquet", "t.parquet", rows, lambda: _parquet(ROWS), IN_PROCESS),
    Reader("table in Arrow", "t.arrow", rows, lambda: _arrow(stream=False), IN_PROCESS),
    Reader("stream of Arrow", "t.arrow", rows, lambda: _arrow(stream=True), IN_PROCESS),
    Reader("table in Excel", "t.xlsx", rows, _excel, IN_PROCESS, needs=("python_calamine", "openpyxl")),
    Reader("table in SQLite", "t.sqlite", rows, _sqlite, IN_PROCESS),
    Reader("chunks in Parquet", "c.parquet", chunk_table, lambda: _parquet({**ROWS, "vector": VECTORS})),
    Reader("chunks in CSV", "c.csv", chunk_table, CSV),
    Reader("SQuAD", "s.json", squad, SQUAD),
    Reader("rankings in JSONL", "r.jsonl", read_rankings, RANKS),
    Reader("rankings to replay", "expected.jsonl", read_expected, EXPECTED),
    Reader(
        "what was measured", "measured.json", read_measured, b'{"run": "r", "system": "s", "documents": "f"}'
    ),
    Reader("new questions", "new.txt", read_questions, "where is the bücherei?\n".encode()),
]
