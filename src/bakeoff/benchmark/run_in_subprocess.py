"""Runs work in a separate process, to isolate its memory and crashes."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeVar

from bakeoff.benchmark.session import ENGINE_FAULTS
from bakeoff.errors import BakeoffError, StoreError
from bakeoff.runtime.signals import Terminated, TerminationGuard, describe_exit

T = TypeVar("T")
J = TypeVar("J")
END_SECONDS = 10


def run_isolated(work: Callable[[J], T], job: J) -> T:
    """The result of `work(job)` from a fresh process; its exceptions become StoreErrors."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_body, args=(work, job, theirs), daemon=False)
    process.start()
    theirs.close()
    try:
        good, outcome = ours.recv()
    except EOFError:
        process.join(END_SECONDS)
        raise StoreError(f"its process ended without a result: {describe_exit(process.exitcode)}.") from None
    except KeyboardInterrupt:  # stop the child at once, then raise again
        process.terminate()
        raise
    finally:
        ours.close()
        _end(process)
    if not good:
        raise StoreError(outcome)
    result: T = outcome
    return result


def _body(work: Callable[[J], object], job: J, out: Connection) -> None:
    """Run in the child; the parent handles Ctrl-C, and the child cleans up when terminated."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        TerminationGuard().listen()
        answer = _answer(work, job)
        with contextlib.suppress(BrokenPipeError):  # the parent is gone
            out.send(answer)
        out.close()
    except Terminated as exc:
        sys.exit(128 + exc.signal)


def _answer(work: Callable[[J], object], job: J) -> tuple[bool, object]:
    """Whether it succeeded, and the result or the error."""
    try:
        return True, work(job)
    except BakeoffError as exc:
        return False, str(exc)
    except ENGINE_FAULTS as exc:
        return False, f"{type(exc).__name__}: {exc}"


def _end(process: multiprocessing.process.BaseProcess) -> None:
    process.join(END_SECONDS if process.exitcode is None and process.is_alive() else 0)
    if process.is_alive():
        process.terminate()
        process.join(END_SECONDS)
    if process.is_alive():  # stuck inside an engine that does not handle signals
        process.kill()
        process.join()
