"""Objects under a URL, through fsspec: read, written whole, listed. Every client's errors become three.

A refusal stops the work (SettingError). What is not there is a FileNotFoundError, or None. Anything else may pass: an
OSError with EIO, which can be waited out.
"""

from __future__ import annotations

import contextlib
import errno
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bakeoff.errors import MissingExtraError, SettingError
from bakeoff.storage.cache import write_file
from bakeoff.storage.redaction import redact

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

SETTING = "BAKEOFF_CACHE"
REFUSED = re.compile(r"Credential|Authent|Refresh|TokenRetrieval")
"""In the names of the errors by which clients say that a key is missing or refused."""


@dataclass(frozen=True, slots=True)
class ObjectStoreClient:
    """The objects under a URL; names have slashes and begin with none."""

    url: str

    @property
    def in_folder(self) -> bool:
        """Whether they are files of a folder, which can be unmounted and then looks empty."""
        return "://" not in self.url or self.url.startswith(("file://", "local://"))

    def read(self, name: str, begin: int, end: int) -> bytes | None:
        """Some bytes of an object, in one request: fewer where it ends before, None if there is no object."""
        fs, base = _client(self.url)
        with _translate_errors(self.url):
            try:
                if self.in_folder:  # a file is read into as many bytes as are asked for, however few it has
                    end = max(begin, min(end, Path(base, name).stat().st_size))
                return bytes(fs.cat_file(f"{base}/{name}", start=begin, end=end))
            except FileNotFoundError:
                return None
            except OSError as exc:
                if exc.errno == errno.EINVAL:  # how S3 says that it has no such bytes
                    return b""
                raise

    def write(self, name: str, data: bytes) -> None:
        """Put an object in one step."""
        fs, base = _client(self.url)
        with _translate_errors(self.url):
            if not self.in_folder:
                fs.pipe_file(f"{base}/{name}", data)
                return
            if not Path(base).is_dir():  # gone, or never there: it is not for us to make
                raise FileNotFoundError(errno.ENOENT, "no such folder", base)
            path = Path(base, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, data)

    def names(self, folder: str) -> list[str]:
        """The objects directly below a folder, by their last names."""
        fs, base = _client(self.url)
        with _translate_errors(self.url):
            fs.invalidate_cache()
            try:
                rows = fs.ls(f"{base}/{folder}", detail=True)
            except FileNotFoundError:
                return []
            return [PurePosixPath(row["name"]).name for row in rows if row["type"] == "file"]

    def all_names(self) -> dict[str, int]:
        """All objects, with their bytes."""
        fs, base = _client(self.url)
        with _translate_errors(self.url):
            fs.invalidate_cache()
            return {
                path[len(base) + 1 :]: int(row["size"]) for path, row in fs.find(base, detail=True).items()
            }


def check_url(url: str) -> str:
    """The URL as it was set; one with a key or a password in it is refused."""
    try:
        at = urlsplit(url)
    except ValueError as exc:
        raise SettingError(f"{SETTING} is no URL ({exc}). Write it as s3://bucket/prefix.") from exc
    if at.username or at.password or at.query:
        raise SettingError(
            f"{SETTING} holds more than a place. Write {at.scheme}://bucket/prefix; keys and options belong in the "
            "environment, as AWS_ACCESS_KEY_ID or AWS_ENDPOINT_URL."
        )
    if "://" not in url and not Path(url).is_absolute():
        raise SettingError(
            f"{SETTING}={url} is no place. Write s3://bucket/prefix, or the whole path of a folder."
        )
    return url.rstrip("/")


@lru_cache
def _client(url: str) -> tuple[AbstractFileSystem, str]:
    """The client, and where in it the objects begin."""
    try:
        from fsspec.core import url_to_fs

        fs, base = url_to_fs(url, skip_instance_cache=True)
    except ImportError as exc:
        raise MissingExtraError(
            f"{SETTING}={url} needs a package that is not installed ({str(exc).splitlines()[0]}). For s3:// it is "
            "bakeoff[s3], for another place fsspec's client for it."
        ) from exc
    except ValueError as exc:
        raise SettingError(f"{SETTING}={url}: {exc}. Write it as s3://bucket/prefix.") from exc
    return fs, str(base).rstrip("/")


@contextlib.contextmanager
def _translate_errors(url: str) -> Iterator[None]:
    """Tell a refusal from a fault that may pass."""
    try:
        yield
    except FileNotFoundError:
        raise
    except Exception as exc:  # every client has errors of its own, and most are no OSError
        said = redact(f"{type(exc).__name__}: {exc}".strip().splitlines()[0])
        if isinstance(exc, PermissionError) or REFUSED.search(type(exc).__name__):
            raise SettingError(
                f"the shared cache {url} refuses ({said}). Its keys come from the environment of every node, as "
                "AWS_ACCESS_KEY_ID; they must be allowed to read, write and list."
            ) from exc
        raise OSError(errno.EIO, said) from exc
