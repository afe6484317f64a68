"""Starts load clients: as processes here, or as an executor's workers on other machines."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import asdict
from typing import Protocol

from bakeoff import registry
from bakeoff.benchmark.clients.client import Call, work
from bakeoff.config import experiment
from bakeoff.errors import SettingError
from bakeoff.protocols import Executor, ResourceRequest
from bakeoff.runtime.signals import describe_exit
from bakeoff.storage import temp_dir

LOOPBACK = "127.0.0.1"
NOWHERE = ("192.0.2.1", 9)
"""An unassigned address: looking up the route to it, without sending anything, gives our own address."""
END_SECONDS = 5.0
CLIENT = ResourceRequest(apart=True, spread=True)


class StartedClient(Protocol):
    """A client that was started."""

    def end_reason(self, seconds: float = END_SECONDS) -> str:
        """How it ended, in words, after waiting up to a time limit; empty while it runs."""
        ...

    def stop(self) -> None:
        """Kill it."""
        ...


class Launcher(Protocol):
    """Starts clients; they connect to `host`."""

    host: str

    def start(self, call: Call) -> StartedClient:
        """Start one client."""
        ...


class Processes:
    """Client processes on this machine, independent of each other: killing one does not affect the rest."""

    host = LOOPBACK

    def start(self, call: Call) -> StartedClient:
        """Start one process."""
        return _Process(call)


class Workers:
    """Clients as work of an executor, on different nodes if there are several."""

    def __init__(self, executor: Executor, name: str, clients: int, host: str) -> None:
        self._executor, self._name, self._clients, self.host = executor, name, clients, host
        self._begun = False

    def begin(self) -> None:
        """Start the executor and check that all clients can run at once."""
        workers, self._begun = self._executor.start(), True
        self.check(workers)

    def check(self, workers: str = "") -> None:
        """Refuse more clients than can run at once; `said` describes the workers."""
        if self._executor.slots < self._clients:
            raise SettingError(
                f"--clients is {self._clients}, and --executor {self._name} has "
                f"{workers or f'{self._executor.slots} workers'}: all clients must run at once. "
                "Lower --clients, or give the executor more workers."
            )

    def start(self, call: Call) -> StartedClient:
        """Start one client."""
        if not self._begun:
            self.begin()
        return _Work(self._executor, self._executor.submit(work, call, needs=CLIENT))


@contextlib.contextmanager
def choose_launcher(named: str | None, clients: int) -> Iterator[Launcher]:
    """What starts the clients: this machine, or the named executor, such as `ray` or `{ray: {address: auto}}`."""
    part = experiment.executor(named) if named else None
    if (
        part is None or part.name == "local"
    ):  # a process pool breaks when one worker is killed; independent processes do not
        processes = getattr(part.params, "processes", 0) if part else 0
        if processes not in (0, clients):
            raise SettingError(
                f"--executor has {processes} processes and --clients is {clients}: leave one out."
            )
        yield Processes()
        return
    cluster = getattr(part.params, "address", None)
    executor: Executor = registry.load("executors", part.name)(part.params)
    workers = Workers(executor, part.name, clients, address_towards(cluster))
    try:
        if cluster is not None:
            workers.begin()
        else:  # start later, so that these processes are not mistaken for servers of the stores built first
            workers.check()
        yield workers
    finally:
        executor.close()


def address_towards(cluster: str | None) -> str:
    """Our own address as a cluster sees it; loopback for a local cluster."""
    if cluster is None:
        return LOOPBACK
    host, _, port = cluster.rpartition(":")
    towards: tuple[str, int] = (host, int(port)) if host else NOWHERE
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(towards)
            return str(probe.getsockname()[0])
    except OSError:
        return LOOPBACK


class _Process:
    def __init__(self, call: Call) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bakeoff.benchmark.clients.client"],
            stdin=subprocess.PIPE,
            stdout=2,  # an engine's output is not part of the protocol
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C reaches the driver, which stops the clients
        )
        with contextlib.suppress(BrokenPipeError):  # it ended; the missing connection is reported
            assert self.process.stdin is not None
            self.process.stdin.write(json.dumps(asdict(call)) + "\n")
            self.process.stdin.close()

    def end_reason(self, seconds: float = END_SECONDS) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self.process.wait(seconds)
            return describe_exit(code) if code < 0 else f"it ended with {describe_exit(code)}"
        return ""

    def stop(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(END_SECONDS)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        temp_dir.remove_abandoned()  # a client that was killed could not do it


class _Work:
    def __init__(self, executor: Executor, future: Future[object]) -> None:
        self._executor, self._future = executor, future

    def end_reason(self, seconds: float = END_SECONDS) -> str:
        try:
            fault = self._future.exception(seconds)
        except (NotYet, CancelledError):
            return ""
        return f"{type(fault).__name__}: {str(fault).strip().splitlines()[0]}" if fault else "its work ended"

    def stop(self) -> None:
        with contextlib.suppress(NotYet, CancelledError):
            self._future.exception(END_SECONDS)
        if not self._future.done():
            self._executor.cancel(self._future)
