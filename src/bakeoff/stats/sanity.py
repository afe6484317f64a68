"""Flags implausible results (S3-26), each with what it may mean.

A warning says that something is unusual, not that it is wrong; what can't be true is called a fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

LOW, HIGH = 0.02, 0.995
"""If all systems' means lie below or above these, the measure separates nothing."""
QUICKEST_MS, SLOWEST_MS = 0.001, 10_000.0
"""Median latencies per query outside this range suggest a clock, unit or cache problem."""
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class GrowthFacts:
    """Means of one measure of one system by rising cut-off; they can only grow (Hit, R of one unit)."""

    system: str
    measure: str
    means: Sequence[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class SanityFacts:
    """What is checked: means of the primary measure with its range, growing measures, latencies in ms."""

    measure: str
    means: Mapping[str, float]
    range: tuple[float, float] | None = None
    growing: Sequence[GrowthFacts] = ()
    percentiles: Mapping[str, Sequence[tuple[str, float]]] = field(default_factory=dict)


def unusual_values(seen: SanityFacts) -> Iterator[str]:
    """Yield a sentence for every implausible value."""
    yield from _level(seen)
    for one in seen.growing:
        yield from _falls(one)
    for system, percentiles in seen.percentiles.items():
        yield from _latency(system, percentiles)


def _level(seen: SanityFacts) -> Iterator[str]:
    low, high = seen.range or (float("-inf"), float("inf"))
    for system, mean in seen.means.items():
        if not low - ROUNDING <= mean <= high + ROUNDING:
            where = f"outside {low:g} to {high:g}"
            yield f"Fault: {system} has a mean {seen.measure} of {mean:g}, {where}. Please report it."
    if not seen.means or seen.range != (0.0, 1.0):
        return
    lowest, highest = min(seen.means.values()), max(seen.means.values())
    if highest <= LOW:
        yield (
            f"Unusual: no system has a mean {seen.measure} above {highest:.3f}. Check that the truth uses "
            "the corpus's document ids, and read a few results."
        )
    elif lowest >= HIGH:
        yield (
            f"Unusual: every system has a mean {seen.measure} of {lowest:.3f}{' or more' if highest > lowest else ''}. "
            "Questions this easy can't separate systems; check whether they are copied from the documents "
            "(bakeoff validate)."
        )


def _falls(one: GrowthFacts) -> Iterator[str]:
    ordered = sorted(one.means)
    for (small, before), (large, after) in pairwise(ordered):
        if after < before - ROUNDING:
            yield (
                f"Fault: {one.system} has {one.measure}@{small} {before:.3f} and {one.measure}@{large} {after:.3f}; "
                "it can't fall with a larger cut-off. Please report it."
            )


def _latency(system: str, percentiles: Sequence[tuple[str, float]]) -> Iterator[str]:
    for (name, before), (later, after) in pairwise(percentiles):
        if after < before:
            yield f"Fault: {system} has {name} {before:.3g} ms above {later} {after:.3g} ms. Please report it."
    median = dict(percentiles).get("p50")
    if median is not None and not QUICKEST_MS <= median <= SLOWEST_MS:
        much = "less than a call can take" if median < QUICKEST_MS else "more than anyone waits"
        yield f"Unusual: {system} has a median latency of {median:.3g} ms, {much}. Check what was timed."
