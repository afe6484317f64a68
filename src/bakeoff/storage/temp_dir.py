"""Folders that last as long as one piece of work, among the machine's temporary files or below our own folder.

The owner holds a lock on its folder, which the system releases however the owner ends. A folder left by a
killed process is recognised by its free lock, whatever process has its id now, and is removed when the next
one is created.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import tempfile
import weakref
from pathlib import Path
from types import TracebackType

from bakeoff.errors import SettingError
from bakeoff.storage.file_lock import LOCKS_EXIST, lock_file

PREFIX = "bakeoff-tmp-"
"""Prefix of the names, which other programs and people don't use."""


class TempDir:
    """A folder that is deleted when it is closed, garbage-collected, or its process ends."""

    def __init__(self, what: str, below: Path | None = None) -> None:
        place = below or Path(tempfile.gettempdir())
        remove_abandoned(place)
        while not self._create(place / f"{PREFIX}{what}-{secrets.token_hex(4)}"):
            self.close()

    def _create(self, path: Path) -> bool:
        """Create and lock it; False if another process swept it in between.

        Its removal is arranged before it exists: Ctrl-C may come at any moment.
        """
        locks: list[int] = []
        self.path, self._end = path, weakref.finalize(self, _remove, path, locks, os.getpid())
        try:
            path.mkdir(mode=0o700)
            locks += _lock_folder(path, wait=True)
        except FileExistsError:
            self._end.detach()
        except FileNotFoundError:
            if path.parent.is_dir():
                return False
            raise SettingError(f"{path.parent} is not a folder. Create it, or set TMPDIR.") from None
        except OSError as exc:
            raise SettingError(f"cannot make {path} ({exc.strerror}). Free the disk, or set TMPDIR.") from exc
        else:
            return path.is_dir()
        return False

    def close(self) -> None:
        """Remove it; a second time does nothing."""
        self._end()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def remove_abandoned(place: Path | None = None) -> list[Path]:
    """Remove our folders whose owners are gone, and return them."""
    try:
        with os.scandir(place or tempfile.gettempdir()) as entries:
            ours = [Path(entry.path) for entry in entries if entry.name.startswith(PREFIX)]
    except OSError:
        return []
    return [path for path in ours if _remove_if_abandoned(path)]


def _remove_if_abandoned(path: Path) -> bool:
    """Whether it was abandoned and is now removed."""
    locks: list[int] = []
    with contextlib.suppress(OSError):  # in use, not ours, or gone already
        status = path.lstat()
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid():
            locks = _lock_folder(path, wait=False)
    if not locks:
        return False
    _remove(path, locks, os.getpid())
    return True


def _lock_folder(path: Path, *, wait: bool) -> list[int]:
    """The lock on a folder, held while it is open; empty if another process has it, or there are no locks."""
    if not LOCKS_EXIST:  # a folder in use can't be distinguished from an abandoned one
        return []
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        lock_file(handle, wait=wait)
    except OSError:
        os.close(handle)
        return []
    return [handle]


def _remove(path: Path, locks: list[int], owner: int) -> None:
    """Remove the folder and its lock, unless this is a fork of the process that made it."""
    if os.getpid() == owner:
        shutil.rmtree(
            path, ignore_errors=True
        )  # an engine may still be writing: what it adds is removed later
        while locks:
            os.close(locks.pop())
