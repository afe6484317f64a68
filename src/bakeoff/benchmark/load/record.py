"""A load on disk: the rows of its tables, and its record under the names other tools expect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from bakeoff import registry
from bakeoff.benchmark.clients.merged_loop import ClientResult
from bakeoff.benchmark.load.sentences import closing_sentences, compare_loads
from bakeoff.benchmark.load.session import LoadSession
from bakeoff.benchmark.passes import LoadPoint, Pass, pass_percentiles
from bakeoff.benchmark.resources.usage import Resources
from bakeoff.benchmark.results.histogram import Histogram
from bakeoff.benchmark.results.load_results import (
    LOAD_CLIENT_HISTOGRAMS,
    LOAD_CLIENTS,
    LOAD_HISTOGRAMS,
    LOAD_PASSES,
    MISSING,
    USES,
)
from bakeoff.benchmark.results.records import make_record, write_record, write_rows
from bakeoff.benchmark.targets import LoadTarget
from bakeoff.config.experiment_file import Prices
from bakeoff.pipeline.timing import PERCENTILES
from bakeoff.protocols import declared_guarantees
from bakeoff.stats.repeat_summary import RunSummary, summarise
from bakeoff.storage.schemas import Schema
from bakeoff.types import JsonObject


def save_load(folder: Path, session: LoadSession, prices: Prices | None = None) -> dict[str, object]:
    """Write the results so far, each file atomically, and return the record."""
    record, passes = to_dict(session, prices), session.passes
    rows: dict[Schema, Iterable[tuple[object, ...]]] = {
        LOAD_PASSES: map(pass_row, passes),
        LOAD_HISTOGRAMS: chain.from_iterable(map(histogram_rows, passes)),
    }
    if any(one.team for one in passes):
        rows[LOAD_CLIENTS] = chain.from_iterable(map(client_rows, passes))
        rows[LOAD_CLIENT_HISTOGRAMS] = chain.from_iterable(map(client_histogram_rows, passes))
    folder.mkdir(parents=True, exist_ok=True)
    for schema, table in rows.items():
        write_rows(folder / f"{schema.name}.parquet", schema, table, compression="zstd")
    write_record(folder, record)
    return record


def to_dict(session: LoadSession, prices: Prices | None = None) -> dict[str, object]:
    """Everything but the rows, as plain values."""
    points, sentences = session.points(), closing_sentences(session)
    content = {
        "sentence": " ".join(one.text for one in sentences),
        "sentences": [one.to_dict() for one in sentences],
        "origin": asdict(session.origin),
        "demand": asdict(session.demand),
        "harness_us": {load.name: seconds * 1e6 for load, seconds in session.harness.items()},
        "systems": [_system(target, session) for target in session.targets],
        "failed": session.failed,
        "points": [_point(point, session) for point in points],
        "comparisons": [one.to_dict() for one in compare_loads(points, session.demand.seed)],
        "clients": [row for one in session.passes for row in client_dicts(one)],
        "highest": {
            system: _highest([one.rate for one in rates]) for system, rates in session.highest.items()
        },
        "prices": prices.model_dump(mode="json") if prices else None,
        "costs": {system: one.to_dict() for system, one in session.costs.items()},
        "notes": [note for point in points for note in point.notes],
    }
    return make_record("load", session.status, session.stopped, content)


def _system(target: LoadTarget, session: LoadSession) -> dict[str, object]:
    cold, opening = session.cold.get(target.label), target.opening
    return {
        "system": target.label,
        "store": target.store,
        "setting": target.setting,
        "guarantees": _guarantees(target),
        "k": target.k,
        "quality": target.grade.name if target.grade else None,
        "opening_s": opening.seconds,
        "build_time_s": opening.build_seconds,
        "index_mb": None if opening.index_bytes is None else opening.index_bytes / 1e6,
        "first_query_ms": cold.first_ms if cold else None,
        "warm_up_queries": cold.queries if cold else 0,
        "warm_up_mean_ms": cold.rest_mean_ms if cold else None,
        "ingestion": {"resources": _resources(opening.resources)},
    }


def _guarantees(target: LoadTarget) -> list[dict[str, str]]:
    """What the system's store declares about consistency, durability and refresh."""
    if not target.store or target.params is None or target.query is None:
        return []
    plugin = registry.load("stores", target.store)
    return [asdict(one) for one in declared_guarantees(plugin, target.params, target.query)]


