"""The one table of `bakeoff scale`: a measured figure a row, and what each figure is called and measured in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from bakeoff.benchmark.results.power_law import PowerLaw, fit_power_law
from bakeoff.benchmark.results.tables import write_rows
from bakeoff.errors import DataError
from bakeoff.storage.parquet_io import read_parquet
from bakeoff.types import Schema

SIZE, THREADS, FILTER, MIXED = "size", "threads", "filter", "mixed"
"""Kinds of rows: what `at` means is nothing, client threads, the share of rows a filter lets through, rows a second."""

ROWS_OF_VECTORS, DOCUMENTS = "rows", "documents"
"""What sizes count: vectors, or documents of a corpus."""

FIGURES = {
    "read_s": "reading time",
    "chunk_s": "chunking time",
    "embed_s": "embedding time",
    "build_s": "build time",
    "total_s": "total time",
    "build_cpu_s": "build CPU time",
    "p50_ms": "latency p50",
    "memory_mb": "memory",
    "disk_mb": "disk",
}
"""What is fitted against size, where it was measured."""

ROWS = Schema(
    "scale",
    (
        ("kind", "string"),
        ("system", "string"),
        ("setting", "string"),
        ("size", "int64"),
        ("run", "int32"),
        ("at", "double"),
        ("figure", "string"),
        ("value", "double"),
        ("note", "string"),
    ),
)
"""A null value has its reason in `note`."""


@dataclass(frozen=True, slots=True)
class ScaleRow:
    """One figure of one store at one size in one run."""

    kind: str
    system: str
    setting: str
    size: int
    run: int
    at: float | None
    figure: str
    value: float | None
    note: str = ""


def write_scale_rows(path: Path, rows: Iterable[ScaleRow]) -> None:
    """Write the rows as a Parquet file."""
    write_rows(path, ROWS, (astuple(row) for row in rows))


def read_rows(path: Path) -> tuple[ScaleRow, ...]:
    """The rows of a file that `write_scale_rows` wrote."""
    import pyarrow as pa

    try:
        table = read_parquet(path).cast(ROWS.arrow())
    except FileNotFoundError as exc:
        raise DataError(f"{path} is missing. Give a folder of `bakeoff scale`, or measure again.") from exc
    except (pa.ArrowException, ValueError, OSError) as exc:
        raise DataError(f"{path} cannot be read as rows of `bakeoff scale` ({exc}). Measure again.") from exc
    return tuple(ScaleRow(**row) for row in table.to_pylist())


def values(
    rows: Iterable[ScaleRow], kind: str, system: str, figure: str
) -> list[tuple[int, float | None, float | None]]:
    """(size, at, value) of one figure of one store, in the order measured."""
    return [
        (row.size, row.at, row.value)
        for row in rows
        if row.kind == kind and row.system == system and row.figure == figure
    ]


def systems(rows: Iterable[ScaleRow]) -> list[str]:
    """The stores, in the order first measured."""
    return list(dict.fromkeys(row.system for row in rows))


def fits_of(rows: Sequence[ScaleRow]) -> dict[tuple[str, str], PowerLaw]:
    """How each fitted figure of each store grows, for the figures that were measured."""
    measured = {row.figure for row in rows if row.kind == SIZE}
    return {
        (system, figure): fit_power_law(
            [(size, value) for size, _, value in values(rows, SIZE, system, figure)]
        )
        for system in systems(rows)
        for figure in FIGURES
        if figure in measured
    }
