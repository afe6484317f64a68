"""Advisory locks between processes; on a platform without them, nothing is locked."""

from __future__ import annotations

from typing import IO

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

LOCKS_EXIST = fcntl is not None
"""Whether this platform has such locks."""


def lock_file(file: int | IO[str], *, wait: bool = True) -> None:
    """Lock an open file until it is closed; a BlockingIOError if another process has it and `wait` is false."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
