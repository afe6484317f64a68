"""A load test on the terminal: speed, latencies, counts, resources and cost of each system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bakeoff.benchmark.load.sentences import closing_sentences, compare_loads
from bakeoff.benchmark.passes import LoadPoint
from bakeoff.benchmark.results.speeds import explain_missing_p
from bakeoff.cli import console
from bakeoff.runtime.count_text import decimal

if TYPE_CHECKING:
    from bakeoff.benchmark.clients.merged_loop import ClientResult
    from bakeoff.benchmark.load.load_systems import LoadOutcome
    from bakeoff.benchmark.load.session import LoadSession
    from bakeoff.benchmark.passes import Pass


WIDE = 30
"""Longer labels are printed once and then replaced by numbers."""
SPEED = ["system", "load", "QPS", "IQR", "mean ms", "p50", "p90", "p95", "p99"]
COUNTS = [
    "system",
    "load",
    "sent",
    "answered",
    "errors",
    "time-outs",
    "unsent",
    "late p99",
    "client CPU",
    "server CPU",
]


def print_load(done: LoadOutcome) -> None:
    """Print the tables, the notes and the closing sentences."""
    session = done.found
    origin = session.origin
    console.print_line(
        f"{origin.name} ({origin.kind}): {origin.queries:,} queries, repeats: {session.demand.runs}, "
        "systems taking turns"
    )
    _print_harness(session)
    names = _names(session)
    points = [point for point in session.points() if not point.probe] or list(session.points())
    _print_systems(session, names)
    if points:
        _print_speed(points, session, names)
        _print_comparisons(session, names)
        _print_counts(points, names)
        print_clients(session, names)
    _print_costs(done)
    for note in dict.fromkeys(note for point in points for note in point.notes):
        console.print_line(f"– {note}", style="dim")
    for label, why in session.failed.items():
        console.warn(f"{label}: {why}")
    console.print_line()
    for sentence in closing_sentences(session):
        console.print_line(sentence.text, style="bold")
    console.print_line(f"{done.folder}/record.json")


def _print_comparisons(session: LoadSession, names: dict[str, str]) -> None:
    """Print every pair under each load, with its ratio and corrected p."""
    comparisons = compare_loads(session.points(), session.demand.seed)
    rows = [
        [
            names[comparison.pair.a],
            names[comparison.pair.b],
            comparison.load,
            comparison.measure,
            decimal(comparison.pair.ratio, 2),
            _interval(comparison.pair.low, comparison.pair.high),
            "–" if comparison.pair.p_holm is None else f"{comparison.pair.p_holm:.3g}",
        ]
        for comparison in comparisons
    ]
    if rows:
        console.print_line("Welch's test on logarithms over runs, Holm-corrected", style="bold")
        console.table(
            ["system", "against", "load", "measure", "ratio", "95 % interval", "p"], rows, right=(4, 5, 6)
        )
        for reason in explain_missing_p(comparison.pair.note for comparison in comparisons):
            console.print_line(f"– {reason}", style="dim")
        console.print_line()


def _interval(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{low:.3g} – {high:.3g}"


def _print_harness(session: LoadSession) -> None:
    parts = [f"{seconds * 1e6:,.2f} µs at {load.name}" for load, seconds in list(session.harness.items())[:6]]
    if parts:
        console.print_line(f"Overhead of the harness (null store): {', '.join(parts)} per query.")
    console.print_line()


def _names(session: LoadSession) -> dict[str, str]:
    """Each system's label, or its number if labels are too long for the table."""
    labels = [target.label for target in session.targets]
    if all(len(label) <= WIDE for label in labels):
        return {label: label for label in labels}
    return {label: f"#{place}" for place, label in enumerate(labels, 1)}


def _print_speed(points: list[LoadPoint], session: LoadSession, names: dict[str, str]) -> None:
    grade = next((target.grade.name for target in session.targets if target.grade), None)
    headers = [*SPEED, *([grade] if grade else [])]
    rows = [
        [names[point.system], *_speed(point), *([decimal(_quality(point, session), 3)] if grade else [])]
        for point in points
    ]
    console.table(headers, rows, right=tuple(range(2, len(headers))))
    if any(point.harness_over_limit for point in points):
        console.warn("! the harness takes more than 5 % of that figure; the system is faster than shown")
    console.print_line()


def _speed(point: LoadPoint) -> list[str]:
    qps, mark = point.qps, "!" if point.harness_over_limit else ""
    closed = point.load.kind == "closed"
    p50, *rest = (decimal(row.milliseconds, 3) for row in point.latencies)
    return [
        point.load.name,
        decimal(qps.median, 0) + (mark if closed else ""),
        "–" if qps.q1 is None else f"{qps.q1:,.0f}–{qps.q3:,.0f}",
        decimal(point.mean_ms.median, 3),
        p50 + ("" if closed else mark),
        *rest,
    ]


