"""SIGTERM and SIGHUP end a process like Ctrl-C: unfinished work is undone, finished work is kept.

Only the main thread hears a signal; `interrupting_threads` and `raise_if_interrupted` pass it on to helper threads.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

ASKED = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
IMPORTS = "<frozen importlib._bootstrap>"
BIRTHS = {("multiprocessing.process", "start"), ("subprocess", "__init__")}
"""Functions in which a child process exists that nobody owns yet, by module."""
LOOK_SECONDS, LONGEST_SECONDS = 0.02, 5.0
"""Interval and limit, in seconds, of waiting for uninterruptible work."""
_interrupted = threading.Event()


@contextlib.contextmanager
def interrupting_threads() -> Iterator[None]:
    """While the main thread waits here for helper threads, an interrupt makes them stop too."""
    _interrupted.clear()
    try:
        yield
    except KeyboardInterrupt:
        _interrupted.set()
        raise


def raise_if_interrupted() -> None:
    """Raise KeyboardInterrupt in a helper thread if the main thread was interrupted while it waited."""
    if _interrupted.is_set():
        raise KeyboardInterrupt


class Terminated(KeyboardInterrupt):
    """Another program, or a closing terminal, asked this process to end; `signal` says how."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.signal = number


class TerminationGuard:
    """The received signal, if any; Ctrl-C stays Ctrl-C.

    An exception raised during an import may be lost (in the callbacks of its locks, which can raise nothing)
    or turned into "initialization failed" by an extension module; one raised while a process is started
    leaves an orphan. Such a signal is handled afterwards; a second one does not wait.
    """

    def __init__(self) -> None:
        self.heard: int | None = None
        self._waiting: int | None = None
        self._until = 0.0

    def listen(self) -> None:
        """Raise Terminated in the main thread on the first signal; the second ends the process at once."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in ASKED:
            if signal.getsignal(number) is signal.SIG_DFL:  # nohup and the like stay as they are
                signal.signal(number, self._hear)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._hear)

    def code(self, code: int) -> int:
        """The exit code for the received signal, else the given one."""
        return code if self.heard is None else 128 + self.heard

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._waiting is None and _unbroken(frame) and _clock_is_free():
            self._waiting, self._until = number, time.monotonic() + LONGEST_SECONDS
            signal.signal(signal.SIGALRM, self._look)
            signal.setitimer(signal.ITIMER_REAL, LOOK_SECONDS, LOOK_SECONDS)
            return
        self._end(number)

    def _look(self, _: int, frame: FrameType | None) -> None:
        if self._waiting is not None and (not _unbroken(frame) or time.monotonic() > self._until):
            self._end(self._waiting)

    def _end(self, number: int) -> None:
        if self._waiting is not None:
            self._waiting = None
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        self.heard = number
        signal.signal(number, signal.SIG_DFL)
        raise Terminated(number)


def describe_exit(code: int | None) -> str:
    """A process's exit code in words: below 0 it is a signal."""
    if code is None or code >= 0:
        return f"exit code {code}"
    names = {one.value: one.name for one in signal.Signals}
    return f"killed by {names.get(-code, -code)}"


def _unbroken(frame: FrameType | None) -> bool:
    """Whether an import or the start of a process is under way."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename == IMPORTS or (frame.f_globals.get("__name__"), code.co_name) in BIRTHS:
            return True
        frame = frame.f_back
    return False


def _clock_is_free() -> bool:
    return hasattr(signal, "setitimer") and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
