"""Costs of the systems: latency, size, ingestion phases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.protocols import Guarantee
from bakeoff.report.sections.parts import pareto_front
from bakeoff.report.sections.systems import SystemRow
from bakeoff.runs.analysis import Result
from bakeoff.runs.stored_times import StoredTime, read_times, stored_time

STATISTICS = ("p50_ms", "p90_ms", "p95_ms", "p99_ms", "mean_ms")
PROMISES = "store settings"
"""The column of store settings that affect latency."""
STEPS = ("embed", "search", "fuse", "rerank")


@dataclass(frozen=True, slots=True)
class TradePoint:
    """A system's quality and one cost; on the front, no system is both better and cheaper."""

    place: int
    system: str
    quality: float
    cost: float
    on_front: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyRow:
    """Milliseconds per query: statistics of the total, means of the steps, lowest and highest p50 across runs.

    `guarantees` are the store's settings that trade latency for consistency, durability or freshness (F53).
    """

    system: str
    samples: int
    statistics: tuple[StoredTime, ...]
    steps: tuple[float | None, ...]
    across_runs: tuple[float, float] | None
    guarantees: str = ""


def trade_points(
    rows: Sequence[SystemRow], costs: Mapping[str, float | None], higher_is_better: bool
) -> tuple[TradePoint, ...]:
    """Quality and cost of the systems that have both; a cost of 0 cannot be shown on a log scale."""
    priced = [
        (row, row.primary.value, float(cost))
        for row in rows
        if row.primary.value is not None and (cost := costs.get(row.system))
    ]
    sign = 1.0 if higher_is_better else -1.0
    front = pareto_front([(-value, sign * quality) for _, quality, value in priced])
    return tuple(
        TradePoint(row.place, row.system, quality, value, on)
        for (row, quality, value), on in zip(priced, front, strict=True)
    )


def latency_rows(result: Result, systems: Sequence[str]) -> tuple[LatencyRow, ...]:
    """The stored latencies."""
    stored = read_times(result)
    spread = _across_runs(result) if result.record.runs > 1 else {}
    timed = [system for system in systems if (system, "total", "mean_ms") in stored]
    return tuple(
        LatencyRow(
            system=system,
            samples=stored[system, "total", "mean_ms"][1],
            statistics=tuple(stored_time(stored, system, "total", name) for name in STATISTICS),
            steps=tuple(stored_time(stored, system, step, "mean_ms").value for step in STEPS),
            across_runs=spread.get(system),
            guarantees=_guarantees(result, system),
        )
        for system in timed
    )


def _guarantees(result: Result, system: str) -> str:
    """Consistency, durability and refresh of a system's stores, with the engine's default if it differs."""
    guarantees = [guarantee for guarantee in result.record.guarantees if guarantee.system == system]
    return "; ".join(Guarantee(one.name, one.kind, one.value, one.default).text for one in guarantees)


def _across_runs(result: Result) -> dict[str, tuple[float, float]]:
    """Lowest and highest p50 across runs of each system."""
    rows = result.latencies.select(["system", "repeat", "total_ms"]).drop_null()
    systems = rows["system"].combine_chunks().dictionary_encode()
    codes, repeats = systems.indices.to_numpy(), rows["repeat"].to_numpy()
    times = rows["total_ms"].to_numpy()
    keys = codes.astype(np.int64) * (int(repeats.max(initial=0)) + 1) + repeats
    order = np.argsort(keys, kind="stable")
    groups, starts = np.unique(keys[order], return_index=True)
    medians = [float(np.median(part)) for part in np.split(times[order], starts[1:])] if len(groups) else []
    ranges: dict[str, tuple[float, float]] = {}
    names = systems.dictionary.to_pylist()
    for group, median in zip(groups, medians, strict=True):
        name = names[int(group) // (int(repeats.max(initial=0)) + 1)]
        low, high = ranges.get(name, (median, median))
        ranges[name] = min(low, median), max(high, median)
    return ranges