def _quality(point: LoadPoint, session: LoadSession) -> float | None:
    if point.quality.median is not None:
        return point.quality.median
    return next(
        (
            target.grade.measured
            for target in session.targets
            if target.label == point.system and target.grade
        ),
        None,
    )


def _print_counts(points: list[LoadPoint], names: dict[str, str]) -> None:
    rows = [
        [
            names[point.system], point.load.name, f"{point.sent:,}", f"{point.answered:,}", str(point.errors),
            str(point.timeouts), f"{point.unsent:,}", _late(point), _percent(point.client.avg_cpu_percent),
            _percent(point.server.avg_cpu_percent),
        ]
        for point in points
    ]  # fmt: skip
    console.table(COUNTS, rows, right=tuple(range(2, len(COUNTS))))
    console.print_line()


def _print_systems(session: LoadSession, names: dict[str, str]) -> None:
    """Print each system's opening and build times, first latencies and sizes."""
    rows = []
    for target in session.targets:
        opening, cold = target.opening, session.cold.get(target.label)
        used = opening.resources
        size = None if opening.index_bytes is None else opening.index_bytes / 1e6
        rows.append(
            [
                _label_line(target.label, names), decimal(opening.seconds, 2), decimal(opening.build_seconds, 2),
                decimal(cold.first_ms if cold else None, 3), decimal(cold.rest_mean_ms if cold else None, 3),
                decimal(size, 1), decimal(used.client.peak_memory_mb, 0), decimal(used.server.peak_memory_mb, 0),
            ]
        )  # fmt: skip
    headers = ["system", "open s", "build s", "first ms", "warm ms", "index MB", "client MB", "server MB"]
    if rows:
        console.table(headers, rows, right=tuple(range(1, len(headers))))
        console.print_line()


def _print_costs(done: LoadOutcome) -> None:
    if done.prices is None or not done.found.costs:
        return
    unit = done.prices.currency
    headers = ["system", f"{unit} per million queries", f"{unit} per refresh", f"{unit} per month of storage"]
    rows = [[system, *one.texts] for system, one in done.found.costs.items()]
    console.table(headers, rows, right=(1, 2, 3))
    console.print_line(f"at prices of {done.prices.date}", style="dim")
    for note in dict.fromkeys(note for cost in done.found.costs.values() for note in cost.notes):
        console.print_line(f"– {note}", style="dim")
    console.print_line()


def _label_line(label: str, names: dict[str, str]) -> str:
    return label if names[label] == label else f"{names[label]} {label}"


def _late(point: LoadPoint) -> str:
    return decimal(next((row.milliseconds for row in point.lags if row.name == "p99_ms"), None), 3)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f} %"


MOST_ROWS = 16
"""Further rows are only in the files."""
HEADERS = [
    "system",
    "client",
    "answered",
    "QPS",
    "p99 ms",
    "late p99",
    "began ms",
    "clock off ms",
    "± ms",
    "drift ppm",
]


def print_clients(session: LoadSession, names: Mapping[str, str]) -> None:
    """Print each client of the last pass of each system and load, if there were several processes."""
    last = {(one.system, one.load): one for one in session.passes if one.team}
    if not last:
        return
    rows = [[names[run.system], *_row(member, run)] for run in last.values() for member in run.team]
    console.print_line(
        "Client processes, last run; speeds over the time in which all were sending", style="bold"
    )
    console.table(HEADERS, rows[:MOST_ROWS], right=tuple(range(2, len(HEADERS))))
    if len(rows) > MOST_ROWS:
        console.print_line(f"– {len(rows) - MOST_ROWS} more in load_clients.parquet", style="dim")
    console.print_line()


def _row(member: ClientResult, one: Pass) -> list[str]:
    from bakeoff.benchmark.load.record import client_values

    values = client_values(member, one)
    clock = [values["wall_offset_ms"], values["offset_unsure_ms"]]
    began = values["began_s"]
    if member.lost:
        return [member.name, "lost", *["–"] * 4, *(decimal(value, 3) for value in clock), "–"]
    return [
        member.name,
        f"{values['answered']:,}",
        decimal(values["qps"], 0),
        decimal(values["p99_ms"], 3),
        decimal(values["lag_p99_ms"], 3),
        decimal(None if began is None else round(began * 1e3, 1) + 0.0, 1),  # no minus before a zero
        *(decimal(value, 3) for value in clock),
        decimal(values["drift_ppm"], 1),
    ]
