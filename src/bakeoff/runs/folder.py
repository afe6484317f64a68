"""The only result schema: a run's folder, what is in it, and how it is read back.

run.json            the record: experiment, fingerprints, conventions, machine, versions, seeds, exclusions, notes
systems.parquet     one row a system: its parts and how it ended
queries.parquet     one row a query: text and labels
scores.parquet      one row a (system, query, measure)
timings.parquet     one row a (system, phase, statistic)
latencies.parquet   one row a (system, repeat, query): milliseconds of each step
rankings.parquet    one row a (system, query, rank)
passages.parquet    the text of every chunk that is among the first ten of a ranking
losses.parquet      one row a (system, query, step): what the primary measure could still reach after it
ties.parquet        one row a (system, query, measure) whose value depends on the order of equal scores
choices.parquet     one row a (system, query) that was fused with a weight chosen on other queries
empty_searches.parquet  one row per (system, search, query) where a search returned nothing
placements.parquet  one row per (system, query) of a retriever: how its results were placed in the corpus
cells/              one folder a finished system, durable when it is finished; a rerun starts from here
"""

from __future__ import annotations

import contextlib
import datetime
import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from bakeoff.errors import DataError
from bakeoff.fingerprint import bytes_fingerprint, file_fingerprint
from bakeoff.pipeline.system_tables import CELL, SystemResult
from bakeoff.runs.record import SCHEMA_VERSION, RunRecord
from bakeoff.runtime.progress_file import process_is_alive, read_progress
from bakeoff.storage.cache import durable_folder, verify_folder, write_file
from bakeoff.storage.parquet_io import read_parquet
from bakeoff.storage.schemas import SYSTEMS, Schema
from bakeoff.types import JsonObject

if TYPE_CHECKING:
    import pyarrow as pa

QUERIES = Schema(
    "queries",
    (
        ("query_id", "string"),
        ("text", "string"),
        ("category", "string"),
        ("difficulty", "string"),
        ("intent", "string"),
        ("negative", "bool"),
        ("synthetic", "bool"),
        ("tags", "string"),
        ("cluster", "string"),
    ),
    added=("cluster",),
)
"""Queries with the same `cluster` are not independent of each other."""

UNFINISHED = ("running", "stopped")
"""States of a run."""


class RunFolder:
    """A run's folder while it is being written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def cell(self, key: str) -> SystemResult | None:
        """A finished system's tables, or None if it is unfinished; a damaged one is deleted."""
        folder = self.path / "cells" / key
        if not verify_folder(folder, f"cells/{key}") or not all(
            (folder / f"{schema.name}.parquet").exists() for schema in CELL
        ):
            shutil.rmtree(folder, ignore_errors=True)
            return None
        tables = {schema.name: _read(folder / f"{schema.name}.parquet", schema) for schema in CELL}
        return SystemResult(**tables, measured=_written(folder / f"{SYSTEMS.name}.parquet"))

    def keep(self, key: str, cell: SystemResult) -> None:
        """Store a finished system durably."""
        aside = self.path / "cells" / ".aside"
        with durable_folder(self.path / "cells" / key, aside, f"cells/{key}") as folder:
            for schema in CELL:
                _write(folder / f"{schema.name}.parquet", getattr(cell, schema.name), schema)

    def record(self, record: RunRecord) -> None:
        """Write run.json atomically."""
        text = record.model_dump_json(indent=1)
        write_file(self.path / "run.json", text.encode() + b"\n")

    def table(self, schema: Schema, tables: Iterable[pa.Table]) -> str:
        """Write one result table atomically from the tables of all cells, in order, and return its hash."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        joined = pa.concat_tables([schema.arrow().empty_table(), *tables])
        sink = pa.BufferOutputStream()
        pq.write_table(joined, sink, compression="zstd")
        data = sink.getvalue().to_pybytes()
        write_file(self.path / f"{schema.name}.parquet", data)
        return bytes_fingerprint(data)


def _written(path: Path) -> str:
    """When a file was written, to the second."""
    moment = datetime.datetime.fromtimestamp(path.stat().st_mtime, datetime.UTC)
    return moment.isoformat(timespec="seconds")


def read_record(folder: Path) -> RunRecord:
    """Read the record of a run's folder; another schema version is an error."""
    path = folder / "run.json"
    if not path.is_file():
        raise DataError(
            f"{folder} is not a run folder: it has no run.json. Give a folder written by `bakeoff run`."
        )
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as exc:
        raise DataError(
            f"{path} is not JSON ({exc}). The file is damaged; run the experiment again."
        ) from exc
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCHEMA_VERSION:
        raise DataError(
            f"{path} has result schema version {version!r}; this bakeoff reads version {SCHEMA_VERSION}. "
            "Read it with the bakeoff that wrote it, or run the experiment again."
        )
    try:
        return RunRecord.model_validate(data)
    except ValidationError as exc:
        first = exc.errors()[0]
        raise DataError(f"{path} does not fit the result schema: {first['loc']}: {first['msg']}.") from exc


