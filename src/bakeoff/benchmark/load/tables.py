"""The rows of a load's tables, from its passes."""

from __future__ import annotations

from collections.abc import Iterable

from bakeoff.benchmark.clients.merged_loop import ClientResult
from bakeoff.benchmark.passes import Pass, pass_percentiles
from bakeoff.benchmark.results.histogram import Histogram
from bakeoff.benchmark.results.load_results import LOAD_CLIENTS, MISSING, USES
from bakeoff.types import JsonObject


def pass_row(one: Pass) -> tuple[object, ...]:
    """A pass."""
    shown = {row.name: row.milliseconds for row in pass_percentiles(one.latency)}
    late = {row.name: row.milliseconds for row in pass_percentiles(one.lag)} if one.lag is not None else {}
    loop, used = one.loop, one.resources
    return (
        one.system, one.load.name, one.load.kind, one.load.clients, one.load.concurrency, one.load.rate, one.run,
        one.probe, loop.sent, loop.answered, loop.errors, loop.timeouts, loop.unsent, one.short, loop.seconds, one.qps,
        loop.mean_ms, shown["p50_ms"], shown["p90_ms"], shown["p95_ms"], shown["p99_ms"], late.get("p99_ms"),
        one.quality, loop.drift, None if one.harness_seconds is None else one.harness_seconds * 1e6, one.harness_share,
        one.reached, *(getattr(side, use) for side in (used.client, used.server) for use in USES),
        used.energy.joules, loop.stopped, loop.error, one.load.team,
        one.window.seconds if one.window else None, one.window.answered if one.window else None,
    )  # fmt: skip


def histogram_rows(one: Pass) -> list[tuple[object, ...]]:
    """The buckets of a pass."""
    head = (one.system, one.load.name, one.run)
    return [(*head, *row) for row in _buckets(one.latency, one.lag)]


def client_histogram_rows(one: Pass) -> list[tuple[object, ...]]:
    """The buckets of each client process of a pass."""
    head = (one.system, one.load.name, one.run)
    return [
        (*head, member.name, *row) for member in one.team for row in _buckets(member.latency(), member.lag())
    ]


def client_rows(one: Pass) -> list[tuple[object, ...]]:
    """Each client process of a pass."""
    return [(one.system, one.load.name, one.run, *_client(member, one)) for member in one.team]


def client_dicts(one: Pass) -> list[JsonObject]:
    """The same as plain values by name."""
    head = {"system": one.system, "load": one.load.name, "run": one.run}
    return [{**head, **client_values(member, one)} for member in one.team]


def client_values(member: ClientResult, one: Pass) -> JsonObject:
    """The figures of a client process by the names of their columns."""
    names = [name for name, _ in LOAD_CLIENTS.columns[3:]]
    return dict(zip(names, _client(member, one), strict=True))


def _client(member: ClientResult, one: Pass) -> tuple[object, ...]:
    report, clock = member.report, member.clock
    shown = {row.name: row.milliseconds for row in pass_percentiles(member.latency())}
    lag = member.lag()
    late = {row.name: row.milliseconds for row in pass_percentiles(lag)} if lag is not None else {}
    counts = (
        (report.sent, report.answered, report.errors, report.timeouts, report.unsent)
        if report
        else (None,) * 5
    )
    rate = None if one.window is None or member.in_window is None else member.in_window / one.window.seconds
    return (
        member.name, member.host, *counts, member.began, member.ended, member.in_window, rate,
        report.mean_ms if report else None, shown["p50_ms"], shown["p99_ms"], late.get("p99_ms"),
        report.use.avg_cpu_percent if report else None, report.use.peak_memory_mb if report else None,
        clock.before.nanoseconds / 1e6, clock.unsure_ms, clock.drift_ppm, clock.drift_unsure_ppm, clock.before.wall_ms,
        member.lost, "; ".join(member.notes),
    )  # fmt: skip


def _buckets(latency: Histogram, lag: Histogram | None) -> Iterable[tuple[object, ...]]:
    for what, histogram in (("latency", latency), ("lag", lag)):
        if histogram is None:
            continue
        columns = (histogram.buckets, *histogram.edges, histogram.counts)
        yield from ((what, *row) for row in zip(*(column.tolist() for column in columns), strict=True))
        if histogram.missing:
            yield (what, MISSING, None, None, histogram.missing)
