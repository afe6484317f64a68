"""A process that is told to end does it as at Ctrl-C: what it began is undone, what is finished is kept."""

from __future__ import annotations

import signal
import threading
from types import FrameType

ASKED = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ended(KeyboardInterrupt):
    """Another program, or the terminal that closed, told this one to end; `signal` says how."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.signal = number


class Ending:
    """Which signal was heard, if any."""

    def __init__(self) -> None:
        self.heard: int | None = None

    def listen(self) -> None:
        """Raise Ended in the main thread when told to end; the second time the process ends at once."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in ASKED:
            if signal.getsignal(number) is signal.SIG_DFL:  # nohup and the like stay as they are
                signal.signal(number, self._hear)

    def code(self, code: int) -> int:
        """The exit code that tells of the signal, else the one given."""
        return code if self.heard is None else 128 + self.heard

    def _hear(self, number: int, _: FrameType | None) -> None:
        self.heard = number
        signal.signal(number, signal.SIG_DFL)
        raise Ended(number)
