"""Growth with size: figures of `bakeoff scale`, and the report section of a measurement attached to a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bakeoff.benchmark.results.records import RECORD, read_record
from bakeoff.benchmark.results.scale_results import (
    DOCUMENTS,
    FIGURES,
    ROWS_OF_VECTORS,
    SIZE,
    PowerLaw,
    ScaleRow,
    fits_of,
    medians,
    read_rows,
    systems,
    values,
)
from bakeoff.errors import BakeoffError, DataError
from bakeoff.report.render import number_text as say
from bakeoff.report.sections.parts import Axis, Chart, Curve, LineChart, ReportSection, TextTable
from bakeoff.runs.analysis import Result
from bakeoff.stats.number_format import capital
from bakeoff.storage.cache import write_file
from bakeoff.types import Json

FOLDER = "scale"
ROWS = "rows.parquet"
SHOWN: Mapping[str, Callable[[float | None], str]] = {
    **dict.fromkeys(("read_s", "chunk_s", "embed_s", "total_s"), say.seconds),
    "build_s": say.seconds,
    "build_cpu_s": say.seconds,
    "p50_ms": say.milliseconds,
    "memory_mb": say.megabytes,
    "disk_mb": say.megabytes,
}
CAPTION = (
    "Medians of the runs at each size; the exponent is of the power law through every run of every size."
)
HINT = "Every run of every size is a dot; dashes: the fitted power law. Both scales are logarithmic."
Fits = Mapping[tuple[str, str], PowerLaw]


def attach(run: Path, folder: Path) -> Path:
    """Copy a measurement of `bakeoff scale` into a run's folder, where its report and the dashboard find it."""
    _open_scale(folder)
    target = run / FOLDER / folder.resolve().name
    if target.resolve() == folder.resolve():
        return target
    for name in (RECORD, ROWS):
        content = (folder / name).read_bytes()
        if (target / name).exists() and (target / name).read_bytes() != content:
            raise DataError(
                f"{target} is another measurement of the same name. Rename {folder}, or delete the other."
            )
        target.mkdir(parents=True, exist_ok=True)
        write_file(target / name, content)
    return target


def attached_measurements(run: Path) -> tuple[Path, ...]:
    """The measurements stored with a run, by name."""
    return tuple(sorted(path.parent for path in (run / FOLDER).glob(f"*/{RECORD}")))


def scaling_sections(result: Result) -> tuple[ReportSection, ...]:
    """One section per measurement attached to the run."""
    return tuple(
        _section(path, f"scaling-{place}" if place > 1 else "scaling", result)
        for place, path in enumerate(attached_measurements(result.path), start=1)
    )


def answer(fits: Fits, unit: str = ROWS_OF_VECTORS) -> str:
    """One sentence: how latency and build time of each store grow."""
    parts = [
        f"{system}: build time grows as {unit}^{power(fits[system, 'build_s'])}, "
        f"latency as {unit}^{power(fits[system, 'p50_ms'])}"
        for system, figure in fits
        if figure == "build_s" and fits[system, "build_s"].exponent is not None
    ]
    return "; ".join(parts) + "." if parts else "Growth is unknown: it needs three sizes or more."


def power(fit: PowerLaw) -> str:
    """An exponent with its interval."""
    if fit.exponent is None or fit.low is None or fit.high is None:
        return "unknown"
    shown = f"{fit.exponent:.2f} [{fit.low:.2f} {fit.high:.2f}]"
    return shown.replace("-", say.MINUS)


def _tied(fit: PowerLaw) -> str:
    """The same without line breaks."""
    return power(fit).replace(" ", say.TIED)


def growth(
    rows: Sequence[ScaleRow], fits: Fits, stem: str = "growth", unit: str = ROWS_OF_VECTORS
) -> Iterator[Chart]:
    """One figure per fitted quantity: every run of every size, the fitted power law, and its exponent."""
    places = {system: place for place, system in enumerate(systems(rows), start=1)}
    for figure, name in FIGURES.items():
        lines = []
        for system, place in places.items():
            points = [(float(size), value) for size, _, value in values(rows, SIZE, system, figure) if value]
            if points:
                lines.append(Curve(place, system, tuple(points), _ends(fits[system, figure], points)))
        if not lines:
            continue
        x = Axis(unit, say.whole, log=True, higher_is_better=True)
        y = Axis(name, SHOWN[figure], log=True, higher_is_better=False)
        finding = _finding(name, [(line.name, fits[line.name, figure]) for line in lines], unit)
        plot, notes = LineChart(tuple(lines), x, y), _notes(fits, figure)
        yield Chart(
            name=f"{stem}_{figure}",
            finding=finding,
            caption=CAPTION,
            plot=plot,
            grid=_grid(rows, figure, fits),
            notes=notes,
            hint=HINT,
        )


