"""A parcel: an artifact as one run of bytes, which tells whose it is and whether it is whole.

A line of JSON with the artifact's name and the size and hash of each file; then the files, in the order of their names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bakeoff.fingerprint import bytes_fingerprint
from bakeoff.storage.cache import file_manifest

Files = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Member:
    """Where a file lies in a parcel, in bytes, and its hash."""

    begin: int
    end: int
    digest: str


def pack(name: str, folder: Path) -> bytes:
    """The files of a folder as a parcel: the same bytes wherever they are packed."""
    files = file_manifest(folder)
    header = json.dumps({"artifact": name, "files": files}, sort_keys=True).encode() + b"\n"
    return header + b"".join((folder / file).read_bytes() for file in sorted(files))


def read_header(name: str, head: bytes) -> dict[str, Member]:
    """What is in the parcel of an artifact, by its first line; a ValueError says what is wrong with it."""
    try:
        header = json.loads(head[: head.index(b"\n")])
        whose, files = header["artifact"], sorted(header["files"].items())
        sizes = [(file, int(size), str(digest)) for file, (size, digest) in files]
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise ValueError("is no artifact") from None
    if whose != name:
        raise ValueError("is another artifact")
    items, at = {}, head.index(b"\n") + 1
    for file, size, digest in sizes:
        if size < 0 or not _plain(file):
            raise ValueError("has a file of a strange name or size")
        items[file] = Member(at, at + size, digest)
        at += size
    return items


def read_member(items: Mapping[str, Member], file: str, data: bytes) -> bytes:
    """One file of a parcel, verified."""
    if file not in items:
        raise ValueError(f"has no {file}")
    content = data[items[file].begin : items[file].end]
    if bytes_fingerprint(content) != items[file].digest:
        raise ValueError(f"has a damaged file ({file})")
    return content


def unpack(name: str, data: bytes) -> Files:
    """All files of a parcel, verified."""
    items = read_header(name, data)
    return {file: read_member(items, file, data) for file in items}


def _plain(file: str) -> bool:
    """Whether a name stays below the folder it is written to."""
    path = PurePosixPath(file)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\\" not in file
