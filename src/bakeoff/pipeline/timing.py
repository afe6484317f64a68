"""Converts durations into rows of the timings table; percentiles only with enough samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.pipeline.system_tables import LATENCIES

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from bakeoff.pipeline.chunk import ChunkedCorpus
    from bakeoff.pipeline.embed import ChunkVectors
    from bakeoff.pipeline.index import OpenIndex
    from bakeoff.pipeline.query_pipeline import SystemAnswers
    from bakeoff.pipeline.read import ReadCorpus

PERCENTILES = (50, 90, 95, 99)
STATISTICS = ("mean_ms", *(f"p{percentile}_ms" for percentile in PERCENTILES))
BEYOND = 5
"""Samples that must lie beyond a percentile for it to be reported (F31)."""

INGEST = "ingest"
"""The phase that covers all of ingestion, by its own clock."""

APART, FLOOR = 0.05, 0.05
"""Tolerated difference between the phases and that clock: a share of it, or seconds, whichever is more (F34).
"""

Row = tuple[str, str, str, str, float | None, int, str]
PER_SECOND = "per_second"
"""The statistic of a speed, with a note if an earlier run measured it."""
START_SECONDS = "start_seconds"
"""The statistic of a model's start, until its first vector; not part of its speed or of ingestion."""

SUMMED = "the sum of the phases, some measured by earlier runs"
UNKNOWN = "no run measured all of it"
NO_START = "the model refused the text that would show its start"
CACHED = "made by an earlier run that recorded no time"
ELSEWHERE = "its index was built elsewhere"
REFERENCE = "exact_reference"
"""Not a timed phase: a row for a system without exact search as reference, with the reason as its note."""


def samples_needed(percentile: int) -> int:
    """Samples needed for a percentile: 10 for the median, 100 for p95, 500 for p99."""
    return math.ceil(BEYOND * 100 / (100 - percentile))


def latency_rows(run: str, system: str, answers: SystemAnswers) -> list[Row]:
    """Mean and percentiles in milliseconds, for each step and the whole."""
    rows: list[Row] = []
    untimed = next((one.untimed for one in answers.searches if one.untimed), "")
    for phase, milliseconds in step_times(answers).items():
        if milliseconds is not None and untimed:
            rows += [(run, system, phase, name, None, 0, untimed) for name in STATISTICS]
        elif milliseconds is not None:
            rows += _statistics(run, system, phase, milliseconds.ravel())
    return rows


@dataclass(frozen=True, slots=True)
class PhaseTime:
    """Seconds of a phase over `fresh` items; `reused` ones came from the cache, `source` dates an earlier
    run."""

    seconds: float | None
    fresh: int
    reused: int = 0
    source: str = ""


def phase_time(*made: ReadCorpus | ChunkedCorpus | ChunkVectors) -> PhaseTime:
    """Add up the times of stages: of this run, or of all runs that made a part."""
    first, *others = map(_work_time, made)
    for one in others:
        seconds = None if first.seconds is None or one.seconds is None else first.seconds + one.seconds
        first = PhaseTime(
            seconds, first.fresh + one.fresh, first.reused + one.reused, first.source or one.source
        )
    return first


def _work_time(stage: ReadCorpus | ChunkedCorpus | ChunkVectors) -> PhaseTime:
    earlier = stage.earlier
    if earlier is not None:
        return PhaseTime(earlier.seconds, earlier.count, source=earlier.source)
    return PhaseTime(stage.seconds, stage.fresh, stage.reused)


def phase_row(run: str, system: str, phase: str, time: PhaseTime) -> Row:
    """Row of an ingestion phase; null if an earlier run made a part and recorded no time."""
    seconds, fresh, reused = time.seconds, time.fresh, time.reused
    if seconds is None or not fresh:
        return (run, system, phase, "seconds", None, 0, CACHED)
    if reused:
        note = f"{reused:,} of {fresh + reused:,} were made by earlier runs that recorded no time"
        return (run, system, phase, "seconds", None, fresh, note)
    return (run, system, phase, "seconds", seconds, fresh, time.source)


def start_row(run: str, system: str, seconds: float | None) -> Row:
    """Row for the start of a system's model in this run."""
    if seconds is None:
        return (run, system, "embed_chunks", START_SECONDS, None, 0, NO_START)
    return (run, system, "embed_chunks", START_SECONDS, seconds, 1, "")


def speed_row(run: str, system: str, vectors: ChunkVectors) -> Row:
    """Chunks embedded per second of the model's own work, without its start.

    If some vectors come from the cache, the times of the runs that made them count, dated.
    """
    speed = vectors.speed
    if speed is None or speed.per_second is None:
        return (run, system, "embed_chunks", PER_SECOND, None, 0, CACHED)
    note = speed.source if vectors.speed_is_dated else ""
    return (run, system, "embed_chunks", PER_SECOND, speed.per_second, speed.count, note)


