"""Processes with limits on CPU time, memory and waiting, for work on untrusted bytes.

A `LimitedProcess` runs a bakeoff module as a process that answers one message at a time. Messages are
pickled: both ends are bakeoff, joined by a pipe. CPU and memory limits are set in the operating system
(POSIX), so they also hold inside C libraries; the calling process limits the wait.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import IO, Any, Self

from bakeoff.corpus.fork_server import ForkedProcess, fork_process

WAIT_FACTOR = 10
"""Wall seconds per CPU second of a limit, so that work that waits, for example on a network disk, also ends."""


Process = subprocess.Popen[bytes] | ForkedProcess


class ProcessEndedError(Exception):
    """The process ended before it answered."""

    def __init__(self, code: int, *, waited: bool) -> None:
        super().__init__(f"the process ended with {code}")
        self.code, self.waited = code, waited

    @property
    def out_of_cpu_time(self) -> bool:
        """Whether it used up its CPU seconds."""
        return self.code == -getattr(signal, "SIGXCPU", 0)

    @property
    def crash(self) -> str:
        """How it ended, for example `signal 11`."""
        return f"{'signal' if self.code < 0 else 'exit code'} {abs(self.code)}"


class LimitedProcess:
    """A module that `serve`s in a process, started by the first request and restarted after it ended."""

    _process: Process | None = None
    _watch: _Watch | None = None

    def __init__(self, module: str, setup: object = None, shared: int | None = None) -> None:
        """`setup` is the first message, sent again after each restart.

        With the file descriptor `shared`, the process is forked by the fork server and has that file, too.
        """
        self._module, self._setup, self._shared = module, setup, shared

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def __del__(self) -> None:
        """Stop the process with the last reference, if nobody did."""
        self.end()

    def start(self) -> Process:
        """The process, started if needed; importing its module does not count towards a request's seconds."""
        if self._process is not None:
            return self._process
        process = _start(self._module) if self._shared is None else fork_process(self._module, self._shared)
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, which the next request reports
            pickle.dump(self._setup, process.stdin, pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()
            process.stdout.read(1)
        self._process = process
        return process

    def ask(self, message: object, seconds: float) -> Any:
        """Return the answer; raises ProcessEndedError if the process ends first or exceeds the time."""
        self.send(message, seconds)
        return self.receive(seconds)

    def send(self, message: object, seconds: float) -> None:
        """Send a message without waiting for its answer: `receive` returns the answers in the order of the messages."""
        process = self.start()
        assert process.stdin is not None
        with self._limit(process, seconds):
            pickle.dump(message, process.stdin, pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()

    def receive(self, seconds: float) -> Any:
        """Return the answer to the oldest message without one."""
        process = self.start()
        assert process.stdout is not None
        with self._limit(process, seconds):
            return pickle.load(process.stdout)  # noqa: S301 - from a process of ours

    @contextlib.contextmanager
    def _limit(self, process: Process, seconds: float) -> Iterator[None]:
        if self._watch is None:
            self._watch = _Watch(process)
            self._watch.start()
        watch = self._watch
        try:
            with watch.limit(seconds):
                yield
        except (EOFError, BrokenPipeError, pickle.UnpicklingError) as exc:
            self.end()
            raise ProcessEndedError(process.wait(), waited=watch.expired) from exc

    def end(self) -> None:
        """Close the input of the process, which makes it exit, and wait for it."""
        process, self._process = self._process, None
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.end()
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        process.wait()


def _start(module: str) -> subprocess.Popen[bytes]:
    # a library that crashes on a file may print anything, including the file's bytes
    shown = None if logging.getLogger("bakeoff").isEnabledFor(logging.DEBUG) else subprocess.DEVNULL
    command = [sys.executable, "-m", module]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=shown)  # noqa: S603


class _Watch(threading.Thread):
    """Kills a process that does not answer in time: one thread for all its answers, which looks every second."""

    def __init__(self, process: Process) -> None:
        super().__init__(name="limited process", daemon=True)
        self._kill, self.expired = process.kill, False
        self._deadline = math.inf
        self._ended = threading.Event()

    @contextlib.contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """Kill the process if the block takes longer."""
        self._deadline = time.monotonic() + seconds
        try:
            yield
        finally:
            self._deadline = math.inf

    def end(self) -> None:
        """Stop watching."""
        self._ended.set()

    def run(self) -> None:
        """Look until the process ended or has to."""
        while not self._ended.wait(max(0.0, min(1.0, self._deadline - time.monotonic()))):
            if time.monotonic() >= self._deadline:
                self.expired = True
                self._kill()
                return


def serve(open_service: Callable[[Any], Callable[[Any], object]]) -> None:
    """Answer messages until the input ends: the main function of a module that a LimitedProcess runs.

    `open_service` receives the setup and returns the message handler. Its output is shown with --debug only.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which closes this process's input
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        _serve(open_service, sys.stdin.buffer, answers)
    except (EOFError, pickle.UnpicklingError):
        return  # the run closed this process's input, or was killed while writing
    except BrokenPipeError:  # nobody waits for the answer; don't flush the buffer at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), answers.fileno())


def _serve(
    open_service: Callable[[object], Callable[[object], object]], messages: IO[bytes], answers: IO[bytes]
) -> None:
    answer = open_service(pickle.load(messages))  # noqa: S301 - from the process that started this one
    answers.write(b"+")
    answers.flush()
    while True:
        pickle.dump(answer(pickle.load(messages)), answers, pickle.HIGHEST_PROTOCOL)  # noqa: S301
        answers.flush()


def limit_memory(megabytes: float) -> None:
    """Let this process grow by this many megabytes from now; its libraries' address space is not counted."""
    with contextlib.suppress(ImportError):  # Windows has no such limits: only the wait is bounded there
        import resource

        import psutil

        most = psutil.Process().memory_info().vms + int(megabytes * 2**20)
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def limit_cpu(seconds: float) -> None:
    """Limit this process to this many CPU seconds from now; then the operating system kills it."""
    with contextlib.suppress(ImportError):
        import resource

        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + 1, hard))
