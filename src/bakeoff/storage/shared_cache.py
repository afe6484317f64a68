"""The shared cache: artifacts as objects in a shared location, with the cache of this machine in front.

<url>/shared.id                      marks the location as a shared cache
<url>/<stage>/<key[:2]>/<key>        an artifact, packed into one object

Object stores have neither rename nor locks, but an object is complete or missing, so an artifact is one object: a line
of JSON with the artifact's name and the size and hash of each file, then the files in the order of their names. A
machine that finds a damaged or misnamed artifact rebuilds it; two machines that build the same one write equal bytes.
"""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from bakeoff.errors import SettingError
from bakeoff.fingerprint import bytes_fingerprint
from bakeoff.storage.cache import Cache, StageUse, durable_folder, file_manifest
from bakeoff.storage.environment import get_setting
from bakeoff.storage.shared_location import (
    MARKER,
    SETTING,
    ObjectStoreClient,
    SharedFolderCache,
    SharedLocation,
    check_url,
    ensure_marker,
    retry_until_available,
)
from bakeoff.storage.temp_dir import TempDir

PARALLEL_REQUESTS = 16
"""Requests to the object store at once: each waits for the network."""
HEAD_BYTES = 65_536
"""Bytes of an object to read before deciding whether the rest is needed."""
MARKER_CONTENT = b"a shared cache of bakeoff\n"
log = logging.getLogger(__name__)
_marked: set[RemoteArtifactStore] = set()

Files = Mapping[str, bytes]


def open_cache(root: Path, *, spread: bool = False) -> Cache:
    """The cache in a folder, backed by the location in BAKEOFF_CACHE; `spread`: workers use this folder too."""
    url = get_setting(SETTING)
    if url:
        return RemoteBackedCache(root, RemoteArtifactStore(ObjectStoreClient(check_url(url))))
    return SharedFolderCache(ensure_marker(root)) if spread else Cache(root)


def shared_location(cache: Cache) -> SharedLocation:
    """Where workers store what they make, so that this cache finds it."""
    return cache.remote if isinstance(cache, RemoteBackedCache) else ensure_marker(cache.root)


def fetch_artifacts(cache: Cache, stage: str, prefix: str, condition: FetchCondition) -> int:
    """Fetch the wanted artifacts that other machines made; returns how many."""
    return cache.fetch_wanted(stage, prefix, condition) if isinstance(cache, RemoteBackedCache) else 0


class RemoteBackedCache(Cache):
    """A cache on this machine whose artifacts are also stored remotely, and are fetched from there on demand."""

    def __init__(self, root: Path, remote: RemoteArtifactStore) -> None:
        super().__init__(root)
        self._remote, self._connecting, self._connected = remote, threading.Lock(), False

    def __str__(self) -> str:
        """Where it is, and what it shares."""
        return f"{self.root}, shared at {self.url}"

    @property
    def url(self) -> str:
        """Where the artifacts are shared."""
        return self._remote.objects.url

    @property
    def remote(self) -> RemoteArtifactStore:
        """The remote artifacts; the first use connects."""
        with self._connecting:
            if not self._connected:
                self._remote.connect()
                self._connected = True
        return self._remote

    def keep(self, stage: str, key: str, write: Callable[[Path], None]) -> Path:
        """Return an artifact from here, else from the remote store, else created now and stored remotely first."""

        def fetch_or_make(folder: Path) -> None:
            files = self.remote.fetch(stage, key)
            if files is not None:
                _write_files(folder, files)
                return
            write(folder)
            self.remote.store(stage, key, folder)

        return self.make(stage, key, fetch_or_make)

    def fetch_wanted(self, stage: str, prefix: str, condition: FetchCondition) -> int:
        """Fetch the wanted artifacts that are not here; only the beginning of the others is read."""
        local = set(self.keys(stage, prefix))
        missing = [key for key in self.remote.keys(stage, prefix) if key not in local]

        def fetch(key: str) -> bool:
            files = self.remote.fetch(stage, key, condition)
            if files is not None:
                with durable_folder(self._folder(stage, key), self._aside(), f"{stage}/{key}") as folder:
                    _write_files(folder, files)
            return files is not None

        with ThreadPoolExecutor(PARALLEL_REQUESTS) as threads:
            return sum(threads.map(fetch, missing))


@dataclass(frozen=True, slots=True)
class FetchCondition:
    """Decides from a small file near the start of an artifact whether the rest is needed."""

    file: str
    test: Callable[[bytes], bool]