def _section(path: Path, name: str, result: Result) -> ReportSection:
    try:
        record, rows = _open_scale(path)
    except BakeoffError as exc:
        return ReportSection(name, "Growth with size", str(exc))
    fits, data = fits_of(rows), record["dataset"]
    run_stores = {row["store"] for row in result.systems.to_pylist()}
    unit = unit_of(record)
    names = systems(rows) if unit == ROWS_OF_VECTORS else []
    others = [name for name in names if name.partition("(")[0].partition(":")[0] not in run_stores]
    notes = [
        f"{_origin(record)}, {data['queries']:,} queries, {record['options']['runs']} runs. The exponent has a 95 % "
        "interval over sizes × runs.",
        *([f"Not among this run's stores: {say.name_some(others)}."] if others else []),
        *(f"{label}: {why}" for label, why in record["failed"].items()),
        *([f"The measurement is {record['status']}: {record['stopped'] or 'not all of it was measured'}."]
          if record["status"] == "partial" else []),
        f"measured with {record['options']['command']}",
    ]  # fmt: skip
    return ReportSection(
        name,
        "Growth with size",
        answer(fits, unit),
        (),
        tuple(notes),
        tuple(growth(rows, fits, name.replace("scaling", "growth"), unit)),
    )


def unit_of(record: Mapping[str, object]) -> str:
    """What the sizes of a measurement count."""
    return str(record.get("unit", ROWS_OF_VECTORS))


def _origin(record: Mapping[str, Json]) -> str:
    data = record["dataset"]
    if unit_of(record) == DOCUMENTS:
        return f"Measured on samples of the {data['documents']:,} documents of {data['name']}"
    return (
        f"Measured on other vectors, not on this run's chunks: {data['name']}, {data['dims']} dimensions by "
        f"{data['metric']}"
    )


def _open_scale(folder: Path) -> tuple[Mapping[str, Json], tuple[ScaleRow, ...]]:
    """Record and rows of a folder that `bakeoff scale` wrote."""
    import pyarrow as pa

    record = read_record(folder, "scale")
    try:
        return record, read_rows(folder / ROWS)
    except (pa.ArrowException, OSError, TypeError) as exc:
        raise DataError(f"{folder / ROWS} cannot be read as a measurement of scale ({exc}).") from exc


def _grid(rows: Sequence[ScaleRow], figure: str, fits: Fits) -> TextTable:
    """Medians of the runs at each size, and the exponent."""
    values = medians(rows, SIZE)
    sizes = sorted({size for _, size, _ in values})
    cells = [
        (
            system,
            *(SHOWN[figure](values.get((system, size, None), {}).get(figure)) for size in sizes),
            _tied(fits[system, figure]),
            "–" if (last := fits[system, figure].last) is None else f"{last:.2f}",
        )
        for system in systems(rows)
    ]
    return TextTable(("store", *(f"{size:,}" for size in sizes), "exponent, 95 %", "last step"), tuple(cells))


def _notes(fits: Fits, figure: str) -> tuple[str, ...]:
    mine = {system: fit for (system, name), fit in fits.items() if name == figure}
    why = [f"{system}: {fit.note}" for system, fit in mine.items() if fit.note]
    bends = [f"{system}: the growth between the two largest sizes differs from the fitted line"
             for system, fit in mine.items() if fit.bends]  # fmt: skip
    return (*why, *bends)


def _finding(name: str, fits: Sequence[tuple[str, PowerLaw]], unit: str) -> str:
    fitted = [(system, one) for system, one in fits if one.exponent is not None]
    if not fitted:
        return f"{capital(name)} by size: too few sizes for an exponent"
    if len(fitted) == 1:
        return f"{capital(name)} of {fitted[0][0]} grows as {unit}^{_tied(fitted[0][1])}"
    low, high = (pick(fitted, key=lambda one: one[1].exponent or 0.0) for pick in (min, max))
    return (
        f"{capital(name)} grows least with {low[0]}, as {unit}^{_tied(low[1])}, "
        f"and most with {high[0]}, as {unit}^{_tied(high[1])}"
    )


def _ends(fit: PowerLaw, points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    ends = (min(size for size, _ in points), max(size for size, _ in points))
    return tuple((size, value) for size in ends if (value := fit.at(size)) is not None)
