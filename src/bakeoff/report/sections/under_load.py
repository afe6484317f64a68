"""The report's section on load: latency curves, latency against rate or clients, and speed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from bakeoff.benchmark.results.histogram import Histogram, merge_histograms
from bakeoff.benchmark.results.load_results import MISSING, LoadResult, all_loads, load_weight, open_load
from bakeoff.benchmark.results.speeds import explain_missing_p
from bakeoff.errors import BakeoffError
from bakeoff.report.render import number_text as say
from bakeoff.report.sections import percentiles
from bakeoff.report.sections.parts import Axis, Chart, Curve, LineChart, ReportSection, TextTable
from bakeoff.runs.analysis import Result
from bakeoff.stats.number_format import capital
from bakeoff.types import Json

Point = Mapping[str, Json]
TITLE = "Under load"
TAILS = ("p99", "p95", "p90", "p50")
NOTES = 6
MOST = 25
"""Systems in a figure or table, as in the table of systems."""


def load_section(result: Result, systems: Sequence[str]) -> ReportSection | None:
    """Latencies and rates from the newest load of the run; `systems` are in the report's order."""
    if not all_loads(result.path):
        return None
    try:
        load_result = open_load(result.path)
        charts = tuple(load_charts(load_result, systems))
    except BakeoffError as exc:
        return ReportSection("load", TITLE, str(exc))
    record = load_result.record
    points = shown_points(record, systems)
    headings = ("system", "load", "queries/s", "IQR", "p50", "p95", "p99", "errors", "server memory")
    table = [TextTable(headings, tuple(map(_row, points)), 2)] if points else []
    grids = [*_highest(record), *table, *_comparisons(record)]
    return ReportSection(
        "load", TITLE, _summary(record), tuple(grids), tuple(_notes(load_result, result)), charts
    )


def shown_points(record: Mapping[str, Json], systems: Sequence[str]) -> list[Point]:
    """The points of the first systems; steps of a search for the highest rate only if there are no others."""
    points = [point for point in record["points"] if not point["probe"]] or record["points"]
    number = system_numbers(record, systems)
    few = [point for point in points if number[point["system"]] <= MOST]
    return sorted(few, key=lambda point: (number[point["system"]], load_weight(point)))


def system_numbers(record: Mapping[str, Json], systems: Sequence[str]) -> dict[str, int]:
    """The number of each system in the figures: its place in the report, then other systems."""
    names = dict.fromkeys((*systems, *(point["system"] for point in record["points"])))
    return {name: place for place, name in enumerate(names, start=1)}


def _summary(record: Mapping[str, Json]) -> str:
    """What was measured, and the highest rates if they were searched for."""
    if record["stopped"] or not record["points"] or record["highest"]:
        sentence: str = record["sentence"]
        return sentence
    loads = [point["load"] for point in loads_of(record["points"])]
    count = say.count(len({point["system"] for point in record["points"]}), "system")
    runs = say.count(record["demand"]["runs"], "run")
    return f"{count} under {say.name_some(loads, 9)}, {runs} of about {record['demand']['seconds']:g} s each, in turns."


def _highest(record: Mapping[str, Json]) -> Iterator[TextTable]:
    """The highest rate that met the latency limit, if it was searched for."""
    rows = []
    for system, stored in list(record["highest"].items())[:MOST]:
        across = stored["across_runs"]
        iqr = f"{across['iqr'][0]:,.0f} – {across['iqr'][1]:,.0f}" if across["iqr"] else say.ABSENT
        rows.append((system, say.whole(across["median"]), iqr, f"{stored['runs_without']:,}"))
    if rows:
        yield TextTable(("system", "highest rate", "IQR", "runs at no rate"), tuple(rows))


def _comparisons(record: Mapping[str, Json]) -> Iterator[TextTable]:
    """Welch's test between systems under each load; loads stored by earlier versions have none."""
    rows = []
    for pair in record.get("comparisons", ())[: MOST * 4]:
        has_interval = pair["low"] is not None
        ends = f"{pair['low']:.3g} – {pair['high']:.3g}" if has_interval else say.ABSENT
        ratio = say.ABSENT if pair["ratio"] is None else f"{pair['ratio']:.3g}"
        p = say.p_value(pair["p_holm"])
        rows.append((pair["a"], pair["b"], pair["load"], pair["measure"], ratio, ends, p))
    if rows:
        yield TextTable(
            ("system", "against", "load", "of", "ratio", "95 %", "p (Welch, Holm)"), tuple(rows), 4
        )


