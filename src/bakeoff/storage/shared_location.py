"""Where several machines share a cache: a folder, or objects under a URL; and waiting while it is unavailable.

A marker file identifies the location. Without it, an unmounted folder would look like an empty cache, and
work would be written where nobody finds it.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import re
import socket
import time
import uuid
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import urlsplit

from bakeoff.errors import CacheError, MissingExtraError, SettingError, describe_error
from bakeoff.storage.cache import Cache, write_file
from bakeoff.storage.redaction import redact

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

T = TypeVar("T")
SETTING = "BAKEOFF_CACHE"
MARKER = "shared.id"
PATIENCE_SECONDS = 300.0
FIRST_SECONDS = 20.0
PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0
TEMPORARY = (errno.EIO, errno.ESTALE)
"""Errors of a file system or network that may be gone at the next attempt."""
REFUSED = re.compile(r"Credential|Authent|Refresh|TokenRetrieval")
"""Occurs in the names of the errors that clients raise for a missing or refused key."""
log = logging.getLogger(__name__)
_reached: set[Hashable] = set()


class ArtifactWriter(Protocol):
    """How a worker stores artifacts: when `keep` returns, every machine can read the artifact."""

    def has(self, stage: str, key: str) -> bool:
        """Whether the complete artifact exists."""
        ...

    def keep(self, stage: str, key: str, write: Callable[[Path], None]) -> object:
        """Store the artifact that `write(folder)` writes, unless it exists."""
        ...


class SharedLocation(Hashable, Protocol):
    """Where the artifacts of several machines are; picklable, so that workers get it."""

    def is_available(self) -> bool:
        """Whether this machine can see it now."""
        ...

    def writer(self) -> ArtifactWriter:
        """What a worker stores its artifacts with."""
        ...

    def unavailable_message(self, reason: str) -> str:
        """The error after waiting without success."""
        ...


def retry_until_available(shared: SharedLocation, act: Callable[[], T]) -> T:
    """Return `act()`, retrying while the location is unavailable; one that was reached before is awaited much
    longer. Errors unrelated to the location are raised."""
    begin, pause = time.monotonic(), PAUSE_SECONDS
    while True:
        reason = "it is not there, or is another folder"
        try:
            if shared.is_available():
                _reached.add(shared)
                return act()
        except OSError as exc:
            if exc.errno not in TEMPORARY and _is_available_now(shared):
                raise
            reason = exc.strerror if exc.errno in TEMPORARY and exc.strerror else describe_error(exc)
        patience = PATIENCE_SECONDS if shared in _reached else FIRST_SECONDS
        if time.monotonic() - begin > patience:
            raise CacheError(shared.unavailable_message(reason))
        if pause == PAUSE_SECONDS:
            log.warning("the shared cache is gone (%s); waiting up to %.0f s for it", reason, patience)
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)


def _is_available_now(shared: SharedLocation) -> bool:
    try:
        return shared.is_available()
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class SharedFolder:
    """A shared folder and the content of its marker."""

    root: Path
    marker: str

    def is_available(self) -> bool:
        """Whether this machine can see this very folder now."""
        try:
            return _read_marker(self.root) == self.marker
        except OSError:
            return False

    def writer(self) -> Cache:
        """The cache in the folder."""
        return SharedFolderCache(self)

    def unavailable_message(self, reason: str) -> str:
        """The error when the folder does not come back."""
        return (
            f"{socket.gethostname()} cannot use the shared cache folder {self.root}: {reason}. Set BAKEOFF_HOME "
            "to a folder that every node sees under this path; finished shards are kept."
        )


def ensure_marker(root: Path) -> SharedFolder:
    """The folder with its marker, written now if there is none."""
    path = root / MARKER
    if not path.is_file():
        root.mkdir(parents=True, exist_ok=True)
        write_file(path, uuid.uuid4().hex.encode())
    return SharedFolder(root, _read_marker(root))


def _read_marker(root: Path) -> str:
    """The marker of a folder; any bytes are a marker, also those of another program."""
    return (root / MARKER).read_bytes().decode("ascii", "backslashreplace")


class SharedFolderCache(Cache):
    """The cache in a shared folder: requests wait while it is unavailable."""

    def __init__(self, folder: SharedFolder) -> None:
        super().__init__(folder.root)
        self._shared = folder

    def get(self, stage: str, key: str) -> Path | None:
        """As in any cache; an unavailable folder does not make an artifact missing."""

        def read_path() -> Path | None:
            path = super(SharedFolderCache, self).get(stage, key)
            self._check_folder(path is None)
            return path

        return retry_until_available(self._shared, read_path)

    def make(self, stage: str, key: str, write: Callable[[Path], None]) -> Path:
        """As in any cache; an artifact being written when the folder disappeared is written again."""
        return retry_until_available(
            self._shared, lambda: super(SharedFolderCache, self).make(stage, key, write)
        )

    def note(self, stage: str, key: str, write: Callable[[Path], None]) -> None:
        """As in any cache."""
        retry_until_available(self._shared, lambda: super(SharedFolderCache, self).note(stage, key, write))

    def keys(self, stage: str, prefix: str) -> list[str]:
        """As in any cache."""

        def list_keys() -> list[str]:
            keys = super(SharedFolderCache, self).keys(stage, prefix)
            self._check_folder(not keys)
            return keys

        return retry_until_available(self._shared, list_keys)

    def _check_folder(self, empty: bool) -> None:
        if empty and not self._shared.is_available():
            raise OSError(errno.ESTALE, "it went while it was read")


@dataclass(frozen=True, slots=True)
class ObjectStoreClient:
    """The objects under a URL, through fsspec. Names contain slashes and do not begin with one.

    The errors of every client become three: SettingError if access is refused, FileNotFoundError (or None) if there is
    no such object, and OSError with EIO for anything else, which a retry may solve.
    """

    url: str

    @property
    def in_folder(self) -> bool:
        """Whether the objects are files of a folder, which can be unmounted and then looks empty."""
        return "://" not in self.url or self.url.startswith(("file://", "local://"))

    def read(self, name: str, begin: int, end: int) -> bytes | None:
        """A range of bytes in one request: fewer if the object ends earlier, None without an object."""
        fs, base = _client(self.url)
        with _translate_errors(self.url):
            try:
                if self.in_folder:  # fsspec allocates `end - begin` bytes, however short the file is
                    end = max(begin, min(end, Path(base, name).stat().st_size))
                return bytes(fs.cat_file(f"{base}/{name}", start=begin, end=end))
            except FileNotFoundError:
                return None
            except OSError as exc:
                if exc.errno == errno.EINVAL:  # what S3 answers if the object has no such bytes
                    return b""
                raise

    def write(self, name: str, data: bytes) -> None:
        """Write an object atomically."""
        fs, base = _client(self.url)
        with _translate_errors(self.url):
            if not self.in_folder:
                fs.pipe_file(f"{base}/{name}", data)
                return
            if not Path(base).is_dir():  # unmounted, or never there: do not create it
                raise FileNotFoundError(errno.ENOENT, "no such folder", base)
            path = Path(base, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, data)

    def names(self, folder: str) -> list[str]:
        """The last parts of the names of the objects directly in a folder."""
        fs, base = _client(self.url)
        with _translate_errors(self.url):
            fs.invalidate_cache()
            try:
                rows = fs.ls(f"{base}/{folder}", detail=True)
            except FileNotFoundError:
                return []
            return [PurePosixPath(row["name"]).name for row in rows if row["type"] == "file"]

    def sizes(self) -> dict[str, int]:
        """The bytes of every object, by its name."""
        fs, base = _client(self.url)
        with _translate_errors(self.url):
            fs.invalidate_cache()
            return {
                path[len(base) + 1 :]: int(row["size"]) for path, row in fs.find(base, detail=True).items()
            }


def check_url(url: str) -> str:
    """The URL without a final slash; a URL with a key or a password in it is refused."""
    try:
        at = urlsplit(url)
    except ValueError as exc:
        raise SettingError(f"{SETTING} is not a URL ({exc}). Use s3://bucket/prefix.") from exc
    if at.username or at.password or at.query:
        raise SettingError(
            f"{SETTING} must not contain credentials or options. Use {at.scheme}://bucket/prefix and set keys and "
            "options in the environment, for example AWS_ACCESS_KEY_ID or AWS_ENDPOINT_URL."
        )
    if "://" not in url and not Path(url).is_absolute():
        raise SettingError(f"{SETTING}={url} is not a location. Use s3://bucket/prefix or an absolute path.")
    return url.rstrip("/")


@lru_cache
def _client(url: str) -> tuple[AbstractFileSystem, str]:
    """The client, and the path of the URL in it."""
    try:
        from fsspec.core import url_to_fs

        fs, base = url_to_fs(url, skip_instance_cache=True)
    except ImportError as exc:
        raise MissingExtraError(
            f"{SETTING}={url} needs a package that is not installed ({str(exc).splitlines()[0]}). Install bakeoff[s3] "
            "for s3://, or the fsspec client of this URL."
        ) from exc
    except ValueError as exc:
        raise SettingError(f"{SETTING}={url}: {exc}. Use s3://bucket/prefix.") from exc
    return fs, str(base).rstrip("/")


@contextlib.contextmanager
def _translate_errors(url: str) -> Iterator[None]:
    """Distinguish a refusal from an error that a retry may solve."""
    try:
        yield
    except FileNotFoundError:
        raise
    except Exception as exc:  # every client has its own errors, most of them not OSErrors
        cause = redact(f"{type(exc).__name__}: {exc}".strip().splitlines()[0])
        if isinstance(exc, PermissionError) or REFUSED.search(type(exc).__name__):
            raise SettingError(
                f"the shared cache {url} refuses access ({cause}). Set its keys in the environment of every node, for "
                "example AWS_ACCESS_KEY_ID, with permission to read, write and list."
            ) from exc
        raise OSError(errno.EIO, cause) from exc