def ingest_row(run: str, system: str, phases: list[Row], seconds: float | None, count: int) -> Row:
    """All of ingestion by its own clock, over `count` chunks; the sum of the phases if earlier runs did some.

    Null if the seconds of a phase are unknown.
    """
    missing = [
        phase for _, _, phase, statistic, value, _, _ in phases if statistic == "seconds" and value is None
    ]
    if seconds is None or missing:
        what = ", ".join(missing) or "a phase"
        return (run, system, INGEST, "seconds", None, 0, f"{what}: {UNKNOWN}")
    earlier = [row for row in phases if row[3] == "seconds" and row[6]]
    if earlier:
        summed = sum(row[4] or 0.0 for row in phases if row[3] == "seconds")
        return (
            run,
            system,
            INGEST,
            "seconds",
            summed,
            count,
            f"{SUMMED}: {', '.join(row[2] for row in earlier)}",
        )
    return (run, system, INGEST, "seconds", seconds, count, "")


def unknown_reference_notes(timings: pa.Table) -> list[str]:
    """A sentence for each system whose index misses are unknown."""
    return [
        f"{row['system']}: index misses were not measured and count as search misses: {row['note']}"
        for row in timings.to_pylist()
        if row["phase"] == REFERENCE
    ]


def unexplained_time_notes(timings: pa.Table) -> list[str]:
    """A sentence for each system whose phases don't add up to its ingestion time (F34)."""
    gaps: dict[str, dict[str, float | None]] = {}
    for row in timings.to_pylist():
        if row["statistic"] == "seconds":
            gaps.setdefault(row["system"], {})[row["phase"]] = row["value"]
    sentences = []
    for system, phases in gaps.items():
        total = phases.pop(INGEST, None)
        if total is None:
            continue
        added = sum(value or 0.0 for value in phases.values())
        if abs(total - added) > max(APART * total, FLOOR):
            sentences.append(
                f"{system}: ingestion took {total:.2f} s but its phases add up to {added:.2f} s; "
                f"{abs(total - added) / total:.0%} of it is not explained."
            )
    return sentences


def step_times(answers: SystemAnswers) -> dict[str, np.ndarray | None]:
    """Milliseconds of each step (repeats × queries); `total` sums the steps that ran."""
    import numpy as np

    times: dict[str, np.ndarray | None] = {
        "embed": answers.embed.milliseconds if answers.embed is not None else None,
        "search": np.sum([leg.milliseconds for leg in answers.searches], axis=0),
        "fuse": answers.fuse.milliseconds if answers.fuse is not None else None,
        "rerank": np.sum([look.milliseconds for look in answers.reranks], axis=0)
        if answers.reranks
        else None,
    }
    parts = [part for part in times.values() if part is not None]
    repeats, width = (min(part.shape[axis] for part in parts) for axis in (0, 1))
    times["total"] = np.sum([part[:repeats, :width] for part in parts], axis=0)
    return times


def latency_table(run: str, system: str, query_ids: list[str], answers: SystemAnswers) -> pa.Table:
    """One row per repeat and query; null for a step that did not run or was not timed."""
    times = step_times(answers)
    repeats, count = answers.ranking.milliseconds.shape
    columns: dict[str, object] = {
        "run": [run] * repeats * count,
        "system": [system] * repeats * count,
        "repeat": [repeat for repeat in range(repeats) for _ in range(count)],
        "query_id": query_ids * repeats,
    }
    for phase, milliseconds in times.items():
        columns[f"{phase}_ms"] = _pad_times(milliseconds, repeats, count)
    return LATENCIES.table(columns)


def _pad_times(milliseconds: np.ndarray | None, repeats: int, count: int) -> list[float | None]:
    if milliseconds is None:
        return [None for _ in range(repeats * count)]
    padded: list[float | None] = []
    for row in milliseconds[:repeats].tolist():
        padded += [*(None if math.isnan(one) else one for one in row[:count]), *[None] * (count - len(row))]
    return padded


def _statistics(run: str, system: str, phase: str, samples: np.ndarray) -> list[Row]:
    import numpy as np

    count = len(samples)
    mean, why = (float(samples.mean()), "") if count else (None, "it failed before anything was timed")
    rows: list[Row] = [(run, system, phase, "mean_ms", mean, count, why)]
    for percentile in PERCENTILES:
        needed = samples_needed(percentile)
        if count >= needed:
            value = float(np.percentile(samples, percentile, method="linear"))
            rows.append((run, system, phase, f"p{percentile}_ms", value, count, ""))
        else:
            note = f"{count} samples; p{percentile} needs {needed}: raise runs or add queries"
            rows.append((run, system, phase, f"p{percentile}_ms", None, count, note))
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionTimings:
    """A system's ingestion times, None for parts that were not made or failed; `seconds` is all of it by a
    separate clock. Work shared with other systems counts in full. `model_start` is not part of `seconds`.
    `encoded` are the vectors of a fusion's second model and of rerankers' passages."""

    corpus: ReadCorpus
    chunking: ChunkedCorpus | None
    vectors: ChunkVectors | None
    indexes: tuple[OpenIndex | None, ...]
    seconds: float | None
    model_start: float | None
    encoded: tuple[ChunkVectors | None, ...] = ()
