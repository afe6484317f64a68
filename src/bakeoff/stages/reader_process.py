"""Reading in processes with limits: a file that loops, swallows memory or crashes its reader costs that file only.

The run sends items; a process answers with the document of each or the reason why there is none. CPU seconds and memory
are limits of the operating system (POSIX), so they hold inside C libraries too. A process that ends is replaced, and
the item it could not read is left out with the reason.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Self

from bakeoff.errors import BakeoffError, CorpusError
from bakeoff.protocols import Source, SupportsReadLimits
from bakeoff.types import Document, ReadLimits, Skipped, SourceItem

ITEMS_PER_PROCESS = 250
"""Fewer items than this do not repay the start of another process."""
WAIT_FACTOR = 10
"""Wall seconds per CPU second of the limit: a file that waits, on a network disk for example, ends too."""
Answer = Document | Skipped


def sendable(source: Source, params: object) -> bytes:
    """The source for another process; nothing for one that has no limits or that only this process knows."""
    plugin = type(source)
    if not isinstance(source, SupportsReadLimits) or plugin.__module__ == "__main__":
        return b""
    try:
        return pickle.dumps((plugin, params))
    except (pickle.PicklingError, AttributeError, TypeError):
        return b""


class ReaderProcesses:
    """Processes that read the items of one source, started with the first items."""

    def __init__(self, source: bytes, limits: ReadLimits, items: int) -> None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        count = max(1, min(cores, items // ITEMS_PER_PROCESS))
        self._readers = [_Reader(source, limits) for _ in range(count)]
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="read")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for reader in self._readers:
            reader.end()
        self._threads.shutdown(cancel_futures=True)

    def read(self, items: Sequence[SourceItem]) -> list[Answer]:
        """The document of each item or why there is none, in order."""
        share = -(-len(items) // len(self._readers))
        parts = [items[i : i + share] for i in range(0, len(items), share)]
        asked = [
            self._threads.submit(reader.read, part)
            for reader, part in zip(self._readers, parts, strict=False)
        ]
        return [answer for one in asked for answer in one.result()]


class _Reader:
    """One process at a time, replaced when it ends."""

    def __init__(self, source: bytes, limits: ReadLimits) -> None:
        self._source, self._limits = source, limits
        self._process: subprocess.Popen[bytes] | None = None
        self._why = ""

    def read(self, items: Sequence[SourceItem]) -> list[Answer]:
        """The answers to these items; if the process ends, each is asked alone, and the one to blame is left out."""
        answers = self._ask(items)
        if answers is None:
            answers = [self._read_alone(item) for item in items]
        return answers

    def end(self) -> None:
        """End the process: its input ends, so does it."""
        if self._process is None:
            return
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        self._process.wait()
        self._process = None

    def _read_alone(self, item: SourceItem) -> Answer:
        answers = self._ask([item])
        return answers[0] if answers else Skipped(item.id, self._why)

    def _ask(self, items: Sequence[SourceItem]) -> list[Answer] | None:
        """The answers, or nothing if the process ended before it had them."""
        process = self._process = self._process or _start(self._source, self._limits)
        assert process.stdin is not None and process.stdout is not None
        with _Watch(process, self._limits.seconds * WAIT_FACTOR) as watch:
            try:
                pickle.dump(list(items), process.stdin)
                process.stdin.flush()
                answers: list[Answer] | str = pickle.load(process.stdout)  # noqa: S301 - from a process of ours
            except (EOFError, BrokenPipeError, pickle.UnpicklingError):
                self.end()
                self._why = _why(process.returncode, self._limits, waited=watch.expired)
                return None
        if isinstance(answers, str):
            raise CorpusError(answers)
        return answers


class _Watch:
    """Kills a process that does not answer in time."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self._process, self.expired = process, False
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _expire(self) -> None:
        self.expired = True
        self._process.kill()


def _start(source: bytes, limits: ReadLimits) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "bakeoff.stages.reader_process"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        pickle.dump((source, limits), process.stdin)
        process.stdin.flush()
    return process


def _why(code: int, limits: ReadLimits, *, waited: bool) -> str:
    """Why a reader's process ended without an answer."""
    if waited:
        return f"reading it took more than {limits.seconds * WAIT_FACTOR:g} s (max_seconds is {limits.seconds:g})"
    if code == -getattr(signal, "SIGXCPU", 0):
        return f"reading it took more than {limits.seconds:g} s of CPU time (max_seconds)"
    return f"its reader crashed ({'signal' if code < 0 else 'exit code'} {abs(code)})"


def main() -> None:
    """The process: answers items until its input ends; what a reader prints goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which closes this process's input
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        _serve(sys.stdin.buffer, answers)
    except (EOFError, pickle.UnpicklingError):
        return  # the run closed this process's input, or was killed while it wrote
    except BrokenPipeError:  # nobody waits for the answer; what is still buffered must not be written at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), answers.fileno())


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    source, limits = pickle.load(requests)  # noqa: S301 - from the process that started this one
    plugin, params = pickle.loads(source)  # noqa: S301
    opened: Source = plugin(params)
    _limit_memory(limits.memory_mb)
    while True:
        pickle.dump(_answers(opened, pickle.load(requests), limits), answers)  # noqa: S301
        answers.flush()


def _answers(source: Source, items: list[SourceItem], limits: ReadLimits) -> list[Answer] | str:
    """An answer to each item, or the message of an error that ends the run."""
    try:
        return [_read(source, item, limits) for item in items]
    except BakeoffError as exc:
        return str(exc)


def _read(source: Source, item: SourceItem, limits: ReadLimits) -> Answer:
    """The document, or why there is none."""
    _limit_cpu(limits.seconds)
    try:
        return source.read(item)
    except BakeoffError:
        raise
    except MemoryError:
        return Skipped(item.id, f"reading it needs more than {limits.memory_mb:,} MB (max_memory_mb)")
    except Exception as exc:  # noqa: BLE001 - whatever a reader raises on one file, the others are read
        return Skipped(item.id, f"its reader failed ({type(exc).__name__}: {exc})"[:300])


def _limit_memory(megabytes: int) -> None:
    """Let this process grow by this much; the address space of its libraries is not counted."""
    with contextlib.suppress(ImportError):  # Windows has no such limits: only the wait is bounded there
        import resource

        import psutil

        most = psutil.Process().memory_info().vms + megabytes * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _limit_cpu(seconds: float) -> None:
    """Give the next item its own CPU seconds; at their end the operating system ends this process."""
    with contextlib.suppress(ImportError):
        import resource

        spent = time.process_time()
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (int(spent + seconds) + 1, hard))


if __name__ == "__main__":
    main()
