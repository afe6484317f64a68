"""record.json, which `ann`, `load` and `scale` write alike: its format, how it is written and how it is read."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bakeoff.errors import DataError
from bakeoff.runtime.machine import describe_machine, package_versions
from bakeoff.storage.cache import write_file
from bakeoff.types import Status

FORMAT = 1
RECORD = "record.json"


def make_record(kind: str, status: Status, stopped: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """A record of a kind: what it is, how it ended, its content, and where it was measured."""
    return {
        "format": FORMAT,
        "kind": kind,
        "status": status.value,
        "stopped": stopped,
        **content,
        "machine": describe_machine(),
        "versions": package_versions(),
    }


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Write record.json in one step."""
    write_file(folder / RECORD, json.dumps(record, indent=1, ensure_ascii=False).encode() + b"\n")


def kind_of(folder: Path) -> str:
    """Which command wrote a folder's record: ann, scale, load."""
    record = _load(folder, "ann")
    return str(record.get("kind", "")) if isinstance(record, dict) else ""


def read_record(folder: Path, kind: str) -> dict[str, Any]:
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
    """Errors while a stored record is interpreted mean that it was damaged or that another program wrote it."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as exc:
        raise DataError(
            f"{folder} is damaged, or of another version: {type(exc).__name__}: {exc}. Measure again."
        ) from exc


def environment_of(record: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Machine and versions as rows."""
    both = {**record["machine"], **record["versions"]}
    return tuple((name, str(value)) for name, value in both.items())
