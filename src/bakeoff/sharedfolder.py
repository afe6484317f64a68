"""A cache folder that several machines share: known by a mark in it, and waited for when it is gone for a while.

Without the mark a folder that is not mounted would look like an empty cache, and work would be written where nobody
finds it.
"""

from __future__ import annotations

import socket
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bakeoff.cache import write_file
from bakeoff.errors import CacheError

T = TypeVar("T")
MARK = "shared.id"
PATIENCE_SECONDS = 300.0
FIRST_SECONDS = 20.0
PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0
_seen: set[Folder] = set()


@dataclass(frozen=True, slots=True)
class Folder:
    """A shared folder and its mark."""

    root: Path
    mark: str

    def here(self) -> bool:
        """Whether this machine sees that very folder now."""
        try:
            return (self.root / MARK).read_text() == self.mark
        except OSError:
            return False


def marked(root: Path) -> Folder:
    """The folder with its mark, which it gets now if it has none."""
    path = root / MARK
    if not path.is_file():
        root.mkdir(parents=True, exist_ok=True)
        write_file(path, uuid.uuid4().hex.encode())
    return Folder(root, path.read_text())


def patiently(folder: Folder, act: Callable[[], T]) -> T:
    """What `act` gives, done while the folder is seen; a folder that was seen before is waited for much longer."""
    begin, pause = time.monotonic(), PAUSE_SECONDS
    while True:
        reason = "it is not there, or is another folder"
        try:
            if folder.here():
                _seen.add(folder)
                return act()
        except OSError as exc:
            reason = f"{type(exc).__name__}: {exc}"
        if time.monotonic() - begin > (PATIENCE_SECONDS if folder in _seen else FIRST_SECONDS):
            raise CacheError(
                f"{socket.gethostname()} cannot use the shared cache folder {folder.root}: {reason}. Set BAKEOFF_HOME "
                "to a folder that every node sees under this path; finished shards are kept."
            )
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
