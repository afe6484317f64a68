"""Resource figures against what the machine has: a figure beyond it is null, with the reason."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bakeoff.benchmark.resources.usage import ResourceUse

TICK_SECONDS = 0.01
"""The step in which the system counts the processor time of a process."""
ROUNDING = 1.02
WATTS = 1000.0
"""More than any processor package draws."""


@dataclass(frozen=True, slots=True)
class MachineLimits:
    """The cores and the bytes of memory of a machine."""

    cores: int
    memory_bytes: int

    @property
    def cpu_percent(self) -> float:
        """All cores at work, in per cent of one."""
        return 100.0 * self.cores

    @property
    def memory_mb(self) -> float:
        """The memory in megabytes (10^6 bytes)."""
        return self.memory_bytes / 1e6


@functools.cache
def machine_limits() -> MachineLimits:
    """Those of this machine."""
    import psutil

    return MachineLimits(os.cpu_count() or 1, int(psutil.virtual_memory().total))


def within_limits(
    use: ResourceUse, limits: MachineLimits, *, seconds: float = 0.0, processes: int = 1
) -> ResourceUse:
    """The figures, without those that the machine cannot have shown.

    Processor time is counted in ticks: a figure above all cores by less than a tick of each process over `seconds` is
    that of all cores.
    """
    ticks = 100 * TICK_SECONDS * processes / seconds if seconds > 0 else 0.0
    avg_cpu, why = _cpu(use.avg_cpu_percent, limits, ticks)
    peak_cpu, peak_why = _cpu(use.peak_cpu_percent, limits, ticks)
    avg_memory, memory_why = check_memory(use.avg_memory_mb, limits)
    peak_memory, peak_memory_why = check_memory(use.peak_memory_mb, limits)
    reasons = dict.fromkeys(filter(None, (use.note, why, peak_why, memory_why, peak_memory_why)))
    return replace(
        use,
        avg_cpu_percent=avg_cpu,
        peak_cpu_percent=peak_cpu,
        avg_memory_mb=avg_memory,
        peak_memory_mb=peak_memory,
        note="; ".join(reasons),
    )


def check_memory(megabytes: float | None, limits: MachineLimits) -> tuple[float | None, str]:
    """A figure of memory, or null with the reason where the machine has less."""
    if megabytes is None or megabytes <= limits.memory_mb:
        return megabytes, ""
    return None, f"{megabytes:,.0f} MB were counted; the machine has {limits.memory_mb:,.0f}"


def check_energy(joules: float, seconds: float, packages: int) -> tuple[float | None, str]:
    """A figure of energy, or null with the reason where no processor draws that much."""
    if joules <= WATTS * max(seconds, 1e-3) * max(packages, 1):
        return joules, ""
    watts = joules / max(seconds, 1e-3)
    return (
        None,
        f"the counters show {watts:,.0f} W for {packages} processor packages: they were reset or misread",
    )


def memory_bytes(processes: list[Any]) -> int:
    """Memory of processes together: what each has for itself, and the largest shared part of each program once.

    The worker processes of one server share their buffers; the sum of their resident memory counts these once for each.
    """
    import psutil

    private, shared = 0, dict[str, int]()
    for process in processes:
        try:
            info, name = process.memory_info(), process.name()
        except psutil.Error:
            continue  # it has ended, and holds nothing
        common = min(int(getattr(info, "shared", 0)), int(info.rss))
        private += int(info.rss) - common
        shared[name] = max(shared.get(name, 0), common)
    return private + sum(shared.values())


def _cpu(percent: float | None, limits: MachineLimits, ticks: float) -> tuple[float | None, str]:
    if percent is None or percent <= limits.cpu_percent:
        return percent, ""
    if percent <= ROUNDING * limits.cpu_percent + ticks:
        return limits.cpu_percent, ""
    return None, f"{percent:,.0f} % of a core were counted; the machine has {limits.cores} cores"