@dataclass(frozen=True, slots=True)
class RemoteArtifactStore:
    """Artifacts among the objects under a URL."""

    objects: ObjectStoreClient
    needs_marker: bool = True

    def connect(self) -> None:
        """Find the marker of the location, or write it; called by the driver."""

        def mark() -> None:
            if self.objects.read(MARKER, 0, HEAD_BYTES) is None:
                self.objects.write(MARKER, MARKER_CONTENT)

        try:
            retry_until_available(replace(self, needs_marker=False), mark)
        except FileNotFoundError as exc:
            raise SettingError(
                f"{SETTING}={self.objects.url}: the bucket or folder does not exist. Create it, or correct the URL."
            ) from exc

    def is_available(self) -> bool:
        """Whether the marker exists; an object store is checked once, since only a folder can disappear and
        look empty."""
        if self in _marked and not self.objects.in_folder:
            return True
        marked = self.objects.read(MARKER, 0, HEAD_BYTES) == MARKER_CONTENT
        if marked:
            _marked.add(self)
        return marked or not self.needs_marker

    def writer(self) -> RemoteArtifactStore:
        """A worker writes its artifacts here and stores none on its own machine."""
        return self

    def unavailable_message(self, reason: str) -> str:
        """The error after waiting in vain."""
        return (
            f"{socket.gethostname()} cannot use the shared cache {self.objects.url}: {reason}. Check the network, and "
            f"that {SETTING} is the same on every node; finished work is kept."
        )

    def has(self, stage: str, key: str) -> bool:
        """Whether the complete artifact exists."""
        return self.fetch(stage, key) is not None

    def keep(self, stage: str, key: str, write: Callable[[Path], None]) -> None:
        """Store the artifact that `write(folder)` writes."""
        with TempDir("artifact") as folder:
            write(folder)
            self.store(stage, key, folder)

    def store(self, stage: str, key: str, folder: Path) -> None:
        """Store the files of a folder as one artifact, atomically."""
        data = pack(f"{stage}/{key}", folder)
        retry_until_available(self, lambda: self.objects.write(_name(stage, key), data))

    def fetch(self, stage: str, key: str, condition: FetchCondition | None = None) -> Files | None:
        """The files of an artifact; None if it is missing, damaged or not wanted."""
        data = self._read(stage, key, 0, HEAD_BYTES)
        try:
            return None if data is None else self._fetch_rest(stage, key, data, condition)
        except ValueError as exc:
            log.warning("shared cache: %s/%s %s; rebuilding it", stage, key[:12], exc)
            return None

    def _fetch_rest(
        self, stage: str, key: str, data: bytes, condition: FetchCondition | None
    ) -> Files | None:
        name = f"{stage}/{key}"
        items = read_header(name, data)
        if condition is not None:
            data = self._extend(stage, key, data, items[condition.file].end if condition.file in items else 0)
            if not condition.test(read_member(items, condition.file, data)):
                return None
        end = max((item.end for item in items.values()), default=0)
        return unpack(name, self._extend(stage, key, data, end))

    def keys(self, stage: str, prefix: str) -> list[str]:
        """The sorted keys of a stage's artifacts that begin with a prefix of at least two characters."""
        names = retry_until_available(self, lambda: self.objects.names(f"{stage}/{prefix[:2]}"))
        return sorted(name for name in names if name.startswith(prefix))

    def use(self) -> list[StageUse]:
        """What each stage stores, largest first."""
        count: Counter[str] = Counter()
        total: Counter[str] = Counter()
        for name, size in retry_until_available(self, self.objects.sizes).items():
            stage, slash, _ = name.partition("/")
            count[stage] += bool(slash)
            total[stage] += size
        return [StageUse(stage, count[stage], size) for stage, size in total.most_common() if count[stage]]

    def _extend(self, stage: str, key: str, data: bytes, end: int) -> bytes:
        """The beginning of an object, read further up to `end`."""
        if len(data) >= end:
            return data
        return data + (self._read(stage, key, len(data), end) or b"")

    def _read(self, stage: str, key: str, begin: int, end: int) -> bytes | None:
        return retry_until_available(self, lambda: self.objects.read(_name(stage, key), begin, end))


def _name(stage: str, key: str) -> str:
    return f"{stage}/{key[:2]}/{key}"


@dataclass(frozen=True, slots=True)
class Member:
    """Where a file is in a packed artifact, in bytes, and its hash."""

    begin: int
    end: int
    digest: str


def pack(name: str, folder: Path) -> bytes:
    """The files of a folder as one object: the same bytes on every machine."""
    files = file_manifest(folder)
    header = json.dumps({"artifact": name, "files": files}, sort_keys=True).encode() + b"\n"
    return header + b"".join((folder / file).read_bytes() for file in sorted(files))


def read_header(name: str, head: bytes) -> dict[str, Member]:
    """The files of a packed artifact, by its first line; raises ValueError with what is wrong."""
    try:
        header = json.loads(head[: head.index(b"\n")])
        owner, files = header["artifact"], sorted(header["files"].items())
        sizes = [(file, int(size), str(digest)) for file, (size, digest) in files]
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise ValueError("is not an artifact") from None
    if owner != name:
        raise ValueError("is another artifact")
    items, at = {}, head.index(b"\n") + 1
    for file, size, digest in sizes:
        if size < 0 or not _is_safe_name(file):
            raise ValueError("has a file with an invalid name or size")
        items[file] = Member(at, at + size, digest)
        at += size
    return items


def read_member(items: Mapping[str, Member], file: str, data: bytes) -> bytes:
    """One file of a packed artifact, verified."""
    if file not in items:
        raise ValueError(f"has no {file}")
    content = data[items[file].begin : items[file].end]
    if bytes_fingerprint(content) != items[file].digest:
        raise ValueError(f"has a damaged file ({file})")
    return content


def unpack(name: str, data: bytes) -> Files:
    """All files of a packed artifact, verified."""
    items = read_header(name, data)
    return {file: read_member(items, file, data) for file in items}


def _is_safe_name(file: str) -> bool:
    """Whether a path stays below the folder it is written to."""
    path = PurePosixPath(file)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\\" not in file


def _write_files(folder: Path, files: Files) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
