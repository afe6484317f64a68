"""Processes with limits, forked from the fuzzer: the same code and limits, without starting Python for each input."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from functools import cache
from importlib.abc import InspectLoader
from types import CodeType, SimpleNamespace

from bakeoff.corpus import fork_server, limited_process

LAST_DESCRIPTOR = 4096
LATE_IMPORTS = ("duckdb", "h5py", "numpy", "psutil", "pyarrow.parquet")


class ForkedProcess:
    """The part of `subprocess.Popen` that a LimitedProcess uses."""

    returncode: int | None = None

    def __init__(self, module: str) -> None:
        code = _code(module)
        given, self_writes = os.pipe()
        self_reads, answered = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            _serve(code, given, answered)
        os.close(given)
        os.close(answered)
        self.stdin, self.stdout = os.fdopen(self_writes, "wb"), os.fdopen(self_reads, "rb")

    def kill(self) -> None:
        """End it now; its exit code is read by `wait`."""
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Its exit code, when it has ended."""
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode


def fork_limited_processes() -> None:
    """Let every LimitedProcess of this process fork instead of starting Python."""

    def start(command: list[str], **_pipes: object) -> ForkedProcess:
        return ForkedProcess(command[-1])

    pipes = {name: getattr(subprocess, name) for name in ("PIPE", "DEVNULL")}
    limited_process.subprocess = SimpleNamespace(Popen=start, **pipes)  # type: ignore[assignment]
    fork_server.AVAILABLE = False


@cache
def _code(module: str) -> CodeType:
    """The compiled module, kept for all forks; what it imports where it is used is imported here once, too."""
    for name in LATE_IMPORTS:
        importlib.import_module(name)
    spec = importlib.util.find_spec(module)
    assert spec is not None and isinstance(spec.loader, InspectLoader)
    code = spec.loader.get_code(module)
    assert code is not None
    return code


def _serve(code: CodeType, given: int, answered: int) -> None:
    """In the fork: run the module as its own process would, and never return."""
    status = 1
    try:
        os.dup2(given, 0)
        os.dup2(answered, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.closerange(3, LAST_DESCRIPTOR)
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(at, "rw"[at > 0]) for at in range(3))
        exec(code, {"__name__": "__main__"})
        status = 0
    finally:
        os._exit(status)
