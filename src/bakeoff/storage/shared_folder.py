"""A cache folder that several machines share: known by a mark in it, and waited for when it is gone for a while.

Without the mark a folder that is not mounted would look like an empty cache, and work would be written where nobody
finds it.
"""

from __future__ import annotations

import errno
import logging
import socket
import time
import uuid
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from bakeoff.errors import CacheError
from bakeoff.storage.cache import Cache, write_file

T = TypeVar("T")
MARK = "shared.id"
PATIENCE_SECONDS = 300.0
FIRST_SECONDS = 20.0
PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0
PASSING = (errno.EIO, errno.ESTALE)
"""Faults of a file system or a network that may be over the next time."""
log = logging.getLogger(__name__)
_seen: set[Hashable] = set()


class ArtifactWriter(Protocol):
    """What a worker keeps its artifacts with: when `keep` returns, the artifact is where everybody finds it."""

    def has(self, stage: str, key: str) -> bool:
        """Whether an artifact is there, whole."""
        ...

    def keep(self, stage: str, key: str, write: Callable[[Path], None]) -> object:
        """Keep the artifact that `write(folder)` writes, unless it is there."""
        ...


class SharedLocation(Hashable, Protocol):
    """Where the artifacts of several machines lie, in a form that can be sent to them."""

    def here(self) -> bool:
        """Whether this machine sees it now."""
        ...

    def keeper(self) -> ArtifactWriter:
        """What a worker keeps its artifacts with."""
        ...

    def lost(self, reason: str) -> str:
        """What is said when it was waited for in vain."""
        ...


@dataclass(frozen=True, slots=True)
class SharedFolder:
    """A shared folder and its mark."""

    root: Path
    mark: str

    def here(self) -> bool:
        """Whether this machine sees that very folder now."""
        try:
            return _mark(self.root) == self.mark
        except OSError:
            return False

    def keeper(self) -> Cache:
        """The cache in the folder."""
        return SharedFolderCache(self)

    def lost(self, reason: str) -> str:
        """What is said when the folder does not come back."""
        return (
            f"{socket.gethostname()} cannot use the shared cache folder {self.root}: {reason}. Set BAKEOFF_HOME "
            "to a folder that every node sees under this path; finished shards are kept."
        )


def ensure_marker(root: Path) -> SharedFolder:
    """The folder with its mark, which it gets now if it has none."""
    path = root / MARK
    if not path.is_file():
        root.mkdir(parents=True, exist_ok=True)
        write_file(path, uuid.uuid4().hex.encode())
    return SharedFolder(root, _mark(root))


def _mark(root: Path) -> str:
    """The mark of a folder; bytes that are none of ours are a mark as well."""
    return (root / MARK).read_bytes().decode("ascii", "backslashreplace")


def retry_until_available(shared: SharedLocation, act: Callable[[], T]) -> T:
    """What `act` gives, done while the shared place is seen; one that was seen before is waited for much longer.

    A fault that has nothing to do with the place passes through.
    """
    begin, pause = time.monotonic(), PAUSE_SECONDS
    while True:
        reason = "it is not there, or is another folder"
        try:
            if shared.here():
                _seen.add(shared)
                return act()
        except OSError as exc:
            if exc.errno not in PASSING and _seen_now(shared):
                raise
            reason = exc.strerror if exc.errno in PASSING and exc.strerror else f"{type(exc).__name__}: {exc}"
        patience = PATIENCE_SECONDS if shared in _seen else FIRST_SECONDS
        if time.monotonic() - begin > patience:
            raise CacheError(shared.lost(reason))
        if pause == PAUSE_SECONDS:
            log.warning("the shared cache is gone (%s); it is waited for, up to %.0f s", reason, patience)
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)


def _seen_now(shared: SharedLocation) -> bool:
    try:
        return shared.here()
    except OSError:
        return False


class SharedFolderCache(Cache):
    """The cache in a shared folder: what is asked of it while the folder is gone is done when it is back."""

    def __init__(self, folder: SharedFolder) -> None:
        super().__init__(folder.root)
        self._shared = folder

    def get(self, stage: str, key: str) -> Path | None:
        """As in any cache; that a folder is gone does not mean that the artifact is not there."""

        def look() -> Path | None:
            found = super(SharedFolderCache, self).get(stage, key)
            self._expect_folder(found)
            return found

        return retry_until_available(self._shared, look)

    def make(self, stage: str, key: str, write: Callable[[Path], None]) -> Path:
        """As in any cache; what was being written when the folder went is written once more."""
        return retry_until_available(
            self._shared, lambda: super(SharedFolderCache, self).make(stage, key, write)
        )

    def keys(self, stage: str, prefix: str) -> list[str]:
        """As in any cache."""

        def look() -> list[str]:
            found = super(SharedFolderCache, self).keys(stage, prefix)
            self._expect_folder(found or None)
            return found

        return retry_until_available(self._shared, look)

    def _expect_folder(self, found: object | None) -> None:
        if found is None and not self._shared.here():
            raise OSError(errno.ESTALE, "it went while it was read")