def _notes(load_result: LoadResult, result: Result) -> Iterator[str]:
    """Failures, the first notes of the measurement, and how it was made."""
    record = load_result.record
    yield from (f"{system} failed: {why}" for system, why in record["failed"].items())
    yield from explain_missing_p(pair["note"] for pair in record.get("comparisons", ()))
    notes = list(dict.fromkeys(record["notes"]))
    yield from notes[:NOTES]
    if len(notes) > NOTES:
        yield f"{len(notes) - NOTES:,} more notes in {load_result.path.relative_to(result.path)}/record.json"
    yield f"measured with {_command(result, record)}"


def loads_of(points: Sequence[Point]) -> list[Point]:
    """One point of each load, the lightest first."""
    by_load = {point["load"]: point for point in points}
    return sorted(by_load.values(), key=load_weight)


def load_charts(load_result: LoadResult, systems: Sequence[str]) -> Iterator[Chart]:
    """The figures that have data."""
    number, points = system_numbers(load_result.record, systems), shown_points(load_result.record, systems)
    loads = loads_of(points)
    if not points:
        return
    curve = _curve_chart(load_result, points, loads[-1], number)
    if curve is not None:
        yield curve
    if len(loads) > 1:
        yield from _against_load(points, loads, number)


def _curve_chart(
    load_result: LoadResult, points: Sequence[Point], heaviest: Point, number: Mapping[str, int]
) -> Chart | None:
    """The percentile curves under the heaviest load."""
    histograms = _histograms(load_result, heaviest["load"])
    rows = [
        percentiles.of_histogram(system, histograms[system])
        for system in dict.fromkeys(point["system"] for point in points)
        if system in histograms
    ]
    caption = f"{_point_text(heaviest)}; every query of every run."
    return percentiles.chart("load_latency", rows, number, caption, f"{_point_text(heaviest)}, ")


def _histograms(load_result: LoadResult, load: str) -> dict[str, Histogram]:
    """The latencies of each system under a load, all runs together."""
    import pyarrow.compute as pc

    table = load_result.histograms
    mine = pc.and_(pc.equal(table["load"], load), pc.equal(table["what"], "latency"))
    kept = table.filter(mine).select(["system", "bucket", "count"])
    sums = kept.group_by(["system", "bucket"]).aggregate([("count", "sum")]).sort_by("bucket")
    parts: dict[str, Histogram] = {}
    for system in dict.fromkeys(sums["system"].to_pylist()):
        rows = sums.filter(pc.equal(sums["system"], system))
        buckets, counts = rows["bucket"].to_numpy(), rows["count_sum"].to_numpy()
        answered = buckets != MISSING
        gone = int(counts[~answered].sum())
        parts[system] = merge_histograms([Histogram(buckets[answered], counts[answered], gone)])
    return parts


def _against_load(
    points: Sequence[Point], loads: Sequence[Point], number: Mapping[str, int]
) -> Iterator[Chart]:
    """Latency against the load; in a closed loop, speed too."""
    tail = _tail(points)
    closed = loads[0]["kind"] == "closed"
    what = "clients" if closed else "queries sent per second"
    x = Axis(what, say.whole, log=True, higher_is_better=True, ticks=tuple(map(load_weight, loads)))
    at = _point_text(loads[-1])
    if tail is not None:
        value = lambda point: _latency(point, tail)  # noqa: E731
        y = Axis(f"latency {tail}", say.milliseconds, log=True, higher_is_better=False)
        yield from _load_charts(
            number, points, loads, ("latency_by_load", x, y), value, lambda found: _slowest(found, tail, at)
        )
    if closed:
        y = Axis("queries answered per second", say.whole, log=True, higher_is_better=True)
        yield from _load_charts(
            number, points, loads, ("speed_by_load", x, y), _speed, lambda found: _fastest(found, at)
        )


