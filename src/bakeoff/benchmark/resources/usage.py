"""CPU, memory and energy of the client and, separately, of its servers (F33).

A figure that was not observed, or exceeds what the machine has, is null with the reason.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from psutil import Process

N = TypeVar("N", int, float)

POWERCAP = Path("/sys/class/powercap")


@dataclass(frozen=True, slots=True)
class Energy:
    """Joules of all CPU packages during some work, including everything else on the machine."""

    joules: float | None
    note: str = ""


UNMEASURED = Energy(None, "not measured")


class Meter:
    """Reads the counters at creation and on request; corrects a counter that wrapped around."""

    def __init__(self, root: Path = POWERCAP) -> None:
        self._packages = sorted(root.glob("*-rapl:[0-9]")) if root.is_dir() else []
        self._begin, self._note = _counters(self._packages)
        self._since = time.perf_counter()

    def read(self) -> Energy:
        """The energy since this meter was made."""
        if self._begin is None:
            return Energy(None, self._note)
        end, note = _counters(self._packages)
        if end is None:
            return Energy(None, note)
        used = 0
        for package, before, after in zip(self._packages, self._begin, end, strict=True):
            used += after - before if after >= before else after - before + _range(package)
        return Energy(*check_energy(used / 1e6, time.perf_counter() - self._since, len(self._packages)))


def _counters(packages: list[Path]) -> tuple[list[int] | None, str]:
    """Microjoules of each package, or why they are unknown."""
    if not packages:
        return None, "this machine does not offer its energy counters (RAPL)"
    try:
        return [int((package / "energy_uj").read_text()) for package in packages], ""
    except (OSError, ValueError) as exc:
        return None, f"the energy counters cannot be read ({type(exc).__name__}); they usually need root"


def _range(package: Path) -> int:
    return int((package / "max_energy_range_uj").read_text())


LEAST_PERCENT = 1.0
"""A zero is trusted only if this share of a core would have been visible."""
TICK_SECONDS = 0.01
"""The resolution of a process's CPU time."""
ROUNDING = 1.02
WATTS = 1000.0
"""More than any CPU package draws."""


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
    """The limits of this machine."""
    import psutil

    return MachineLimits(os.cpu_count() or 1, int(psutil.virtual_memory().total))


def within_limits(
    use: ResourceUse, limits: MachineLimits, *, seconds: float = 0.0, processes: int = 1
) -> ResourceUse:
    """The figures, without impossible ones.

    Processor time is counted in ticks: a figure above all cores by less than a tick of each process over `seconds` is
    that of all cores, and a zero is not a figure where one tick would have been seen as LEAST_PERCENT or more.
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
    """A memory figure, or null with the reason if the machine has less."""
    if megabytes is None or megabytes <= limits.memory_mb:
        return megabytes, ""
    return None, f"{megabytes:,.0f} MB were counted, but the machine has {limits.memory_mb:,.0f}"


def check_energy(joules: float, seconds: float, packages: int) -> tuple[float | None, str]:
    """An energy figure, or null with the reason if no CPU draws that much."""
    if joules <= WATTS * max(seconds, 1e-3) * max(packages, 1):
        return joules, ""
    watts = joules / max(seconds, 1e-3)
    return (
        None,
        f"the counters show {watts:,.0f} W for {packages} processor packages: they were reset or misread",
    )


def memory_bytes(processes: list[Process]) -> int:
    """Memory of several processes: each one's private part, and once per program the largest shared part.

    The worker processes of one server share their buffers; the sum of their resident memory counts these once for each.
    """
    import psutil

    private, shared = 0, dict[str, int]()
    for process in processes:
        try:
            info, name = process.memory_info(), process.name()
        except psutil.Error:
            continue  # it has ended
        common = min(int(getattr(info, "shared", 0)), int(info.rss))
        private += int(info.rss) - common
        shared[name] = max(shared.get(name, 0), common)
    return private + sum(shared.values())


def _cpu(percent: float | None, limits: MachineLimits, ticks: float) -> tuple[float | None, str]:
    if percent == 0 and ticks >= LEAST_PERCENT:
        return None, f"too short to measure CPU time: one tick would be {ticks:.0f} % of a core"
    if percent is None or percent <= limits.cpu_percent:
        return percent, ""
    if percent <= ROUNDING * limits.cpu_percent + ticks:
        return limits.cpu_percent, ""
    return None, f"{percent:,.0f} % of a core were counted; the machine has {limits.cores} cores"


INTERVAL = 0.1
RESCAN = 1.0
NO_SERVER = "no server process is known: embedded engines run inside the client, and remote servers cannot be measured"


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """Processor in per cent of one core and memory in MB of one side; null with the reason in `note`.

    Peaks of the processor are over about a second. Memory that processes of one program share counts once.
    """

    avg_cpu_percent: float | None = None
    peak_cpu_percent: float | None = None
    avg_memory_mb: float | None = None
    peak_memory_mb: float | None = None
    samples: int = 0
    note: str = ""


Combine = Callable[[Sequence[float | None]], float | None]
"""Makes one figure of several, some of them unknown."""


def combine_uses(uses: Sequence[ResourceUse], *, average: Combine, peak: Combine) -> ResourceUse:
    """The uses of several runs or processes as one: averages and peaks each by their own rule."""

    def column(name: str) -> list[float | None]:
        return [getattr(use, name) for use in uses]

    return ResourceUse(
        average(column("avg_cpu_percent")),
        peak(column("peak_cpu_percent")),
        average(column("avg_memory_mb")),
        peak(column("peak_memory_mb")),
        sum(use.samples for use in uses),
        "; ".join(dict.fromkeys(use.note for use in uses if use.note)),
    )


def sum_or_none(values: Sequence[N | None]) -> N | None:
    """The sum; None if any value is unknown."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) if len(numbers) == len(values) else None


