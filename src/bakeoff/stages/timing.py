"""Seconds and milliseconds → rows of the timings table; a percentile only where enough samples stand behind it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bakeoff.results import LATENCIES
from bakeoff.stages.kitchen import Answers
from bakeoff.types import TIMINGS

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

PERCENTILES = (50, 90, 95, 99)
BEYOND = 5
"""Samples that must lie beyond a percentile for it to be said (F31)."""

Row = tuple[str, str, str, str, float | None, int, str]
CACHED = "made by an earlier run; timings are never read from the cache"


def samples_needed(percentile: int) -> int:
    """How many samples a percentile needs: 10 for the median, 100 for p95, 500 for p99."""
    return math.ceil(BEYOND * 100 / (100 - percentile))


def latency_rows(run: str, system: str, answers: Answers) -> list[Row]:
    """Mean and percentiles in milliseconds of each step and of the whole."""
    rows: list[Row] = []
    for phase, milliseconds in steps(answers).items():
        if milliseconds is not None:
            rows += _statistics(run, system, phase, milliseconds.ravel())
    return rows


def phase_row(run: str, system: str, phase: str, seconds: float | None, fresh: int, reused: int = 0) -> Row:
    """The seconds of an ingestion phase over `fresh` things; null where all or some of them were made before."""
    if seconds is None or not fresh:
        return (run, system, phase, "seconds", None, 0, CACHED)
    if reused:
        note = f"{reused:,} of {fresh + reused:,} were made before; timings are never read from the cache"
        return (run, system, phase, "seconds", None, fresh, note)
    return (run, system, phase, "seconds", seconds, fresh, "")


def timings_table(rows: Iterable[Row]) -> pa.Table:
    """The rows as a table."""
    columns = list(zip(*rows, strict=True)) or [()] * len(TIMINGS.columns)
    return TIMINGS.table(
        {name: list(column) for (name, _), column in zip(TIMINGS.columns, columns, strict=True)}
    )


def steps(answers: Answers) -> dict[str, np.ndarray | None]:
    """Milliseconds of each step (repeats × queries); `total` adds up the steps that happened."""
    import numpy as np

    found: dict[str, np.ndarray | None] = {
        "embed": answers.embed.milliseconds if answers.embed is not None else None,
        "search": np.sum([leg.milliseconds for leg in answers.legs], axis=0),
        "fuse": answers.fuse.milliseconds if answers.fuse is not None else None,
        "rerank": answers.rerank.milliseconds if answers.rerank is not None else None,
    }
    parts = [part for part in found.values() if part is not None]
    width = min(part.shape[1] for part in parts)
    found["total"] = np.sum([part[:, :width] for part in parts], axis=0)
    return found


def latency_table(run: str, system: str, query_ids: list[str], answers: Answers) -> pa.Table:
    """One row a repeat and query; a step that did not happen, or was not timed for a query, is null."""
    found = steps(answers)
    repeats, count = answers.ranking.milliseconds.shape
    columns: dict[str, Any] = {
        "run": [run] * repeats * count,
        "system": [system] * repeats * count,
        "repeat": [repeat for repeat in range(repeats) for _ in range(count)],
        "query_id": query_ids * repeats,
    }
    for phase, milliseconds in found.items():
        columns[f"{phase}_ms"] = _padded(milliseconds, repeats, count)
    return LATENCIES.table(columns)


def _padded(milliseconds: np.ndarray | None, repeats: int, count: int) -> list[float | None]:
    if milliseconds is None:
        return [None for _ in range(repeats * count)]
    padded: list[float | None] = []
    for row in milliseconds.tolist():
        padded += [*row, *[None] * (count - len(row))]
    return padded


def _statistics(run: str, system: str, phase: str, samples: np.ndarray) -> list[Row]:
    import numpy as np

    count = len(samples)
    rows: list[Row] = [(run, system, phase, "mean_ms", float(samples.mean()), count, "")]
    for percentile in PERCENTILES:
        needed = samples_needed(percentile)
        if count >= needed:
            value = float(np.percentile(samples, percentile, method="linear"))
            rows.append((run, system, phase, f"p{percentile}_ms", value, count, ""))
        else:
            note = f"{count} samples; p{percentile} needs {needed}: raise runs or add queries"
            rows.append((run, system, phase, f"p{percentile}_ms", None, count, note))
    return rows
