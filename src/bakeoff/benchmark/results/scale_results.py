"""The one table of `bakeoff scale`, one measured figure per row: names, units, fits, and its tables of text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

from bakeoff.benchmark.results.power_law import PowerLaw, fit_power_law
from bakeoff.benchmark.results.records import write_rows
from bakeoff.errors import DataError
from bakeoff.storage.parquet_io import read_parquet
from bakeoff.storage.schemas import Schema

SIZE, THREADS, FILTER, MIXED = "size", "threads", "filter", "mixed"
"""Kinds of rows; `at` is unused, client threads, the share of rows a filter matches, or rows per second."""

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
"""The figures fitted against size, if measured."""

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


ABSENT = "–"


@dataclass(frozen=True, slots=True)
class ScaleTable:
    """Headers, cells, number columns, and why cells are empty."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...]
    notes: tuple[str, ...] = ()


Key = tuple[str, int, float | None]


def medians(rows: Sequence[ScaleRow], kind: str) -> dict[Key, dict[str, float | None]]:
    """By (store, size, varied value): the median of every figure across runs, null if no run has it."""
    found: dict[Key, dict[str, list[float]]] = {}
    for row in rows:
        if row.kind == kind:
            values = found.setdefault((row.system, row.size, row.at), {}).setdefault(row.figure, [])
            if row.value is not None:
                values.append(row.value)
    return {
        key: {name: float(np.median(values)) if values else None for name, values in figures.items()}
        for key, figures in found.items()
    }


def size_rows(rows: Sequence[ScaleRow]) -> ScaleTable:
    """Build, latency, speed, recall, memory and disk by size."""
    shown = (
        ("build_s", 2),
        ("build_cpu_s", 2),
        ("p50_ms", 3),
        ("p99_ms", 3),
        ("qps", 0),
        ("knn", 4),
        ("memory_mb", 1),
        ("disk_mb", 1),
    )
    heads = (
        "store",
        "rows",
        "setting",
        "build s",
        "CPU s",
        "p50 ms",
        "p99 ms",
        "QPS",
        "kNN",
        "memory MB",
        "disk MB",
    )
    return _table(rows, SIZE, heads, shown, at=None)


def document_rows(rows: Sequence[ScaleRow]) -> ScaleTable:
    """Every phase from reading to searching by number of documents; the notes name the numbered systems."""
    shown = (
        ("chunks", 0), ("read_s", 2), ("chunk_s", 2), ("embed_s", 2), ("build_s", 2), ("total_s", 2), ("p50_ms", 3),
        ("qps", 0), ("knn", 3), ("memory_mb", 1), ("disk_mb", 1),
    )  # fmt: skip
    heads = (
        "", "documents", "chunks", "read s", "chunk s", "embed s", "index s", "total s", "p50 ms", "QPS", "kNN",
        "MB RAM", "MB disk",
    )  # fmt: skip
    numbers = {system: f"#{place}" for place, system in enumerate(systems(rows), start=1)}
    cells = [
        (numbers[system], f"{size:,}", *(_text(found.get(name), digits) for name, digits in shown))
        for (system, size, _), found in sorted(medians(rows, SIZE).items(), key=lambda one: one[0][1])
    ]
    names = [f"{number}: {system}" for system, number in numbers.items()]
    wanted = {name for name, _ in shown}
    why = dict.fromkeys(
        f"{numbers[row.system]}: {row.note}" for row in rows if row.note and row.figure in wanted
    )
    return ScaleTable(heads, tuple(cells), tuple(range(1, len(heads))), (*names, *why))


def concurrency_rows(rows: Sequence[ScaleRow]) -> ScaleTable:
    """Queries per second and latency by client threads."""
    return _table(
        rows,
        THREADS,
        ("store", "rows", "threads", "QPS", "p50 ms", "p99 ms"),
        (("qps", 0), ("p50_ms", 3), ("p99_ms", 3)),
        at="{:.0f}",
    )


def filter_rows(rows: Sequence[ScaleRow]) -> ScaleTable:
    """Recall and latency by the share of rows that match the filter."""
    shown = (("matching", 0), ("knn", 4), ("p50_ms", 3), ("p99_ms", 3), ("qps", 0), ("short", 0))
    heads = ("store", "rows", "share", "matching", "kNN", "p50 ms", "p99 ms", "QPS", "short")
    return _table(rows, FILTER, heads, shown, at="{:g}")


def mixed_rows(rows: Sequence[ScaleRow]) -> ScaleTable:
    """Latency without and with a writer, and how many of its rows are found."""
    shown = (
        ("alone_p50_ms", 3), ("beside_p50_ms", 3), ("alone_p99_ms", 3), ("beside_p99_ms", 3), ("rate_reached", 0),
        ("visible", 2), ("kept", 2), ("visible_after_ready", 2),
    )  # fmt: skip
    heads = (
        "store", "rows", "rows/s", "p50 alone", "p50 with", "p99 alone", "p99 with", "reached", "new", "old", "ready",
    )  # fmt: skip
    return _table(rows, MIXED, heads, shown, at="{:g}")


def fit_rows(fits: Mapping[tuple[str, str], PowerLaw]) -> ScaleTable:
    """The exponents with their intervals."""
    cells = [
        (
            system,
            FIGURES[figure],
            _text(fit.exponent, 2),
            ABSENT if fit.low is None else f"[{fit.low:.2f} {fit.high:.2f}]",
            _text(fit.last, 2) + (" bends" if fit.bends else ""),
            str(fit.sizes),
            str(fit.observations),
        )
        for (system, figure), fit in fits.items()
    ]
    notes = dict.fromkeys(f"{FIGURES[name]}: {fit.note}" for (_, name), fit in fits.items() if fit.note)
    heads = ("store", "figure", "exponent", "interval", "last step", "sizes", "observations")
    return ScaleTable(heads, tuple(cells), (2, 3, 4, 5, 6), tuple(notes))


def _table(
    rows: Sequence[ScaleRow],
    kind: str,
    heads: tuple[str, ...],
    shown: Sequence[tuple[str, int]],
    at: str | None,
) -> ScaleTable:
    cells = []
    settings = {(row.system, row.size): row.setting for row in rows if row.kind == kind}
    for (system, size, varied), found in medians(rows, kind).items():
        key = (system, f"{size:,}", settings[system, size] if at is None else at.format(varied))
        cells.append((*key, *(_text(found.get(name), digits) for name, digits in shown)))
    wanted = {name for name, _ in shown}
    notes = dict.fromkeys(
        f"{row.system}: {row.note}" for row in rows if row.kind == kind and row.note and row.figure in wanted
    )
    return ScaleTable(heads, tuple(cells), tuple(range(1, len(heads))), tuple(notes))


def _text(value: float | None, digits: int) -> str:
    return ABSENT if value is None else f"{value:,.{digits}f}"
