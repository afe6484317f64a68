"""Bytes to text: the encoding found by mark, by trial, then by statistics; newlines are left as they are."""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE

from charset_normalizer import from_bytes

_MARKS = (
    (BOM_UTF8, "utf-8-sig"),
    (BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it starts with
    (BOM_UTF32_BE, "utf-32"),
    (BOM_UTF16_LE, "utf-16"),
    (BOM_UTF16_BE, "utf-16"),
)
_COOKIE = re.compile(rb"(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)")
_SAMPLE = 200_000  # bytes: statistics need no more


def is_binary(data: bytes) -> bool:
    """Whether the bytes are no text: zeros, and no mark of an encoding that has them."""
    return b"\0" in data and not any(data.startswith(mark) for mark, _ in _MARKS)


def decode(data: bytes) -> tuple[str, str] | None:
    """The text and its encoding, or None where no encoding fits."""
    for name in _candidates(data):
        try:
            return data.decode(name), name
        except (UnicodeDecodeError, LookupError):
            continue
    best = from_bytes(data[:_SAMPLE]).best()
    if best is None:
        return None
    try:
        return data.decode(best.encoding), best.encoding
    except UnicodeDecodeError:
        return None


def _candidates(data: bytes) -> list[str]:
    """Encodings to try in order; a mark settles it."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return [name]
    declared = _COOKIE.match(data[:400])
    return ["utf-8", *([declared[1].decode("ascii")] if declared else [])]
