"""Latency curves: the share of queries answered within a time, by system."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.benchmark.results.histogram import Histogram
from bakeoff.pipeline.system_tables import LATENCIES
from bakeoff.pipeline.timing import BEYOND
from bakeoff.report.render import number_text as say
from bakeoff.report.sections.parts import COLOURS, Axis, Chart, Curve, LineChart, TextTable
from bakeoff.runs.analysis import Result
from bakeoff.runs.table_rows import rows_where

PERCENTS = (50.0, 75.0, 90.0, 95.0, 99.0, 99.9)
HOW = (
    "One client, one question at a time, in the order of the query file, after a warm-up with other texts. The latency "
    "of a question is the sum of its steps (embed, search, fuse, rerank), each timed over all questions; systems that "
    "share a step share its times. A sample is one question in one run; a percentile needs 5 samples beyond it."
)
"""How a run's own latencies were measured."""


@dataclass(frozen=True, slots=True)
class Quantiles:
    """One system's milliseconds at each of PERCENTS; None if too few samples lie beyond it or were unanswered."""

    system: str
    values: tuple[float | None, ...]
    samples: int


def samples_needed(percent: float) -> int:
    """How many samples a percentile needs: 10 for p50, 5,000 for p99.9 (F31)."""
    return math.ceil(BEYOND * 100 / (100 - percent) - 1e-6)


def of_samples(system: str, milliseconds: np.ndarray) -> Quantiles:
    """The percentiles of single queries, computed like the stored statistics."""
    count = len(milliseconds)
    values = [
        float(np.percentile(milliseconds, percent, method="linear"))
        if count >= samples_needed(percent)
        else None
        for percent in PERCENTS
    ]
    return Quantiles(system, tuple(values), count)


def of_histogram(system: str, histogram: Histogram) -> Quantiles:
    """The percentiles of a histogram; unanswered queries count as slower than every answered one."""
    count = histogram.count + histogram.missing
    values = [
        histogram.percentile(percent) if count >= samples_needed(percent) else None for percent in PERCENTS
    ]
    return Quantiles(system, tuple(None if value is None else value / 1e6 for value in values), count)


def run_quantiles(result: Result, systems: Sequence[str]) -> tuple[Quantiles, ...]:
    """Latency curves of a run's own timings: every query of every run, one at a time."""
    if not systems:
        return ()
    table = rows_where(result, LATENCIES, [("system", "in", list(systems))])
    rows = table.select(["system", "total_ms"]).drop_null()
    names = rows["system"].combine_chunks().dictionary_encode()
    codes, times = names.indices.to_numpy(), rows["total_ms"].to_numpy()
    place = {name: code for code, name in enumerate(names.dictionary.to_pylist())}
    by_system = {name: times[codes == place[name]] for name in systems if name in place}
    return tuple(of_samples(name, samples[np.isfinite(samples)]) for name, samples in by_system.items())


def run_chart(result: Result, systems: Sequence[str]) -> Chart | None:
    """The chart of a run's own timings; None if nothing was timed."""
    rows = run_quantiles(result, systems)
    return chart("latency", rows, {name: place for place, name in enumerate(systems, start=1)}, HOW)


def chart(
    name: str, rows: Sequence[Quantiles], places: Mapping[str, int], caption: str, under: str = ""
) -> Chart | None:
    """The curves with their table; None if no percentile is known."""
    lines = [line for row in rows if (line := _line(row, places[row.system])) is not None]
    if not lines:
        return None
    x = Axis("share of questions", _name, log=True, higher_is_better=True, ticks=_ticks(lines))
    y = Axis("latency", say.milliseconds, log=True, higher_is_better=False)
    return Chart(
        name=name,
        finding=finding(rows, under),
        caption=caption,
        plot=LineChart(tuple(lines), x, y),
        grid=TextTable(("system", *map(_label, PERCENTS), "samples"), tuple(map(cells, rows))),
        notes=tuple(_notes(rows)),
        hint=f"Both scales are logarithmic.{_grey(lines)}",
    )


def finding(rows: Sequence[Quantiles], under: str = "") -> str:
    """How quickly the fastest and the slowest system answer most queries."""
    percent, ranked = _comparable(rows)
    if not ranked:
        return "Too few samples for a latency curve"
    (low, fastest), (high, slowest) = ranked[0], ranked[-1]
    first = f"{under}{fastest} answers {percent:g}{say.TIED}% of questions within {say.milliseconds(low)}"
    return first if fastest == slowest else f"{first}; {slowest} needs {say.milliseconds(high)}"


def cells(row: Quantiles) -> tuple[str, ...]:
    """A row of the table."""
    return (row.system, *map(say.milliseconds, row.values), f"{row.samples:,}")


def _comparable(rows: Sequence[Quantiles]) -> tuple[float, list[tuple[float, str]]]:
    """The highest percentile that most systems have, up to p99, with the systems that have it, fastest first."""
    best: tuple[float, list[tuple[float, str]]] = (0.0, [])
    for place, percent in enumerate(PERCENTS):
        ranked = sorted((v, row.system) for row in rows if (v := row.values[place]) is not None)
        if percent <= 99 and ranked and len(ranked) >= len(best[1]):
            best = (percent, ranked)
    return best


def _line(row: Quantiles, place: int) -> Curve | None:
    points = [(_place(p), v) for p, v in zip(PERCENTS, row.values, strict=True) if v is not None and v > 0]
    return Curve(place, row.system, tuple(points)) if points else None


def _ticks(lines: Iterable[Curve]) -> tuple[float, ...]:
    """The percentiles that any curve reaches; p75 and p95 are too close to others to be labelled."""
    reached = {x for line in lines for x, _ in line.points}
    return tuple(_place(p) for p in (50.0, 90.0, 99.0, 99.9) if _place(p) in reached)


def _place(percent: float) -> float:
    """The position of a percentile on the axis: one in how many queries takes longer."""
    return round(100 / (100 - percent), 6)


def _name(place: float) -> str:
    return _label(round(100 - 100 / place, 3))


def _label(percent: float) -> str:
    return f"p{percent:g}"


def _grey(lines: Sequence[Curve]) -> str:
    rest = sum(line.place > COLOURS for line in lines)
    return f" Grey: the other {say.count(rest, 'system')}, in the table." if rest else ""


def _notes(rows: Sequence[Quantiles]) -> Iterable[str]:
    """Why percentiles are missing."""
    for place, percent in enumerate(PERCENTS):
        few = [
            row.samples for row in rows if row.values[place] is None and row.samples < samples_needed(percent)
        ]
        if few:
            most = f"{max(few):,} samples or fewer" if min(few) != max(few) else f"{few[0]:,} samples"
            yield f"{_label(percent)} needs {samples_needed(percent):,} samples; there are {most}"
            break
    if any(
        row.values[i] is None and row.samples >= samples_needed(p)
        for row in rows
        for i, p in enumerate(PERCENTS)
    ):
        yield "percentiles beyond the answered questions are unknown"
