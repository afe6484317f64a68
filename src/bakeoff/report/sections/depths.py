"""The report's section on depths: quality and speed at each top_k, spread over runs, and Welch's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bakeoff.benchmark.results.configurations import PHASES, Configurations, read_configurations
from bakeoff.benchmark.results.speeds import ALPHA, SpeedComparison
from bakeoff.errors import DataError
from bakeoff.report.render import number_text as say
from bakeoff.report.sections.parts import Axis, Chart, Curve, LineChart, ReportSection, TextTable
from bakeoff.runs.analysis import Result
from bakeoff.stats.number_format import ratio_text
from bakeoff.stats.repeat_summary import RunSummary

TITLE = "Each depth measured by itself"
CAPTION = (
    "Medians over independent runs, each read, embedded, indexed and searched from scratch; bars: quartiles."
)
HINT = "Every run is a dot; the line joins the medians."
TEST = "Welch's t-test on logarithms over independent runs; p corrected for all pairs of a depth (Holm)."


@dataclass(frozen=True, slots=True)
class _DepthTable:
    """A figure over depths: its name in the table, its file, its axis and its number format."""

    figure: str
    file: str
    name: str
    say: Callable[[float | None], str]
    log: bool = False


SHOWN = (
    _DepthTable("R", "recall_at_k", "Recall@K", say.score),
    _DepthTable("P_unique", "precision_at_k", "Precision@K (of distinct documents)", say.score),
    _DepthTable("RR", "mrr_at_k", "MRR@K", say.score),
    _DepthTable("latency_ms", "latency_at_k", "mean latency of a search", say.milliseconds, log=True),
)


def depths_section(result: Result, systems: Sequence[str]) -> ReportSection | None:
    """The section, if configurations were measured independently; `systems` are in the report's order."""
    try:
        configurations = read_configurations(result)
    except DataError as exc:
        return ReportSection("depths", TITLE, str(exc))
    if configurations is None:
        return None
    shown = [system for system in systems if system in configurations.systems]
    if not shown:
        return None
    seed = result.record.seed
    grids = (
        _at_depths(configurations, shown),
        _ingestion(configurations, shown),
        *_comparisons(configurations, seed),
    )
    charts = tuple(_chart(configurations, shown, figure) for figure in SHOWN)
    finding = " ".join(speed_sentences(configurations, seed))
    return ReportSection("depths", TITLE, finding, grids, tuple(_notes(configurations, shown)), charts)


def speed_sentences(configurations: Configurations, seed: int) -> Iterator[str]:
    """Speed at the largest depth: the fastest system against each other one."""
    depths = sorted({k for system in configurations.systems for k in configurations.depths(system)})
    rates = (
        {system: configurations.across_runs(system, "qps", depths[-1]) for system in configurations.systems}
        if depths
        else {}
    )
    medians = {system: one.median for system, one in rates.items() if one.median is not None}
    if not medians:
        return
    first = max(medians, key=lambda system: medians[system])
    yield f"At top {depths[-1]}: {first} answers {say.whole(medians[first])} queries/s."
    for pair in configurations.compare("qps", depths[-1], seed):
        if first in (pair.a, pair.b):
            yield _sentence(first, pair)


def _sentence(first: str, pair: SpeedComparison) -> str:
    other = pair.b if pair.a == first else pair.a
    if pair.p_holm is None or pair.ratio is None:
        return f"Not tested against {other}: {pair.note or 'too few runs'}."
    if pair.p_holm >= ALPHA:
        return f"It is not distinguishable from {other} (p {say.p_value(pair.p_holm)})."
    ratio = pair.ratio if pair.a == first else 1 / pair.ratio
    return f"It is {ratio_text(ratio)} times as fast as {other} (p {say.p_value(pair.p_holm)})."


def _at_depths(configurations: Configurations, systems: Sequence[str]) -> TextTable:
    headings = (
        "system",
        "top k",
        "runs",
        "recall",
        "precision",
        "MRR",
        "latency",
        "IQR",
        "queries/s",
        "CPU",
        "memory",
    )
    rows = [_row(configurations, system, k) for system in systems for k in configurations.depths(system)]
    return TextTable(headings, tuple(rows))


