"""The only hash: type-tagged, so that 1, "1", 1.0 and True differ, and unhashable values raise."""

from __future__ import annotations

import dataclasses
import hashlib
import struct
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Any

LENGTH = 32


def fingerprint(*parts: object) -> str:
    """A 32-character hex digest of values: the same on every machine and in every process."""
    digest = hashlib.blake2b(digest_size=LENGTH // 2)
    for part in parts:
        _feed(digest, part)
    return digest.hexdigest()


def file_fingerprint(path: Path) -> str:
    """The fingerprint of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=LENGTH // 2)).hexdigest()


def bytes_fingerprint(data: bytes | memoryview) -> str:
    """Fingerprint of raw bytes, equal to `file_fingerprint` of a file with them."""
    return hashlib.blake2b(data, digest_size=LENGTH // 2).hexdigest()


def text_keys(texts: Iterable[str]) -> list[str]:
    """One fingerprint per text."""
    return [bytes_fingerprint(text.encode("utf-8", "surrogatepass")) for text in texts]


def pair_fingerprints(first: Iterable[str], second: Iterable[str]) -> list[str]:
    """`fingerprint(a, b)` of each pair of texts, in less time."""
    pack, digest, size = struct.Struct("<q").pack, hashlib.blake2b, LENGTH // 2
    found = []
    for a, b in zip(first, second, strict=True):
        x, y = a.encode("utf-8", "surrogatepass"), b.encode("utf-8", "surrogatepass")
        found.append(digest(b"s%b%bs%b%b" % (pack(len(x)), x, pack(len(y)), y), digest_size=size).hexdigest())
    return found


def _feed(digest: Any, value: Any) -> None:
    tag, data = _encode(value)
    digest.update(tag + struct.pack("<q", len(data)))
    digest.update(data)


def _encode(value: object) -> tuple[bytes, bytes]:
    if type(value) is str:  # millions of them; the cases before theirs take longer than the hash
        return b"s", value.encode("utf-8", "surrogatepass")
    match value:
        case None:
            return b"n", b""
        case bool():
            return b"b", bytes([value])
        case Enum():
            return b"e", _bytes_of([type(value).__name__, value.value])
        case int():
            return b"i", str(value).encode()
        case float():
            return b"f", struct.pack("<d", value)
        case str():
            return b"s", value.encode("utf-8", "surrogatepass")
        case bytes():
            return b"y", value
        case list() | tuple():
            return b"l", _bytes_of(value)
        case set() | frozenset():
            return b"t", b"".join(sorted(_bytes_of([item]) for item in value))
        case dict():
            return b"d", b"".join(_bytes_of([key, value[key]]) for key in sorted(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return b"c", _bytes_of([type(value).__name__, fields])
    raise TypeError(f"no fingerprint for a value of type {type(value).__name__}: {value!r}")


def _bytes_of(values: Iterable[object]) -> bytes:
    out = bytearray()
    for value in values:
        tag, data = _encode(value)
        out += tag + struct.pack("<q", len(data)) + data
    return bytes(out)
