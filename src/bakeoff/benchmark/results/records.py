"""Reads and writes record.json and the tables of `ann`, `load` and `scale`."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from bakeoff.errors import DataError
from bakeoff.runtime.machine import describe_machine, package_versions
from bakeoff.storage.cache import write_file
from bakeoff.storage.schemas import Schema
from bakeoff.types import Json, Status

FORMAT = 1
RECORD = "record.json"


def make_record(kind: str, status: Status, stopped: str, content: Mapping[str, object]) -> dict[str, object]:
    """A record: its kind, status, content and machine."""
    return {
        "format": FORMAT,
        "kind": kind,
        "status": status.value,
        "stopped": stopped,
        **content,
        "machine": describe_machine(),
        "versions": package_versions(),
    }


def write_record(folder: Path, record: Mapping[str, object]) -> None:
    """Write record.json atomically."""
    write_file(folder / RECORD, json.dumps(record, indent=1, ensure_ascii=False).encode() + b"\n")


def kind_of(folder: Path) -> str:
    """Which command wrote a folder's record: ann, scale, load."""
    record = _load(folder, "ann")
    return str(record.get("kind", "")) if isinstance(record, dict) else ""


def read_record(folder: Path, kind: str) -> dict[str, object]:
    """The stored record of a folder, if it is of this kind and format."""
    record = _load(folder, kind)
    if not isinstance(record, dict) or record.get("kind") != kind or record.get("format") != FORMAT:
        raise DataError(f"{folder / RECORD} is not a record of `bakeoff {kind}` in format {FORMAT}.")
    return record


def _load(folder: Path, kind: str) -> object:
    try:
        return json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as exc:
        raise DataError(
            f"{folder / RECORD} cannot be read: {exc}. Give a folder of `bakeoff {kind}`."
        ) from exc


@contextlib.contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Report an error while a stored record is interpreted as damage or as another version."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as exc:
        raise DataError(
            f"{folder} is damaged, or of another version: {type(exc).__name__}: {exc}. Measure again."
        ) from exc


def environment_of(record: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    """Machine and versions as rows."""
    both = {**record["machine"], **record["versions"]}
    return tuple((name, str(value)) for name, value in both.items())


def write_rows(
    path: Path,
    schema: Schema,
    rows: Iterable[Sequence[object]],
    compression: Literal["snappy", "zstd"] = "snappy",
) -> None:
    """Write rows, each with a value per column of the schema, as a Parquet file."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(schema.table_of_rows(rows), buffer, compression=compression)
    write_file(path, buffer.getvalue())