def _row(configurations: Configurations, system: str, k: int) -> tuple[str, ...]:
    def across(figure: str) -> RunSummary:
        return configurations.across_runs(system, figure, k)

    latency = across("latency_ms")
    cpu = across("search_avg_cpu_percent").median
    return (
        system,
        str(k),
        str(latency.n),
        *(_with_deviation(across(figure)) for figure in ("R", "P_unique", "RR")),
        say.milliseconds(latency.median),
        f"{say.milliseconds(latency.q1)} – {say.milliseconds(latency.q3)}"
        if latency.sd is not None
        else say.ABSENT,
        say.whole(across("qps").median),
        say.percent(cpu),
        say.megabytes(across("search_peak_memory_mb").median),
    )


def _with_deviation(across: RunSummary) -> str:
    text = say.score(across.median)
    return f"{text} ± {say.score(across.sd)}" if across.sd else text


def _ingestion(configurations: Configurations, systems: Sequence[str]) -> TextTable:
    names = (*PHASES, "total_s")
    headings = ("ingestion", *(name.removesuffix("_s") for name in names), "CPU", "memory", "growth")
    rows = []
    for system in systems:
        cpu = configurations.across_runs(system, "ingestion_avg_cpu_percent").median
        memory = [
            configurations.across_runs(system, name).median
            for name in ("ingestion_peak_memory_mb", "memory_growth_mb")
        ]
        times = [_time(configurations.across_runs(system, name)) for name in names]
        used = say.percent(cpu)
        rows.append((system, *times, used, *map(say.megabytes, memory)))
    return TextTable(headings, tuple(rows))


def _time(across: RunSummary) -> str:
    text = say.seconds(across.median)
    return f"{text} ± {say.seconds(across.sd)}" if across.sd is not None else text


def _comparisons(configurations: Configurations, seed: int) -> Iterator[TextTable]:
    depths = sorted({k for system in configurations.systems for k in configurations.depths(system)})
    rows = [_pair(k, pair) for k in depths for pair in configurations.compare("qps", k, seed)]
    if rows:
        yield TextTable(
            ("speed of", "against", "top k", "ratio", "95 %", "t", "df", "p (Holm)"), tuple(rows), 2
        )


def _pair(k: int, pair: SpeedComparison) -> tuple[str, ...]:
    def number(value: float | None) -> str:
        return say.ABSENT if value is None else f"{value:.3g}"

    ends = say.ABSENT if pair.low is None else f"{number(pair.low)} – {number(pair.high)}"
    tested = (number(pair.t), number(pair.df), say.p_value(pair.p_holm))
    return (pair.a, pair.b, str(k), number(pair.ratio), ends, *tested)


def _chart(configurations: Configurations, systems: Sequence[str], shown: _DepthTable) -> Chart:
    curves = [
        curve
        for place, system in enumerate(systems, 1)
        if (curve := _curve(configurations, system, place, shown.figure)) is not None
    ]
    ticks = tuple(float(k) for k in sorted({k for system in systems for k in configurations.depths(system)}))
    x = Axis("top k", lambda value: f"{value:g}", log=True, higher_is_better=True, ticks=ticks)
    y = Axis(shown.name, shown.say, shown.log, higher_is_better=not shown.log)
    rows = tuple(
        (system, *(shown.say(configurations.across_runs(system, shown.figure, int(k)).median) for k in ticks))
        for system in systems
    )
    grid = TextTable(("system", *(f"top {k:g}" for k in ticks)), rows)
    return Chart(
        name=shown.file,
        finding=f"{shown.name} at each depth",
        caption=CAPTION,
        plot=LineChart(tuple(curves), x, y),
        grid=grid,
        notes=(),
        hint=HINT,
    )


def _curve(configurations: Configurations, system: str, place: int, figure: str) -> Curve | None:
    across = {k: configurations.across_runs(system, figure, k) for k in configurations.depths(system)}
    points = tuple((float(k), value) for k, one in across.items() for value in one.values)
    spread = tuple(
        (float(k), one.q1, one.q3)
        for k, one in across.items()
        if one.sd and one.q1 is not None and one.q3 is not None
    )
    return Curve(place, system, points, spread=spread) if points else None


def _notes(configurations: Configurations, systems: Sequence[str]) -> Iterator[str]:
    yield f"Latency covers the search, not the embedding of the query. {TEST}"
    yield "CPU is in percent of one core, for the process that holds only the engine, or for its server."
    yield from (f"{system} could not be measured: {why}" for system, why in configurations.failures().items())
    for system in systems:
        note = configurations.note(system, "search_avg_memory_mb", configurations.depths(system)[0])
        if note:
            yield f"{system}: {note}"
