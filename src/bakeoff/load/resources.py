"""Processor and memory of the client and of the servers it started or was told of, apart; null where unseen (F33)."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from bakeoff.load.energy import UNMEASURED, Energy, Meter

INTERVAL = 0.1
RESCAN = 1.0
NO_SERVER = (
    "no server process is known: an embedded engine works inside the client, a remote one cannot be seen"
)


@dataclass(frozen=True, slots=True)
class Use:
    """Processor in percent of one core and memory (RSS) in MB of one side; null with the reason in `note`."""

    avg_cpu_percent: float | None = None
    peak_cpu_percent: float | None = None
    avg_memory_mb: float | None = None
    peak_memory_mb: float | None = None
    samples: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Resources:
    """Both sides over one stretch of work of `seconds`, and the whole machine's energy."""

    client: Use
    server: Use
    seconds: float
    energy: Energy = UNMEASURED

    @classmethod
    def none(cls, why: str = "not measured") -> Resources:
        """Nothing was sampled."""
        return cls(Use(note=why), Use(note=why), 0.0)


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
        self._client.sample([me])
        if scan:
            self._others.known = _server_trees(me, self._servers, self._children)
        if self._others.known:
            self._others.sample(self._others.known)


class _Side:
    """The samples of one side: (time, processor seconds, bytes)."""

    def __init__(self) -> None:
        self.known: list[Any] = []
        self._rows: list[tuple[float, float, int]] = []
        self._gone: dict[int, float] = {}

    def sample(self, processes: list[Any]) -> None:
        import psutil

        memory = 0
        for process in processes:
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    self._gone[process.pid] = times.user + times.system
                    memory += process.memory_info().rss
            except psutil.Error:
                continue  # it ended; its processor time so far stays counted
        self._rows.append((time.perf_counter(), sum(self._gone.values()), memory))

    def use(self, unseen: str) -> Use:
        if len(self._rows) < 2 or not any(memory for _, _, memory in self._rows):
            return Use(note=unseen or "nothing was sampled")
        pairs = zip(self._rows, self._rows[1:], strict=False)
        rates = [100 * (b[1] - a[1]) / (b[0] - a[0]) for a, b in pairs if b[0] - a[0] >= INTERVAL / 2]
        first, last = self._rows[0], self._rows[-1]
        memory = [row[2] / 1e6 for row in self._rows]
        average = 100 * (last[1] - first[1]) / max(last[0] - first[0], 1e-9)
        return Use(
            average, max(rates, default=average), sum(memory) / len(memory), max(memory), len(self._rows)
        )


def _server_trees(me: Any, given: Iterable[int], children: bool) -> list[Any]:
    """The processes of the server side, each once."""
    found = {child.pid: child for child in me.children(recursive=True)} if children else {}
    for server in _known(given):
        found |= {one.pid: one for one in (server, *_children(server))}
    skip = {me.pid, _python_tracker()}
    return [process for pid, process in found.items() if pid not in skip]


def _python_tracker() -> int | None:
    """The helper process that Python starts beside spawned ones: it serves no query."""
    module = sys.modules.get("multiprocessing.resource_tracker")
    return getattr(getattr(module, "_resource_tracker", None), "_pid", None)


def _known(pids: Iterable[int]) -> list[Any]:
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
