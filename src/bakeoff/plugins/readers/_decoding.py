"""Decodes bytes: by byte order mark, as UTF-8, as given or declared, finally by statistics; newlines are kept.

Most files that are not UTF-8 are Windows-1252: the detector's answer counts only if it is clearly ahead.
"""

from __future__ import annotations

import codecs
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections.abc import Iterator
from typing import Literal, NamedTuple

import chardet

Basis = Literal["mark", "utf-8", "given", "declared", "guessed"]
"""How an encoding was chosen."""

WESTERN = "cp1252"
LEAD = 2.0
"""How many times as confident as for Western European the detector must be in another encoding."""
_WESTERN_FAMILY = frozenset({"cp1252", "iso8859-1", "iso8859-15"})
_MARKS = (
    (BOM_UTF8, "utf-8-sig"),
    (BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it starts with
    (BOM_UTF32_BE, "utf-32"),
    (BOM_UTF16_LE, "utf-16"),
    (BOM_UTF16_BE, "utf-16"),
)
_COOKIE = re.compile(rb"(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)")
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([-\w.:]+)", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([-\w.:]+)")
_ESCAPES = re.compile(rb"\x1b(?:\$[@B]|\([BJ])")  # of ISO-2022-JP, which is ASCII by its bytes
_DECLARED = 4_000  # bytes searched for a declaration
_SAMPLE = 200_000  # bytes: statistics need no more


class Decoded(NamedTuple):
    """A file's text, its encoding, and how that was chosen."""

    text: str
    encoding: str
    basis: Basis


def is_binary(data: bytes, given: str | None = None) -> bool:
    """Whether the bytes are not text: zero bytes without a mark or given encoding that allows them."""
    wide = given is not None and codecs.lookup(given).name.startswith(("utf-16", "utf-32"))
    return b"\0" in data and not wide and not any(data.startswith(mark) for mark, _ in _MARKS)


def decode(data: bytes, given: str | None = None) -> Decoded | None:
    """The text and its encoding, or None if no encoding fits; `given` applies to files that are not UTF-8."""
    for name, basis in _candidates(data, given):
        try:
            return Decoded(data.decode(name), codecs.lookup(name).name if basis == "guessed" else name, basis)
        except (UnicodeError, LookupError):  # "undefined" is an encoding that refuses every text
            continue
    return None


def _candidates(data: bytes, given: str | None) -> Iterator[tuple[str, Basis]]:
    """Encodings to try in order; a byte order mark decides, a given one is not second-guessed."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            yield name, "mark"
            return
    if given and data.isascii():  # some encodings write every text in ASCII bytes
        yield given, "given"
        return
    if not _ESCAPES.search(data):
        yield "utf-8", "utf-8"
    if given:
        yield given, "given"
        return
    declared = _COOKIE.match(data[:400]) or _XML.match(data[:_DECLARED]) or _META.search(data[:_DECLARED])
    if declared:
        yield declared[1].decode("ascii"), "declared"
    for name in _guesses(data[:_SAMPLE]):
        yield name, "guessed"
    yield "utf-8", "utf-8"


def _guesses(data: bytes) -> list[str]:
    """Encodings by likelihood: Western European first, unless another has a clear lead."""
    found = {
        name: one["confidence"]
        for one in chardet.detect_all(data, ignore_threshold=True)
        if one["encoding"] and (name := _codec(one["encoding"]))
    }
    western = max((found[name] for name in _WESTERN_FAMILY & found.keys()), default=0.0)
    best = max(found, key=lambda name: found[name], default=WESTERN)
    if best in _WESTERN_FAMILY or found.get(best, 0.0) < LEAD * western:
        return [WESTERN, best]
    return [best, WESTERN]


def _codec(name: str) -> str:
    """Python's name of an encoding, or ''."""
    try:
        return codecs.lookup(name).name
    except LookupError:
        return ""
