"""Artifacts: folders named by what made them, written aside and renamed into place, verified when read.

root/<stage>/<key[:2]>/<key>/   files of the artifact, and manifest.json with its name and the size and hash of each
root/aside/                     what is being written; a killed process leaves rubbish here and nowhere else
root/locks/                     so that two processes do not make the same artifact twice
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import CacheError, SettingError
from bakeoff.fingerprint import file_fingerprint
from bakeoff.storage.file_lock import LOCKS_EXIST, lock_file

log = logging.getLogger(__name__)
MANIFEST = "manifest.json"
STALE_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class StageUse:
    """Bytes and artifacts of one stage in the cache."""

    stage: str
    artifacts: int
    bytes: int


class Cache:
    """A folder of artifacts, safe against a kill at any moment and against other processes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._verified: set[tuple[str, str]] = set()

    def __str__(self) -> str:
        """Location of the cache."""
        return str(self.root)

    def get(self, stage: str, key: str) -> Path | None:
        """Folder of a complete, verified artifact, else None; a damaged one is removed."""
        folder = self._folder(stage, key)
        if not folder.is_dir():  # checked before reading: an artifact is complete or missing
            return None
        verified = (stage, key) in self._verified or _fault(folder, f"{stage}/{key}") is None
        if not verified and self._discard(stage, key):
            return None
        self._verified.add((stage, key))
        return folder

    def make(self, stage: str, key: str, write: Callable[[Path], None]) -> Path:
        """Folder of an artifact, created by `write(folder)` unless it exists."""
        path = self.get(stage, key)
        if path is not None:
            return path
        with self._lock(f"{stage}-{key}"):
            path = self.get(stage, key)  # another process may have created it while we waited
            if path is not None:
                return path
            with durable_folder(self._folder(stage, key), self._aside(), f"{stage}/{key}") as aside:
                write(aside)
            self._verified.add((stage, key))
        return self._folder(stage, key)

    def keep(self, stage: str, key: str, write: Callable[[Path], None]) -> Path:
        """Like `make`, for artifacts other machines can use: a shared cache also stores it remotely."""
        return self.make(stage, key, write)

    def note(self, stage: str, key: str, write: Callable[[Path], None]) -> None:
        """Replace an artifact without waiting for the disk: nothing depends on it."""
        self.drop(stage, key)
        name = f"{stage}/{key}"
        with durable_folder(self._folder(stage, key), self._aside(), name, sync=False) as aside:
            write(aside)

    def has(self, stage: str, key: str) -> bool:
        """Whether a complete artifact exists."""
        return self.get(stage, key) is not None

    def keys(self, stage: str, prefix: str) -> list[str]:
        """Sorted keys of a stage's artifacts with a prefix of at least two characters."""
        return sorted(
            path.name for path in (self.root / stage / prefix[:2]).glob(f"{prefix}*") if path.is_dir()
        )

    def drop(self, stage: str, key: str) -> None:
        """Remove one artifact."""
        self._verified.discard((stage, key))
        shutil.rmtree(self._folder(stage, key), ignore_errors=True)

    def use(self) -> list[StageUse]:
        """Usage by stage, largest first."""
        rows = []
        for folder in sorted(path for path in _folders(self.root) if path.name not in ("aside", "locks")):
            artifacts = [path for path in folder.glob("??/*") if path.is_dir()]
            rows.append(StageUse(folder.name, len(artifacts), folder_bytes(folder)))
        return sorted(rows, key=lambda row: -row.bytes)

    def clear(self, stage: str | None = None) -> int:
        """Remove all artifacts, or those of one stage, and return the bytes freed."""
        targets = [self.root / stage] if stage else _folders(self.root)
        freed = sum(folder_bytes(target) for target in targets)
        for target in targets:
            shutil.rmtree(target, ignore_errors=True)
        self._verified.clear()
        return freed

    def _discard(self, stage: str, key: str) -> bool:
        """Remove a damaged artifact; returns False if another process has rebuilt it meanwhile."""
        folder = self._folder(stage, key)
        with self._lock(f"{stage}-{key}-damaged"):
            if not folder.is_dir():
                return True
            fault = _fault(folder, f"{stage}/{key}")
            if fault is None:
                return False
            log.warning("cache: %s/%s %s; rebuilding it", stage, key[:12], fault)
            shutil.rmtree(folder, ignore_errors=True)
            return True

    def _folder(self, stage: str, key: str) -> Path:
        return self.root / stage / key[:2] / key

    def _aside(self) -> Path:
        aside = self.root / "aside"
        for left in _folders(aside):
            with contextlib.suppress(FileNotFoundError):  # another process just finished it
                if time.time() - left.stat().st_mtime > STALE_SECONDS:
                    shutil.rmtree(left, ignore_errors=True)
        return aside

    @contextlib.contextmanager
    def _lock(self, name: str) -> Iterator[None]:
        if not LOCKS_EXIST:  # two processes may repeat work, but never harm each other
            yield
            return
        path = self.root / "locks" / name
        with translate_disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = path.open("w")
        with handle:
            lock_file(handle)
            try:
                yield
            finally:
                path.unlink(missing_ok=True)  # at worst, a waiter on the old file repeats the work


