"""What the newest load of a run saw of processor and memory, for exports (S3-12)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bakeoff.benchmark.results.load_folder import all_loads, load_weight, open_load
from bakeoff.errors import BakeoffError
from bakeoff.runs.analysis import Result


@dataclass(frozen=True, slots=True)
class LoadSummary:
    """What the process that holds a system's engine took, as stored: while its index was built, and while asked."""

    building: Mapping[str, Any] | None = None
    asking: Mapping[str, Any] | None = None


def seen_under_load(result: Result, system: str) -> LoadSummary:
    """By the newest load, at its lightest; nothing without a load, and no building where the index was only opened."""
    if not all_loads(result.path):
        return LoadSummary()
    try:
        record = open_load(result.path).record
    except BakeoffError:
        return LoadSummary()  # the report's section on load says why
    built = [one for one in record["systems"] if one["system"] == system and one["build_time_s"] is not None]
    points = [point for point in record["points"] if not point["probe"]] or record["points"]
    mine = sorted((point for point in points if point["system"] == system), key=load_weight)
    return LoadSummary(
        _engine(built[0]["ingestion"]["resources"]) if built else None,
        _engine(mine[0]["resources"]) if mine else None,
    )


def _engine(stored: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The server's side where one was seen, else the client's, which holds embedded engines."""
    sides = [stored.get(side) or {} for side in ("server", "client")]
    return next((one for one in sides if one.get("avg_memory_mb") is not None), None)
