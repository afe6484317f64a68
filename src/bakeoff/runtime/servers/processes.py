"""Server processes: started in their own session, tracked with their children, and protected against recycled
pids."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.errors import StoreError

if TYPE_CHECKING:
    import psutil

SAME = 2.0
"""Tolerated difference in a process's start time, in seconds: the clock may have been changed."""
_children: dict[int, subprocess.Popen[bytes]] = {}
"""Children started by this process, which it must reap."""


@dataclass(frozen=True, slots=True)
class ProcessMark:
    """A process by pid, start time (seconds since 1970) and program: a later one with the same pid differs."""

    pid: int
    started: float
    program: str


def spawn(command: list[str], folder: Path, log: Path, environment: dict[str, str], user: str | None) -> int:
    """Start a program in the background, logging to a file; returns its pid, which leads a session."""
    with log.open("wb") as out:
        child = subprocess.Popen(  # noqa: S603 - the program is ours, no shell
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **_as(user),
        )
    _children[child.pid] = child
    return child.pid


def finish(command: list[str], folder: Path, user: str | None, what: str) -> str:
    """Run a program to completion and return its output; a StoreError has its last lines."""
    done = subprocess.run(  # noqa: S603
        command, cwd=folder, capture_output=True, text=True, check=False, **_as(user)
    )
    if done.returncode != 0:
        words = (done.stdout + done.stderr).strip().splitlines()[-10:]
        raise StoreError(lines=[f"{what} failed with exit code {done.returncode}:", *words])
    return done.stdout


def _as(user: str | None) -> dict[str, Any]:
    import pwd

    if user is None:
        return {}
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


def marks(pid: int) -> tuple[ProcessMark, ...]:
    """A new process, its descendants and everything in its session, so that none is lost with its parent."""
    import psutil

    processes: dict[int, psutil.Process] = {}
    with contextlib.suppress(psutil.Error):
        leader = psutil.Process(pid)
        processes = {one.pid: one for one in (leader, *leader.children(recursive=True))}
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if os.getsid(one.pid) == pid:
                processes[one.pid] = one
    return tuple(_marks(processes.values()))


def _marks(processes: Iterable[psutil.Process]) -> Iterator[ProcessMark]:
    import psutil

    for one in processes:
        with contextlib.suppress(psutil.Error):
            if one.status() != psutil.STATUS_ZOMBIE:
                yield ProcessMark(one.pid, one.create_time(), one.exe())


def living_processes(marks: tuple[ProcessMark, ...], data: Path) -> list[psutil.Process]:
    """The marked processes still alive, their descendants, and the same programs working in the data folder."""
    import psutil

    _reap()
    living: dict[int, psutil.Process] = {}
    for mark in marks:
        with contextlib.suppress(psutil.Error):
            one = psutil.Process(mark.pid)
            same = abs(one.create_time() - mark.started) <= SAME and one.exe() == mark.program
            if same and one.status() != psutil.STATUS_ZOMBIE:
                living |= {child.pid: child for child in (one, *one.children(recursive=True))}
    programs = {mark.program for mark in marks}
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if one.pid not in living and one.cwd() == str(data) and one.exe() in programs:
                living[one.pid] = one
    return list(living.values())


def stop(
    marks: tuple[ProcessMark, ...], data: Path, grace: float, ask: signal.Signals = signal.SIGTERM
) -> None:
    """Stop the session, then every process, then SIGKILL; returns when none is left, or raises StoreError."""
    import psutil

    session = marks[0].pid if marks else 0
    steps = ((ask, session, grace), (signal.SIGTERM, None, grace / 4), (signal.SIGKILL, None, grace))
    for sign, only, seconds in steps:
        for one in living_processes(marks, data):
            with contextlib.suppress(psutil.Error, ProcessLookupError):
                if only is None or os.getsid(one.pid) == only:
                    one.send_signal(sign)
        _wait(marks, data, seconds)
    left = living_processes(marks, data)
    if left:
        raise StoreError(
            f"cannot stop the processes {', '.join(str(one.pid) for one in left)}. Check that you own them."
        )


def _wait(marks: tuple[ProcessMark, ...], data: Path, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and living_processes(marks, data):
        time.sleep(0.05)


def memory_mb(processes: Iterable[psutil.Process]) -> float | None:
    """Memory of processes in MB: PSS where available, else RSS; None for no process."""
    import psutil

    total = 0.0
    for one in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            try:
                full = one.memory_full_info()
                total += getattr(full, "pss", full.rss) / 1e6
            except psutil.AccessDenied:
                total += one.memory_info().rss / 1e6
    return total or None


def _reap() -> None:
    """Reap our own finished children, which otherwise count as zombies."""
    for pid, child in list(_children.items()):
        if child.poll() is not None:
            del _children[pid]
