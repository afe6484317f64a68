"""The one table of `bakeoff scale`, one measured figure per row: names, units, fits, and its tables of text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

from bakeoff.benchmark.results.records import write_rows
from bakeoff.errors import DataError
from bakeoff.stats.quantiles import t_quantile
from bakeoff.storage.parquet_io import read_parquet
from bakeoff.storage.schemas import Schema

FEWEST_SIZES = 3
LEVEL = 0.95
TRIFLE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerLaw:
    """The exponent with its 95 % interval over sizes × runs; null with the reason in `note`.

    `last` is the exponent between the medians of the two largest sizes: where it leaves the interval, the curve bends.
    """

    exponent: float | None
    low: float | None
    high: float | None
    factor: float | None
    r2: float | None
    last: float | None
    sizes: int
    observations: int
    note: str = ""

    def at(self, size: float) -> float | None:
        """The fitted value at a size."""
        if self.exponent is None or self.factor is None:
            return None
        return float(self.factor * size**self.exponent)

    @property
    def bends(self) -> bool:
        """Whether the growth between the two largest sizes clearly lies outside the interval."""
        if self.exponent is None or self.last is None or self.low is None or self.high is None:
            return False
        return not self.low <= self.last <= self.high and abs(self.last - self.exponent) > TRIFLE


def fit_power_law(points: Sequence[tuple[float, float | None]]) -> PowerLaw:
    """The power law through (size, value) pairs; every run of every size is one observation."""
    measured = [(size, value) for size, value in points if value is not None]
    sizes = len({size for size, _ in measured})
    if any(value <= 0 or not math.isfinite(value) for _, value in measured):
        return _none(sizes, len(measured), "a value is not positive, so it has no logarithm")
    if sizes < FEWEST_SIZES:
        return _none(
            sizes, len(measured), f"{sizes} sizes were measured; {FEWEST_SIZES} are needed", _last(measured)
        )
    x, y = (np.log(np.array(column, float)) for column in zip(*measured, strict=True))
    around = x - x.mean()
    exponent = float(around @ y / (around @ around))
    level = float(y.mean() - exponent * x.mean())
    rest = y - level - exponent * x
    df = len(measured) - 2
    error = math.sqrt(float(rest @ rest) / df / float(around @ around))
    half = t_quantile((1 + LEVEL) / 2, df) * error
    spread = float((y - y.mean()) @ (y - y.mean()))
    r2 = 1 - float(rest @ rest) / spread if spread > 0 else None
    return PowerLaw(
        exponent=exponent,
        low=exponent - half,
        high=exponent + half,
        factor=math.exp(level),
        r2=r2,
        last=_last(measured),
        sizes=sizes,
        observations=len(measured),
    )


def _none(sizes: int, observations: int, note: str, last: float | None = None) -> PowerLaw:
    return PowerLaw(
        exponent=None,
        low=None,
        high=None,
        factor=None,
        r2=None,
        last=last,
        sizes=sizes,
        observations=observations,
        note=note,
    )


def _last(points: Sequence[tuple[float, float]]) -> float | None:
    sizes = sorted({size for size, _ in points})[-2:]
    if len(sizes) < 2:
        return None
    small, large = (float(np.median([value for size, value in points if size == one])) for one in sizes)
    return math.log(large / small) / math.log(sizes[1] / sizes[0])


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
Column = tuple[str, str, int]


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


BY_SIZE = (
    ("build s", "build_s", 2), ("CPU s", "build_cpu_s", 2), ("p50 ms", "p50_ms", 3), ("p99 ms", "p99_ms", 3),
    ("QPS", "qps", 0), ("kNN", "knn", 4), ("memory MB", "memory_mb", 1), ("disk MB", "disk_mb", 1),
)  # fmt: skip
BY_DOCUMENTS = (
    ("chunks", "chunks", 0), ("read s", "read_s", 2), ("chunk s", "chunk_s", 2), ("embed s", "embed_s", 2),
    ("index s", "build_s", 2), ("total s", "total_s", 2), ("p50 ms", "p50_ms", 3), ("QPS", "qps", 0),
    ("kNN", "knn", 3), ("MB RAM", "memory_mb", 1), ("MB disk", "disk_mb", 1),
)  # fmt: skip
BY_THREADS = (("QPS", "qps", 0), ("p50 ms", "p50_ms", 3), ("p99 ms", "p99_ms", 3))
BY_FILTER = (
    ("matching", "matching", 0), ("kNN", "knn", 4), ("p50 ms", "p50_ms", 3), ("p99 ms", "p99_ms", 3),
    ("QPS", "qps", 0), ("short", "short", 0),
)  # fmt: skip
WHILE_INSERTING = (
    ("p50 alone", "alone_p50_ms", 3), ("p50 with", "beside_p50_ms", 3), ("p99 alone", "alone_p99_ms", 3),
    ("p99 with", "beside_p99_ms", 3), ("reached", "rate_reached", 0), ("new", "visible", 2), ("old", "kept", 2),
    ("ready", "visible_after_ready", 2),
)  # fmt: skip
"""The columns of the tables: header, figure, digits."""


def size_rows(rows: Sequence[ScaleRow]) -> ScaleTable:
    """Build, latency, speed, recall, memory and disk by size."""
    settings = {(row.system, row.size): row.setting for row in rows if row.kind == SIZE}
    return _table(rows, SIZE, "setting", BY_SIZE, lambda system, size, _: settings[system, size])


def document_rows(rows: Sequence[ScaleRow]) -> ScaleTable:
    """Every phase from reading to searching by number of documents; the notes name the numbered systems."""
    numbers = {system: f"#{place}" for place, system in enumerate(systems(rows), start=1)}
    cells = [
        (numbers[system], f"{size:,}", *_values(found, BY_DOCUMENTS))
        for (system, size, _), found in sorted(medians(rows, SIZE).items(), key=lambda one: one[0][1])
    ]
    names = [f"{number}: {system}" for system, number in numbers.items()]
    heads = ("", "documents", *(head for head, _, _ in BY_DOCUMENTS))
    notes = _notes(rows, BY_DOCUMENTS, numbers)
    return ScaleTable(heads, tuple(cells), tuple(range(1, len(heads))), (*names, *notes))


def concurrency_rows(rows: Sequence[ScaleRow]) -> ScaleTable:
    """Queries per second and latency by client threads."""
    return _table(rows, THREADS, "threads", BY_THREADS, lambda _, __, at: f"{at:.0f}")


def filter_rows(rows: Sequence[ScaleRow]) -> ScaleTable:
    """Recall and latency by the share of rows that match the filter."""
    return _table(rows, FILTER, "share", BY_FILTER, lambda _, __, at: f"{at:g}")


def mixed_rows(rows: Sequence[ScaleRow]) -> ScaleTable:
    """Latency without and with a writer, and how many of its rows are found."""
    return _table(rows, MIXED, "rows/s", WHILE_INSERTING, lambda _, __, at: f"{at:g}")


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
    varied: str,
    columns: Sequence[Column],
    text: Callable[[str, int, float | None], str],
) -> ScaleTable:
    """Stores and sizes by what is varied, whose cell is `text`."""
    cells = [
        (system, f"{size:,}", text(system, size, at), *_values(found, columns))
        for (system, size, at), found in medians(rows, kind).items()
    ]
    heads = ("store", "rows", varied, *(head for head, _, _ in columns))
    notes = _notes([row for row in rows if row.kind == kind], columns)
    return ScaleTable(heads, tuple(cells), tuple(range(1, len(heads))), notes)


def _values(figures: Mapping[str, float | None], columns: Sequence[Column]) -> tuple[str, ...]:
    return tuple(_text(figures.get(figure), digits) for _, figure, digits in columns)


def _notes(
    rows: Sequence[ScaleRow], columns: Sequence[Column], names: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """The notes on figures of these columns, each once."""
    figures = {figure for _, figure, _ in columns}
    noted = (row for row in rows if row.note and row.figure in figures)
    return tuple(dict.fromkeys(f"{(names or {}).get(row.system, row.system)}: {row.note}" for row in noted))


def _text(value: float | None, digits: int) -> str:
    return ABSENT if value is None else f"{value:,.{digits}f}"