def _load_charts(
    number: Mapping[str, int],
    points: Sequence[Point],
    loads: Sequence[Point],
    drawn: tuple[str, Axis, Axis],
    value: Callable[[Point], float | None],
    finding: Callable[[Sequence[tuple[float, str]]], str],
) -> Iterator[Chart]:
    """One figure of a value against the load; unknown values have no dot."""
    name, x, y = drawn
    by_key = {(point["system"], point["load"]): point for point in points}
    systems = list(dict.fromkeys(point["system"] for point in points))
    table = [[_value(by_key.get((system, load["load"])), value) for load in loads] for system in systems]
    weights = [load_weight(load) for load in loads]
    lines = []
    for system, values in zip(systems, table, strict=True):
        dots = tuple((at, one) for at, one in zip(weights, values, strict=True) if one)
        if dots:
            lines.append(Curve(number[system], system, dots))
    if lines:
        headings = ("system", *(f"{y.name}, {load['load']}" for load in loads))
        rows = [(s, *map(y.say, values)) for s, values in zip(systems, table, strict=True)]  # type: ignore[arg-type] # say takes null
        last = sorted((v[-1], s) for s, v in zip(systems, table, strict=True) if v[-1] is not None)
        caption = "Medians of the runs." if y.higher_is_better else "Every query of every run."
        title = finding(last) if last else f"{capital(y.name)} is not known under the heaviest load"
        hint = "Both scales are logarithmic."
        yield Chart(
            name=name,
            finding=title,
            caption=caption,
            plot=LineChart(tuple(lines), x, y),
            grid=TextTable(headings, tuple(rows)),
            notes=(),
            hint=hint,
        )


def _slowest(values: Sequence[tuple[float, str]], tail: str, at: str) -> str:
    (low, first), (high, last) = values[0], values[-1]
    start = f"{at}, {tail} of {first} is {say.milliseconds(low)}"
    return start if first == last else f"{start}, of {last} {say.milliseconds(high)}"


def _fastest(values: Sequence[tuple[float, str]], at: str) -> str:
    (low, last), (high, first) = values[0], values[-1]
    start = f"{at}, {first} answers {say.whole(high)} queries per second"
    return start if first == last else f"{start}, {last} {say.whole(low)}"


def _tail(points: Sequence[Point]) -> str | None:
    """The highest percentile that is known at most points."""
    counts = {name: sum(_latency(point, name) is not None for point in points) for name in TAILS}
    best = max(counts.values())
    return next((name for name in TAILS if counts[name] == best), None) if best else None


def _point_text(point: Point) -> str:
    return f"At {point['load']}" if point["rate"] is not None else f"With {point['load']}"


def _value(point: Point | None, value: Callable[[Point], float | None]) -> float | None:
    return None if point is None else value(point)


def _latency(point: Point, name: str) -> float | None:
    latency = point["latency_ms"].get(name) or {}
    value: float | None = latency.get("across_queries", {}).get("value")
    return value


def _speed(point: Point) -> float | None:
    value: float | None = point["queries_per_second"]["median"]
    return value


def _row(point: Point) -> tuple[str, ...]:
    rate = point["queries_per_second"]
    iqr = f"{rate['iqr'][0]:,.0f} – {rate['iqr'][1]:,.0f}" if rate["iqr"] else say.ABSENT
    times = [say.milliseconds(_latency(point, name)) for name in ("p50", "p95", "p99")]
    lost = point["errors"] + point["timeouts"]
    memory = point["resources"]["server"].get("peak_memory_mb")
    memory_text = say.ABSENT if memory is None else f"{memory:,.0f}{say.TIED}MB"
    return (point["system"], point["load"], say.whole(rate["median"]), iqr, *times, f"{lost:,}", memory_text)


def _command(result: Result, record: Mapping[str, Json]) -> str:
    """The command that repeats this load, without the choice of systems."""
    demand = record["demand"]
    words = f"bakeoff load {result.record.run}"
    if demand.get("slo"):
        slo = demand["slo"]
        words += f' --find-max-rate --slo "p{slo["percentile"]}<{slo["milliseconds"]:g}ms"'
    elif demand.get("rates"):
        words += f" --rates {','.join(f'{rate:g}' for rate in demand['rates'])}"
    else:
        words += f" --concurrency {','.join(map(str, demand['concurrency']))}"
    clients = demand.get("processes") or (demand["clients"] if demand["clients"] != "threads" else "")
    shared = f" --clients {clients}" if clients else ""
    return f"{words}{shared} --runs {demand['runs']} --seconds {demand['seconds']:g}"