def read_tags(text: str | None) -> JsonObject:
    """Parse the stored tags of a query."""
    try:
        tags = json.loads(text or "{}")
    except (ValueError, RecursionError) as exc:
        raise DataError(
            f"{QUERIES.name}.parquet: tags are not JSON ({exc}). Run the experiment again."
        ) from exc
    if not isinstance(tags, dict):
        raise DataError(
            f"{QUERIES.name}.parquet: tags are {tags!r}, not an object. Run the experiment again."
        )
    return tags


def read_table(folder: Path, schema: Schema) -> pa.Table:
    """One result table of a run."""
    return _read(folder / f"{schema.name}.parquet", schema)


def run_state(folder: Path, record: RunRecord) -> str:
    """The state of a run; a run whose process is gone counts as stopped."""
    now = read_progress(folder) if record.status == "running" else None
    return "stopped" if now is not None and not process_is_alive(now) else record.status


def require_finished(folder: Path, record: RunRecord) -> None:
    """Raise if a run's tables are missing, or belong to an earlier run."""
    if record.status in UNFINISHED:
        raise DataError(
            f"{folder} is not a finished run: its status is {record.status}. Resume it with `bakeoff run` "
            "and the same experiment; `bakeoff status` shows its progress."
        )


def require_unchanged(folder: Path, schema: Schema, record: RunRecord) -> None:
    """Raise if a table's bytes changed after the run; runs of version 0.1 recorded no hashes."""
    path, digest = folder / f"{schema.name}.parquet", record.tables.get(schema.name)
    if digest is not None and path.is_file() and _digest(path) != digest:
        raise DataError(
            f"{path} was changed after the run: its hash is not the one in run.json. Restore the file, or run the "
            "experiment again. `bakeoff report`, `final-report`, `compare`, `diff` and `export` accept it "
            "as it is with --trust."
        )


def changed_tables(folder: Path, record: RunRecord) -> list[str]:
    """Names of the tables that differ from the files the run wrote."""
    paths = {name: folder / f"{name}.parquet" for name in record.tables}
    return [
        name for name, path in paths.items() if not path.is_file() or _digest(path) != record.tables[name]
    ]


def describe_changes(folder: Path, record: RunRecord) -> tuple[str, ...]:
    """A note naming the tables changed since the run; empty if none was."""
    changed = [f"{name}.parquet" for name in changed_tables(folder, record)]
    return (f"Read with --trust although changed after the run: {', '.join(changed)}.",) if changed else ()


def _digest(path: Path) -> str:
    with translate_table_errors(path):
        return file_fingerprint(path)


@contextlib.contextmanager
def translate_table_errors(path: Path) -> Iterator[None]:
    """Convert errors about a missing or damaged result table into DataError."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError as exc:
        raise DataError(f"{path} is missing. The run is not finished, or the folder was changed.") from exc
    except (pa.ArrowException, OSError) as exc:
        raise DataError(
            f"{path} cannot be read ({exc}). The file is damaged; run the experiment again."
        ) from exc


def _write(path: Path, table: pa.Table, schema: Schema) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table.cast(schema.arrow()), path, compression="zstd")


def _read(path: Path, schema: Schema) -> pa.Table:
    import pyarrow as pa

    with translate_table_errors(path):
        table = read_parquet(path)
    for name in schema.added:
        if name not in table.schema.names:
            kind = schema.arrow().field(name).type
            table = table.append_column(name, pa.nulls(table.num_rows, kind))
    if table.schema.names != schema.arrow().names:
        raise DataError(f"{path} has columns {table.schema.names}, not {schema.arrow().names}.")
    try:
        return table.cast(schema.arrow())
    except pa.ArrowException as exc:
        raise DataError(f"{path} has a column of another type ({exc}). Run the experiment again.") from exc