@dataclass(frozen=True, slots=True)
class Resources:
    """Client and server during `seconds` of work, and the whole machine's energy."""

    client: ResourceUse
    server: ResourceUse
    seconds: float
    energy: Energy = UNMEASURED

    @classmethod
    def none(cls, why: str = "not measured") -> Resources:
        """Nothing was sampled."""
        return cls(ResourceUse(note=why), ResourceUse(note=why), 0.0)


class Sampler:
    """Samples while the `with` block runs.

    The server side is the trees of `pids` and, unless `children` is False, the client's child processes.
    """

    def __init__(
        self,
        server: int | None = None,
        interval: float = INTERVAL,
        *,
        pids: Iterable[int] = (),
        children: bool = True,
    ) -> None:
        self._servers = (*pids, *([server] if server is not None else []))
        self._interval, self._children = interval, children
        self._meter = Meter()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._client, self._others = _Side(), _Side()
        self._begin = self._end = 0.0

    def __enter__(self) -> Self:
        self._begin = time.perf_counter()
        self._take_sample(scan=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._take_sample(scan=True)
        self._end = time.perf_counter()
        self._energy = self._meter.read()

    @property
    def result(self) -> Resources:
        """The result, after the block has ended."""
        seconds = self._end - self._begin
        return Resources(self._client.use(""), self._others.use(NO_SERVER), seconds, self._energy)

    def _run(self) -> None:
        scanned = time.perf_counter()
        while not self._stop.wait(self._interval):
            scan = time.perf_counter() - scanned > RESCAN
            scanned = time.perf_counter() if scan else scanned
            self._take_sample(scan)

    def _take_sample(self, scan: bool) -> None:
        import psutil

        me = psutil.Process()
        self._client.sample([me], scan)
        if scan:
            self._others.known = _server_trees(me, self._servers, self._children)
        if self._others.known:
            self._others.sample(self._others.known, scan)


class _Side:
    """The samples of one side: (time, processor seconds since the begin, bytes, whether new processes were looked for).

    The first look finds every process there is; one that is first seen later has started since, and counts whole.
    Rates are taken from one look for new processes to the next: what a new one did before it was seen fell into that
    time.
    """

    def __init__(self) -> None:
        self.known: list[object] = []
        self._rows: list[tuple[float, float, int, bool]] = []
        self._spent: dict[tuple[int, float], float] = {}
        self._before: dict[tuple[int, float], float] = {}

    def sample(self, processes: list[Process], scanned: bool) -> None:
        import psutil

        for process in processes:
            try:
                times, key = process.cpu_times(), (process.pid, process.create_time())
            except psutil.Error:
                continue  # it ended; its CPU time so far still counts
            spent = times.user + times.system
            if key not in self._before:
                self._before[key] = 0.0 if self._rows else spent
            self._spent[key] = spent
        total = sum(spent - self._before[key] for key, spent in self._spent.items())
        self._rows.append((time.perf_counter(), total, memory_bytes(processes), scanned))

    def use(self, unseen: str) -> ResourceUse:
        if len(self._rows) < 2 or not any(row[2] for row in self._rows):
            return ResourceUse(note=unseen or "nothing was sampled")
        first, last = self._rows[0], self._rows[-1]
        seconds = last[0] - first[0]
        average = 100 * (last[1] - first[1]) / max(seconds, 1e-9)
        memory = [row[2] / 1e6 for row in self._rows]
        usage = ResourceUse(
            average,
            max((average, *self._rates())),
            sum(memory) / len(memory),
            max(memory),
            len(self._rows),
        )
        shortest = min(seconds, RESCAN / 2)
        return within_limits(usage, machine_limits(), seconds=shortest, processes=len(self._spent))

    def _rates(self) -> list[float]:
        """Percent of a core between samples that are far enough apart."""
        looks = [row for row in self._rows if row[3]]
        return [100 * (b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(looks) if b[0] - a[0] >= RESCAN / 2]


def _server_trees(me: Process, pids: Iterable[int], children: bool) -> list[Process]:
    """The processes of the server side, each once."""
    processes = {child.pid: child for child in me.children(recursive=True)} if children else {}
    skip = {me.pid, _python_tracker()}
    return [process for pid, process in (processes | process_trees(pids)).items() if pid not in skip]


def process_trees(pids: Iterable[int]) -> dict[int, Process]:
    """Processes and their children by process id, without those that ended or are not ours."""
    import psutil

    processes: dict[int, Process] = {}
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            server = psutil.Process(pid)
            processes[pid] = server
            processes |= {one.pid: one for one in server.children(recursive=True)}
    return processes


def _python_tracker() -> int | None:
    """Python's helper process for spawned children: it answers no queries."""
    module = sys.modules.get("multiprocessing.resource_tracker")
    return getattr(getattr(module, "_resource_tracker", None), "_pid", None)
