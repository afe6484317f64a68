"""The engine of `ann`, `load` and `scale`: runs jobs in turn, saves each, records failures and Ctrl-C."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from bakeoff.errors import SystemFailure, describe_error
from bakeoff.pipeline.loops.client_threads import INTERRUPTED
from bakeoff.types import Status

ENGINE_FAULTS = (RuntimeError, ValueError, TypeError, LookupError, AttributeError, OSError, MemoryError)
"""Errors that engines raise past their adapter."""


@contextlib.contextmanager
def record_failure(failed: dict[str, str], label: str, place: str = "") -> Iterator[None]:
    """Record the failure of one system under its label, so that the others are still measured (F39)."""
    try:
        yield
    except (SystemFailure, *ENGINE_FAULTS) as exc:
        failed[label] = f"{place}{describe_error(exc)}"


T = TypeVar("T")
Tell = Callable[[str], None]
"""Reports progress."""


@dataclass(slots=True, kw_only=True)
class Session:
    """A measurement so far; `failed` gives the reason by system, `stopped` why everything ended early."""

    failed: dict[str, str] = field(default_factory=dict)
    status: Status = Status.PARTIAL
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """One step of a session; `place` prefixes the reason if it fails."""

    system: str
    title: str
    measure: Callable[[], object]
    place: str = ""


def rotate(systems: Sequence[T], run: int) -> list[T]:
    """The systems in their order, beginning with another in each run, so that all pay for a slow minute (F35)."""
    first = run % len(systems) if systems else 0
    return [*systems[first:], *systems[:first]]


def run_jobs(session: Session, jobs: Iterable[Job], save: Callable[[], object], tell: Tell) -> None:
    """Run every job in turn and save each; a failed system is not measured again."""
    for job in jobs:
        if job.system in session.failed:
            continue
        tell(job.title)
        with record_failure(session.failed, job.system, job.place):
            job.measure()
        save()
        if session.stopped:
            return


@contextlib.contextmanager
def finish_session(session: Session, save: Callable[[], object]) -> Iterator[None]:
    """Ctrl-C stops the session and keeps what was measured; the status is final when it ends."""
    try:
        yield
    except KeyboardInterrupt:
        session.stopped = INTERRUPTED
    if not session.stopped:
        session.status = Status.FAILED if session.failed else Status.DONE
    save()
