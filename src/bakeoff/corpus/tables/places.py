"""Location of a table: a file, a pattern of files, or a URL that fsspec opens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pyarrow as pa

from bakeoff.errors import BakeoffError, DataError
from bakeoff.fingerprint import file_fingerprint, fingerprint

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}


@dataclass(frozen=True, slots=True)
class TablePlace:
    """A local file or URL, and what to read from it: the sheet, table or split, and the encoding."""

    place: Path | str
    part: str = ""
    encoding: str = "utf-8"

    @property
    def remote(self) -> bool:
        """Whether it is a URL."""
        return isinstance(self.place, str)

    @property
    def local(self) -> Path:
        """The local path; raises for a URL."""
        if isinstance(self.place, str):
            raise DataError(f"{self.place}: such a file is read on this machine only. Copy it here first.")
        return self.place

    @property
    def compressed(self) -> str | None:
        """Compression by the suffix of its name."""
        return next((kind for end, kind in COMPRESSED.items() if str(self.place).lower().endswith(end)), None)

    def size(self) -> int:
        """Bytes of the file, or of a folder's files; 0 if a URL does not report it."""
        if isinstance(self.place, str):
            system, path = file_system(self.place)
            with reading(self.place):
                return int(system.size(path) or 0)
        with reading(str(self.place)):
            files = self.place.rglob("*") if self.place.is_dir() else [self.place]
            return sum(path.stat().st_size for path in files if path.is_file())

    def stream(self) -> pa.NativeFile:
        """The decompressed bytes from the start."""
        return pa.input_stream(self.random_access(), compression=self.compressed)

    def random_access(self) -> pa.NativeFile | IO[bytes]:
        """The raw bytes with random access."""
        if isinstance(self.place, Path):
            return pa.OSFile(str(self.place))
        system, path = file_system(self.place)
        opened: IO[bytes] = system.open(path, "rb")
        return opened

    def mapped(self) -> pa.NativeFile | IO[bytes]:
        """The raw bytes, mapped into memory: only for a process with limits, which ends if the file shrinks."""
        if isinstance(self.place, Path) and self.size():
            return pa.memory_map(str(self.place))
        return self.random_access()


def list_places(place: Path | str) -> list[Path | str]:
    """Files of a name or pattern, sorted; raises if there are none."""
    if isinstance(place, str):
        return _list_remote(place)
    if place.exists():
        return [place]
    whole = place.absolute()
    found: list[Path | str] = [*sorted(Path(whole.anchor).glob(str(whole.relative_to(whole.anchor))))]
    if not found:
        raise DataError(f"{place} does not exist: give the file of a table, or a pattern of files.")
    return found


def table_version(place: Path | str) -> str:
    """A string that changes with a table's bytes; for a URL, what its file system reports."""
    return fingerprint([_file_version(one) for one in list_places(place)])


def file_system(url: str) -> tuple[AbstractFileSystem, str]:
    """File system of a URL, with keys its client finds in the environment, and the path there."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as exc:
        raise DataError(f"{url} needs fsspec: pip install 'bakeoff[s3]'.") from exc
    if "::" in url:
        raise DataError(
            f"{url}: one file system inside another is not opened. Give the address of the file itself."
        )
    try:
        system, path = url_to_fs(url, skip_instance_cache=True)
    except (ImportError, ValueError) as exc:
        raise DataError(f"{url} cannot be opened: {exc}. For s3://: pip install 'bakeoff[s3]'.") from exc
    return system, path


@contextlib.contextmanager
def reading(where: str) -> Iterator[None]:
    """Turn errors about a damaged, missing or unreadable file into a DataError that names it."""
    try:
        yield
    except FileNotFoundError as exc:
        raise DataError(f"{where} does not exist: give the file of a table.") from exc
    except MemoryError:
        raise
    except (pa.ArrowException, UnicodeDecodeError) as exc:
        raise DataError(f"{where} cannot be read: {_cause(exc)}") from exc
    except OSError as exc:
        raise DataError(f"{where} cannot be read: {exc.strerror or exc}") from exc
    except Exception as exc:  # every client of a URL has its own errors, most of them not OSErrors
        if "://" not in where or isinstance(exc, BakeoffError):
            raise
        raise DataError(f"{where} cannot be read: {type(exc).__name__}: {str(exc)[:300]}") from exc


def _cause(exc: Exception) -> str:
    """The reason in plain words, if the library's message is about its internals."""
    text = " ".join(str(exc).split())
    if "invalid UTF8" in text or isinstance(exc, UnicodeDecodeError):
        return "it is not UTF-8. Save it as UTF-8, or give its `encoding`, for example cp1252."
    if "straddling object" in text:
        return "a row is too long, or a quote is never closed. Correct the quotes, or split the row."
    return text[:300]


def _file_version(place: Path | str) -> str:
    if isinstance(place, Path):
        if not place.is_dir():
            return file_fingerprint(place)
        return fingerprint([file_fingerprint(path) for path in sorted(place.rglob("*")) if path.is_file()])
    system, path = file_system(place)
    with reading(place):
        return str(system.ukey(path))


def _list_remote(url: str) -> list[Path | str]:
    if not any(mark in url for mark in "*?["):
        return [url]
    system, pattern = file_system(url)
    with reading(url):
        found = sorted(system.glob(pattern))
    if not found:
        raise DataError(f"{url}: no file has such a name.")
    return [system.unstrip_protocol(name) for name in found]
