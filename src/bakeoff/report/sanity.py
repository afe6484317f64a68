"""A result held against the patterns such results have (S3-26): notes for the terminal and the report."""

from __future__ import annotations

import numpy as np

from bakeoff.analysis import Result
from bakeoff.measures.names import parse
from bakeoff.report.grid import Grid, averages
from bakeoff.stats.sanity import Growing, Seen, unusual


def sanity_notes(result: Result, grid: Grid) -> list[str]:
    """What of the means and latencies is outside the patterns such results have, with its value (S3-26)."""
    if not result.done:
        return []
    definition = parse(result.record.primary).definition
    means = averages(grid, result.record.primary)
    return list(
        unusual(
            Seen(
                result.record.primary,
                {system: mean for system, mean in means.items() if mean is not None},
                (definition.low, definition.high),
                _growing(grid),
                {system: _percentiles(result, system) for system in result.done},
            )
        )
    )


def _growing(grid: Grid) -> list[Growing]:
    """R and Hit of each system by unit and rising k, over the same queries."""
    families: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for name in grid.values:
        measure = parse(name)
        if measure.name in ("R", "Hit") and measure.k is not None and measure.rel is None:
            label = f"{measure.name}({measure.unit})" if measure.unit else measure.name
            families.setdefault((label, measure.source), []).append((measure.k, name))
    found = []
    for (label, _), names in families.items():
        columns = [(k, averages(grid, name)) for k, name in names]
        for system in grid.systems:
            known = [(k, mean) for k, column in columns if (mean := column[system]) is not None]
            alike = len({np.isnan(grid.row(name, system)).tobytes() for _, name in names}) == 1
            found += [Growing(system, label, known)] if alike and len(known) > 1 else []
    return found


def _percentiles(result: Result, system: str) -> list[tuple[str, float]]:
    stored = ((name, result.timing(system, "total", f"{name}_ms")) for name in ("p50", "p90", "p95", "p99"))
    return [(name, value) for name, value in stored if value is not None]
