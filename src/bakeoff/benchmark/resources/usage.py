"""Processor and memory of the client and of the servers it started or was told of, apart; null where unseen (F33)."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from types import TracebackType
from typing import Any, Self

from bakeoff.benchmark.resources.energy import UNMEASURED, Energy, Meter
from bakeoff.benchmark.resources.limits import machine_limits, memory_bytes, within_limits

INTERVAL = 0.1
RESCAN = 1.0
NO_SERVER = (
    "no server process is known: an embedded engine works inside the client, a remote one cannot be seen"
)


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


@dataclass(frozen=True, slots=True)
class Resources:
    """Both sides over one stretch of work of `seconds`, and the whole machine's energy."""

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
        self._look(scan=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._look(scan=True)
        self._end = time.perf_counter()
        self._energy = self._meter.read()

    @property
    def found(self) -> Resources:
        """What was seen, after the block has ended."""
        seconds = self._end - self._begin
        return Resources(self._client.use(""), self._others.use(NO_SERVER), seconds, self._energy)

    def _run(self) -> None:
        scanned = time.perf_counter()
        while not self._stop.wait(self._interval):
            scan = time.perf_counter() - scanned > RESCAN
            scanned = time.perf_counter() if scan else scanned
            self._look(scan)

    def _look(self, scan: bool) -> None:
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
        self.known: list[Any] = []
        self._rows: list[tuple[float, float, int, bool]] = []
        self._spent: dict[tuple[int, float], float] = {}
        self._before: dict[tuple[int, float], float] = {}

    def sample(self, processes: list[Any], scanned: bool) -> None:
        import psutil

        for process in processes:
            try:
                times, key = process.cpu_times(), (process.pid, process.create_time())
            except psutil.Error:
                continue  # it ended; its processor time so far stays counted
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
        found = ResourceUse(
            average,
            max((average, *self._rates())),
            sum(memory) / len(memory),
            max(memory),
            len(self._rows),
        )
        shortest = min(seconds, RESCAN / 2)
        return within_limits(found, machine_limits(), seconds=shortest, processes=len(self._spent))

    def _rates(self) -> list[float]:
        """Per cent of a core between looks that are far enough apart."""
        looks = [row for row in self._rows if row[3]]
        return [100 * (b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(looks) if b[0] - a[0] >= RESCAN / 2]


def _server_trees(me: Any, given: Iterable[int], children: bool) -> list[Any]:
    """The processes of the server side, each once."""
    found = {child.pid: child for child in me.children(recursive=True)} if children else {}
    for server in _living_processes(given):
        found |= {one.pid: one for one in (server, *_children(server))}
    skip = {me.pid, _python_tracker()}
    return [process for pid, process in found.items() if pid not in skip]


def _python_tracker() -> int | None:
    """The helper process that Python starts beside spawned ones: it serves no query."""
    module = sys.modules.get("multiprocessing.resource_tracker")
    return getattr(getattr(module, "_resource_tracker", None), "_pid", None)


def _living_processes(pids: Iterable[int]) -> list[Any]:
    """The processes that are there; one that is gone, or not ours to see, is left out."""
    import psutil

    found = []
    for pid in list(pids):
        try:
            found.append(psutil.Process(pid))
        except psutil.Error:
            continue
    return found


def _children(process: Any) -> list[Any]:
    import psutil

    try:
        return list(process.children(recursive=True))
    except psutil.Error:
        return []
