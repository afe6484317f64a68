"""What this process holds after each run, whether that grows, and what is left when all is over."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from common import Row
from soaking.place import Place, server_pids

WARM_UP = 3
"""Runs until what is held counts."""
FEWEST = 12
"""Runs below which a slope tells nothing."""
_USED = {4: "large", 7: "small"}
LEAK_MB = 1.0
"""Memory that a run may keep at most, in use: 20 KB for each of 50 systems."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What this process holds after a run: memory in MB, objects of Python, open files, threads, connections, children.

    `used` is what is allocated from the C library and Arrow; `rss` what the system counts, after both gave back what
    they hold free; `held` the same before. Pages with one live byte stay resident, so `rss` may grow where `used` does
    not, but not for ever.
    """

    used: float
    rss: float
    held: float
    objects: int
    files: int
    threads: int
    connections: int
    children: int


@dataclass(frozen=True, slots=True)
class Growth:
    """A slope in MB a run, with its 95 % interval."""

    slope: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.slope:.2f} [{self.low:.2f} {self.high:.2f}]"


def sample() -> Sample:
    """Count what this process holds now."""
    import pyarrow as pa

    gc.collect()
    me = psutil.Process()
    held = me.memory_info().rss / 1e6
    _give_back()
    connections = [one for one in me.net_connections() if one.status != psutil.CONN_NONE]
    children = [child for child in me.children() if child.pid not in server_pids()]
    return Sample(
        used=(_allocated() + pa.default_memory_pool().bytes_allocated()) / 1e6,
        rss=me.memory_info().rss / 1e6,
        held=held,
        objects=len(gc.get_objects()),
        files=me.num_fds(),
        threads=me.num_threads(),
        connections=len(connections),
        children=len(children),
    )


def growth(values: Sequence[float]) -> Growth:
    """The slope over the second half: the median of the slopes between all pairs (Theil, Sen), and Sen's interval."""
    from scipy.stats import theilslopes

    half = list(values[len(values) // 2 :])
    found = theilslopes(half, alpha=0.95)
    return Growth(float(found.slope), float(found.low_slope), float(found.high_slope))


def leaks(samples: Sequence[Sample]) -> list[Row]:
    """Whether anything grows from run to run; memory by its slope, which must be shown to be small."""
    if len(samples) < FEWEST:
        return [Row(f"runs of this process, of the {FEWEST} that tell a leak", len(samples), FEWEST, ">= 1")]
    warm, last = samples[WARM_UP], samples[-1]
    middle = samples[len(samples) // 2]
    used, resident = growth([one.used for one in samples]), growth([one.rss for one in samples])
    threads = max(one.threads for one in samples[: len(samples) // 2])
    return [
        Row(f"memory in use a run keeps, MB, {used} in the second half: upper end", used.high, LEAK_MB, "<= 1"),
        Row(f"memory in use after {len(samples)} runs and after half of them, MB", last.used, middle.used),
        Row(f"RSS after them, {resident} MB a run in the second half", last.rss, middle.rss, "<= 1.15"),
        Row("the same with what the C library holds free, MB", last.held, middle.held),
        Row("objects of Python at the end and at half time", last.objects, middle.objects, "<= 1.01"),
        Row("open files at the end and after warm-up", last.files, warm.files, "<= 1"),
        Row("threads at the end and most until half time", last.threads, threads, "<= 1"),
        Row("connections at the end and after warm-up, plus one", last.connections + 1, warm.connections + 1, "<= 1"),
        Row("children at the end and after warm-up, plus one", last.children + 1, warm.children + 1, "<= 1"),
    ]  # fmt: skip


def left_behind(place: Place) -> list[Row]:
    """Processes that work in our folder, ports somebody listens on, temporary files of this process, after the end."""
    ours, processes = str(place.folder), 0
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            here = one.cwd().startswith(ours) or ours in " ".join(one.cmdline())
            processes += one.pid != os.getpid() and here
    listening = [one for one in psutil.net_connections("tcp") if one.status == psutil.CONN_LISTEN]
    heard = {one.laddr.port for one in listening if one.laddr}
    return [
        Row("processes left behind", processes, 1, "<= 0"),
        Row("ports left open", len(place.ports & heard), 1, "<= 0"),
        Row("temporary files left by this process", len(list(place.spare.iterdir())), 1, "<= 0"),
    ]


class _MallInfo(ctypes.Structure):
    """What the C library says about itself in ten numbers, in bytes; `large` and `small` are in use."""

    _fields_ = [(_USED.get(place, f"_{place}"), ctypes.c_size_t) for place in range(10)]


def _allocated() -> int:
    """Bytes that are allocated from the C library, however many it holds free; 0 where it does not say."""
    with contextlib.suppress(OSError, AttributeError):
        ask = ctypes.CDLL("libc.so.6").mallinfo2
        ask.restype = _MallInfo
        said = ask()
        return int(said.large + said.small)
    return 0


def _give_back() -> None:
    """Let the C library and Arrow give back what they hold free: pools that threads left them are no leak."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