@contextlib.contextmanager
def durable_folder(target: Path, aside_root: Path, name: str, *, sync: bool = True) -> Iterator[Path]:
    """A folder that appears at `target` complete, named and, with `sync`, on disk, or not at all."""
    aside = aside_root / uuid.uuid4().hex
    with translate_disk_errors(target):
        aside.mkdir(parents=True)
        try:
            yield aside
            _seal(aside, name, sync=sync)
            target.parent.mkdir(parents=True, exist_ok=True)
            _move(aside, target, name)
            if sync:
                _sync_folder(target.parent)
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def write_file(path: Path, data: bytes) -> None:
    """Replace a file atomically: it holds either the old bytes or the new ones."""
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
    with translate_disk_errors(path):
        try:
            with aside.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(path)
            _sync_folder(path.parent)
        finally:
            aside.unlink(missing_ok=True)


def folder_bytes(folder: Path) -> int:
    """Bytes on disk of the files below a folder; a sparse file takes less than its length."""
    stats = [path.stat() for path in folder.rglob("*") if path.is_file()]
    return sum(min(stat.st_size, getattr(stat, "st_blocks", stat.st_size) * 512) for stat in stats)


def verify_folder(folder: Path, name: str) -> bool:
    """Whether a folder written by `durable_folder` still holds what was written under this name."""
    return _fault(folder, name) is None


def file_manifest(folder: Path) -> dict[str, list[int | str]]:
    """Size and hash of every file below a folder, by name."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): [path.stat().st_size, file_fingerprint(path)] for path in paths
    }


def _seal(folder: Path, name: str, *, sync: bool) -> None:
    """Write the manifest; with `sync`, flush everything to disk."""
    files = file_manifest(folder)
    manifest = json.dumps({"artifact": name, "files": files}, indent=1).encode()
    if not sync:
        (folder / MANIFEST).write_bytes(manifest)
        return
    for path in files:
        with (folder / path).open("rb+") as file:
            os.fsync(file.fileno())
    write_file(folder / MANIFEST, manifest)


def _fault(folder: Path, name: str) -> str | None:
    """What is wrong with an artifact's folder, or None; version 0.1 wrote manifests without a name."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        if manifest.get("artifact", name) != name:
            return "holds another artifact"
        for file, (size, digest) in manifest["files"].items():
            path = folder / file
            if path.stat().st_size != size or file_fingerprint(path) != digest:
                return f"has a damaged file ({file})"
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        return f"cannot be read ({type(exc).__name__})"
    return None


def _move(aside: Path, target: Path, name: str) -> None:
    try:
        aside.rename(target)
    except OSError as exc:
        if exc.errno not in (errno.EEXIST, errno.ENOTEMPTY) or not verify_folder(target, name):
            raise


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _folders(root: Path) -> list[Path]:
    return [path for path in root.iterdir() if path.is_dir()] if root.is_dir() else []


@contextlib.contextmanager
def translate_disk_errors(path: Path) -> Iterator[None]:
    """Turn disk errors into CacheErrors with a remedy."""
    try:
        yield
    except OSError as exc:
        if exc.errno in (errno.ENOSPC, errno.EDQUOT):
            free = shutil.disk_usage(_existing(path)).free // 2**20
            what = f"the disk is full ({free} MB free) while writing {path}. Free space, or set BAKEOFF_HOME elsewhere"
            raise CacheError(f"{what}; what was finished before is kept.") from exc
        if exc.errno == errno.EFBIG:
            raise CacheError(
                f"{path} became larger than a file may be here. Raise the limit (ulimit -f), or set BAKEOFF_HOME on "
                "another file system; what was finished before is kept."
            ) from exc
        if exc.errno in (errno.EMFILE, errno.ENFILE):
            raise CacheError(
                f"too many files are open to write {path}. Raise the limit (ulimit -n); what was finished before is "
                "kept."
            ) from exc
        if exc.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise SettingError(
                f"no permission to write {path}. Set BAKEOFF_HOME or --out to a folder you may write."
            ) from exc
        if exc.errno == errno.ENOTDIR:
            raise SettingError(
                f"cannot write {path}: a file is where a folder should be. Set BAKEOFF_HOME or --out elsewhere."
            ) from exc
        raise


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path
