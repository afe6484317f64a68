"""The memory of an index: growth in resident memory of the client and its children during a build."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from bakeoff.benchmark.resources.usage import check_memory, machine_limits, memory_bytes, process_trees
from bakeoff.storage.cache import folder_bytes

ELSEWHERE = ("url", "uri", "host", "hosts", "dsn", "address")
"""Parameters that hold a server's address."""
SHARED = "the index keeps the caller's rows: their size"
NONE = "the process did not grow: the index reused memory freed earlier"
SERVER = "growth of the server's memory"
NO_FILES = "it stores nothing on disk"
UNSEEN = "the engine is a server whose memory cannot be measured from here"


@dataclass(frozen=True, slots=True)
class IndexMemory:
    """Megabytes (10^6 bytes), or null with the reason."""

    mb: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class ServerUse:
    """A server's resident bytes, CPU seconds and data folder bytes; null if unknown."""

    memory: int | None = None
    cpu_seconds: float | None = None
    disk: int | None = None


def server_use(pids: Iterable[int], data: Path | None) -> ServerUse:
    """The current use of a server's processes and children; unknown for a server not started here."""
    processes = list(process_trees(pids).values())
    if not processes:
        return ServerUse()
    times = [one.cpu_times() for one in processes if one.is_running()]
    spent = sum(one.user + one.system for one in times)
    disk = folder_bytes(data) if data is not None and data.is_dir() else None
    return ServerUse(memory_bytes(processes), spent, disk)


def server_growth(before: int | None, after: int | None) -> IndexMemory:
    """Growth of a server's memory or disk in megabytes; no growth means that it had free space."""
    if before is None or after is None:
        return IndexMemory(None, UNSEEN)
    return IndexMemory((after - before) / 1e6, SERVER) if after > before else IndexMemory(None, NONE)


def resident_bytes() -> int:
    """Resident bytes of this process and its children, including mapped files."""
    import psutil

    gc.collect()
    _give_back()
    me = psutil.Process()
    return memory_bytes([me, *me.children(recursive=True)])


def measure_growth(before: int, params: BaseModel, least: int = 0, *, elsewhere: bool = False) -> IndexMemory:
    """Growth since `before`; a remote engine cannot be measured (F33).

    `least` is what the index is known to hold: one that keeps the caller's own rows does not grow.
    """
    if elsewhere or uses_server(params):
        return IndexMemory(None, UNSEEN)
    growth = resident_bytes() - before
    if growth > least:
        return IndexMemory(*check_memory(growth / 1e6, machine_limits()))
    return IndexMemory(least / 1e6, SHARED) if least else IndexMemory(None, NONE)


def uses_server(params: BaseModel) -> bool:
    """Whether the parameters name a server."""
    return any(getattr(params, name, None) for name in ELSEWHERE)


def available_bytes() -> int:
    """The memory available without swapping."""
    import psutil

    return int(psutil.virtual_memory().available)


def _give_back() -> None:
    """Return freed memory to the system if the C library can, so that it does not count for the index."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return
