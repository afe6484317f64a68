"""Forks processes from one that has imported what they need, so that each starts in milliseconds.

The server has no threads and opens no file. It receives the streams of a new process over a socket, forks,
and reports the process id and then the exit code through a pipe. It ends with the process that started it,
and its processes end with their input. Linux only: see `AVAILABLE`.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NoReturn

AVAILABLE = sys.platform == "linux"
SHARED = 3
"""File descriptor, in a forked process, of the memory that it shares with the process that asked for it."""
_IMPORTED = ("bakeoff.corpus.table_process", "bakeoff.corpus.tables", "psutil", "resource")
_SETTINGS = {
    "OPENBLAS_NUM_THREADS": "1",  # a fork would not have the threads that NumPy and Arrow start at import
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "MIMALLOC_PURGE_DELAY": "-1",  # use freed memory again instead of returning it to the system
}
"""Environment of the server."""
_LAST_DESCRIPTOR = 4096
_INT = struct.Struct("<i")


class ForkedProcess:
    """The part of `subprocess.Popen` that a LimitedProcess uses."""

    returncode: int | None = None

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes], reports: int) -> None:
        self.stdin, self.stdout, self._reports = stdin, stdout, reports
        self._pid = self._report()

    def kill(self) -> None:
        """End it now; its exit code is read by `wait`."""
        if self.returncode is None and self._pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> int:
        """Its exit code, when it has ended."""
        if self.returncode is None:
            code = self._report()
            self.returncode = -signal.SIGKILL if code is None else code
            os.close(self._reports)
        return self.returncode

    def _report(self) -> int | None:
        """The next number from the server; None if the server ended."""
        data = os.read(self._reports, _INT.size)
        return _INT.unpack(data)[0] if data else None


class _Server:
    """The running server of this process."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", "bakeoff.corpus.fork_server", str(theirs.fileno())],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=_error_output(), pass_fds=[theirs.fileno()],
                env=os.environ | _SETTINGS,
            )  # fmt: skip
        self._requests = ours

    def running(self) -> bool:
        """Whether it can be asked: not by a fork of the process that started it."""
        return self.owner == os.getpid() and self._process.poll() is None

    def fork(self, module: str, shared: int) -> ForkedProcess:
        """A new process; `shared` is a file descriptor."""
        with contextlib.ExitStack() as theirs:
            read, stdin = _pipe(theirs, 0)
            write, stdout = _pipe(theirs, 1)
            write_reports, reports = _pipe(theirs, 1)
            errors = os.dup(2) if _error_output() is None else os.open(os.devnull, os.O_WRONLY)
            theirs.callback(os.close, errors)
            sent = [read, write, errors, write_reports, shared]
            socket.send_fds(self._requests, [module.encode()], sent)
        messages = os.fdopen(stdin, "wb")
        with contextlib.suppress(BrokenPipeError):
            pickle.dump((_folder(), dict(os.environ)), messages, pickle.HIGHEST_PROTOCOL)
        return ForkedProcess(messages, os.fdopen(stdout, "rb"), reports)


_servers: list[_Server] = []
_lock = threading.Lock()


def start_server() -> None:
    """Start the server if it does not run; its imports run meanwhile."""
    with _lock:
        _running_server()


def fork_process(module: str, shared: int) -> ForkedProcess:
    """A process that runs the module's `main`, with this process's folder and environment.

    `shared` is a file descriptor that it has as `SHARED`.
    """
    with _lock:
        return _running_server().fork(module, shared)


def _running_server() -> _Server:
    if not (_servers and _servers[0].running()):
        _servers[:] = [_Server()]
    return _servers[0]


def _error_output() -> int | None:
    """A library that crashes on a file may print anything, including the file's bytes: for --debug only."""
    return None if logging.getLogger("bakeoff").isEnabledFor(logging.DEBUG) else subprocess.DEVNULL


def _pipe(theirs: contextlib.ExitStack, end: int) -> tuple[int, int]:
    """The end of a new pipe that the other process gets, closed here with `theirs`, and the one to keep."""
    ends = os.pipe()
    theirs.callback(os.close, ends[end])
    return ends[end], ends[1 - end]


def _folder() -> str:
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return "/"


def main() -> None:
    """Fork a process for each request, until the socket is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which closes the socket
    for name in _IMPORTED:
        importlib.import_module(name)
    reports: dict[int, int] = {}
    signal.signal(signal.SIGCHLD, lambda *_: _report_exits(reports))
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        while True:
            module, received, *_ = socket.recv_fds(requests, 1024, 5)
            if not received:
                return
            with _without_signals():  # the process id is known before its exit is reported
                *streams, report, shared = received
                if not (pid := os.fork()):
                    _run(module.decode(), [*streams, shared])
                reports[pid] = report
                with contextlib.suppress(BrokenPipeError):
                    os.write(report, _INT.pack(pid))
            for one in (*streams, shared):
                os.close(one)


@contextlib.contextmanager
def _without_signals() -> Iterator[None]:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    yield
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def _report_exits(reports: dict[int, int]) -> None:
    while reports:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        report = reports.pop(pid)
        with contextlib.suppress(BrokenPipeError):
            os.write(report, _INT.pack(os.waitstatus_to_exitcode(status)))
        os.close(report)


def _run(module: str, descriptors: list[int]) -> NoReturn:
    """In the new process: take its streams, folder and environment, run the module, and never return."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        for number, one in enumerate(descriptors):
            os.dup2(one, number)
        os.closerange(SHARED + 1, _LAST_DESCRIPTOR)
        folder, environment = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that started the server
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        importlib.import_module(module).main()
        code = 0
    except BaseException:  # noqa: BLE001 - nothing may return into the loop of the server
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