def _point(point: LoadPoint, session: LoadSession) -> JsonObject:
    k = next((target.k for target in session.targets if target.label == point.system), None)
    return {
        "system": point.system,
        "load": point.load.name,
        **asdict(point.load),
        "probe": point.probe,
        "top_k": k,
        "runs": point.runs,
        "complete": point.complete,
        "cut_short": point.cut_short,
        "avg_latency_ms": _alias(point.mean_ms),
        "queries_per_second": _alias(point.qps),
        "recall_at_k": _alias(point.quality),
        "latency_ms": {
            "mean": _spread(point.mean_ms),
            **{row.name.removesuffix("_ms"): {"across_queries": row.to_dict()} for row in point.latencies},
        },
        "qps_measured": _spread(point.qps),
        "quality": _spread(point.quality),
        "sent_late_ms": {row.name.removesuffix("_ms"): row.to_dict() for row in point.lags},
        **{
            name: getattr(point, name)
            for name in ("sent", "answered", "errors", "timeouts", "unsent", "short")
        },
        "reached": point.reached,
        "harness_share": point.harness_share,
        "harness_over_limit": point.harness_over_limit,
        "resources": {"client": asdict(point.client), "server": asdict(point.server), "joules": point.joules},
        "notes": list(point.notes),
    }


def _alias(summary: RunSummary) -> dict[str, object]:
    """The structure of S3-14: median, sample std, [q1, q3]."""
    iqr = None if summary.q1 is None else [summary.q1, summary.q3]
    return {"median": summary.median, "std": summary.sd, "iqr": iqr}


def _spread(summary: RunSummary) -> dict[str, object]:
    values = {
        "runs": summary.n,
        **_alias(summary),
        "ddof": 1,
        "values": list(summary.values),
        "note": summary.note,
    }
    return {"across_runs": values}


def _highest(rates: Sequence[float | None]) -> dict[str, object]:
    """Queries per second that met the SLO; a run in which no rate did counts as missing, not as zero."""
    measured = [rate for rate in rates if rate is not None]
    return {**_spread(summarise(measured)), "runs_without": len(rates) - len(measured)}


def _resources(used: Resources) -> dict[str, object]:
    """Client and server figures separately, the client's under S3-12's names, and energy."""
    return {
        **{use: getattr(used.client, use) for use in USES},
        "client": asdict(used.client),
        "server": asdict(used.server),
        "energy": asdict(used.energy),
    }


def pass_row(one: Pass) -> tuple[object, ...]:
    """A pass."""
    latencies = {row.name: row.milliseconds for row in pass_percentiles(one.latency)}
    lags = {row.name: row.milliseconds for row in pass_percentiles(one.lag)} if one.lag is not None else {}
    loop, used = one.loop, one.resources
    return (
        one.system, one.load.name, one.load.kind, one.load.clients, one.load.concurrency, one.load.rate, one.run,
        one.probe, loop.sent, loop.answered, loop.errors, loop.timeouts, loop.unsent, one.short, loop.seconds, one.qps,
        loop.mean_ms, *(latencies[f"p{percent}_ms"] for percent in PERCENTILES), lags.get("p99_ms"), one.quality,
        loop.drift, None if one.harness_seconds is None else one.harness_seconds * 1e6, one.harness_share,
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
    latencies = {row.name: row.milliseconds for row in pass_percentiles(member.latency())}
    lag = member.lag()
    lags = {row.name: row.milliseconds for row in pass_percentiles(lag)} if lag is not None else {}
    counts = (
        (report.sent, report.answered, report.errors, report.timeouts, report.unsent)
        if report
        else (None,) * 5
    )
    rate = None if one.window is None or member.in_window is None else member.in_window / one.window.seconds
    return (
        member.name, member.host, *counts, member.began, member.ended, member.in_window, rate,
        report.mean_ms if report else None, latencies["p50_ms"], latencies["p99_ms"], lags.get("p99_ms"),
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
