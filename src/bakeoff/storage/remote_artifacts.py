"""A depot: the cache that several machines share in an object store, or in a folder, under one URL.

<url>/shared.id                      says that this is a depot, and so that it is there
<url>/<stage>/<key[:2]>/<key>        an artifact, as a parcel

Object stores have neither rename nor locks, but an object is there whole or not at all. So an artifact is one object.
Who finds it damaged, or to be another's, makes it again. Two who make the same one put the same bytes.
"""

from __future__ import annotations

import contextlib
import logging
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import SettingError
from bakeoff.storage.archive import Files, pack, read_header, read_member, unpack
from bakeoff.storage.cache import StageUse
from bakeoff.storage.object_store import SETTING, ObjectStoreClient
from bakeoff.storage.shared_folder import MARK, retry_until_available
from bakeoff.storage.temp_dir import TempDir

HEAD_BYTES = 65_536
"""Read of an object to see whether the rest is wanted."""
SIGN = b"a shared cache of bakeoff\n"
log = logging.getLogger(__name__)
_reached: set[RemoteArtifactStore] = set()


@dataclass(frozen=True, slots=True)
class FetchCondition:
    """What tells by one small file near the beginning of an artifact whether the rest is wanted."""

    file: str
    test: Callable[[bytes], bool]


@dataclass(frozen=True, slots=True)
class RemoteArtifactStore:
    """Artifacts among the objects under a URL."""

    objects: ObjectStoreClient

    def begin(self) -> None:
        """Find the depot, or make it one; called by the driver."""

        def sign() -> None:
            if self.objects.read(MARK, 0, HEAD_BYTES) is None:
                self.objects.write(MARK, SIGN)

        try:
            retry_until_available(_Answering(self), sign)
        except FileNotFoundError as exc:
            raise SettingError(
                f"{SETTING}={self.objects.url}: there is no such bucket or folder. Make it, or correct the URL."
            ) from exc

    def here(self) -> bool:
        """Whether the depot is seen; only a folder can go and look empty, so an object store is asked once."""
        if self in _reached and not self.objects.in_folder:
            return True
        found = self.objects.read(MARK, 0, HEAD_BYTES) == SIGN
        if found:
            _reached.add(self)
        return found

    def keeper(self) -> RemoteArtifactStore:
        """A worker puts its artifacts here, and keeps none."""
        return self

    def lost(self, reason: str) -> str:
        """What is said when the depot was waited for in vain."""
        return (
            f"{socket.gethostname()} cannot use the shared cache {self.objects.url}: {reason}. Check the network, and "
            f"that {SETTING} names the same place for every node; what was finished before is kept."
        )

    def has(self, stage: str, key: str) -> bool:
        """Whether an artifact is there, whole."""
        return self.fetch(stage, key) is not None

    def keep(self, stage: str, key: str, write: Callable[[Path], None]) -> None:
        """Put the artifact that `write(folder)` writes."""
        with TempDir("artifact") as folder:
            write(folder)
            self.put(stage, key, folder)

    def put(self, stage: str, key: str, folder: Path) -> None:
        """Put the files of a folder as one artifact, in one step."""
        data = pack(f"{stage}/{key}", folder)
        retry_until_available(self, lambda: self.objects.write(_name(stage, key), data))

    def fetch(self, stage: str, key: str, wanted: FetchCondition | None = None) -> Files | None:
        """The files of an artifact; None if there is none that is whole, or if it is not wanted."""
        name, data = f"{stage}/{key}", self._read(stage, key, 0, HEAD_BYTES)
        if data is None:
            return None
        with _made_again(stage, key):
            items = read_header(name, data)
            if wanted is not None:
                data = self._more(stage, key, data, items[wanted.file].end if wanted.file in items else 0)
                if not wanted.test(read_member(items, wanted.file, data)):
                    return None
            return unpack(name, self._more(stage, key, data, max((i.end for i in items.values()), default=0)))
        return None

    def keys(self, stage: str, prefix: str) -> list[str]:
        """The keys of a stage's artifacts that begin with a prefix of at least two characters, sorted."""
        found = retry_until_available(self, lambda: self.objects.names(f"{stage}/{prefix[:2]}"))
        return sorted(name for name in found if name.startswith(prefix))

    def use(self) -> list[StageUse]:
        """What each stage keeps, largest first."""
        count: Counter[str] = Counter()
        total: Counter[str] = Counter()
        for name, size in retry_until_available(self, self.objects.all_names).items():
            stage, slash, _ = name.partition("/")
            count[stage] += bool(slash)
            total[stage] += size
        return [StageUse(stage, count[stage], size) for stage, size in total.most_common() if count[stage]]

    def _more(self, stage: str, key: str, data: bytes, end: int) -> bytes:
        """The beginning of an object that was read so far, read on up to `end`."""
        if len(data) >= end:
            return data
        return data + (self._read(stage, key, len(data), end) or b"")

    def _read(self, stage: str, key: str, begin: int, end: int) -> bytes | None:
        return retry_until_available(self, lambda: self.objects.read(_name(stage, key), begin, end))


@dataclass(frozen=True, slots=True)
class _Answering:
    """A depot that need not be one yet: it is enough that somebody answers."""

    depot: RemoteArtifactStore

    def here(self) -> bool:
        self.depot.objects.read(MARK, 0, HEAD_BYTES)
        return True

    def keeper(self) -> RemoteArtifactStore:
        return self.depot

    def lost(self, reason: str) -> str:
        return self.depot.lost(reason)


@contextlib.contextmanager
def _made_again(stage: str, key: str) -> Iterator[None]:
    """Say of an artifact that is not whole that it counts as none."""
    try:
        yield
    except ValueError as exc:
        log.warning("shared cache: %s/%s %s; rebuilding it", stage, key[:12], exc)


def _name(stage: str, key: str) -> str:
    return f"{stage}/{key[:2]}/{key}"
