"""Reads foreign text files strictly: UTF-8 or an error with the line, never empty, with line numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from bakeoff.errors import DataError

_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")


def read_text(path: Path) -> str:
    """Text of a file, without a byte order mark and with normalised newlines."""
    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "does not exist"
        raise DataError(f"{path} {what}. Give the path of a file.")
    try:
        raw = path.read_bytes()
    except OSError as exc:
        raise DataError(f"{path} cannot be read: {exc.strerror}. Check its permissions.") from exc
    text = _decode(raw, path).removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise DataError(f"{path} is empty. Give a file with queries in it.")
    return text


def _decode(raw: bytes, path: Path) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as exc:
        line = raw.count(b"\n", 0, exc.start) + 1
        hint = " It looks like UTF-16." if raw[:2] in _WIDE_MARKS else ""
        raise DataError(
            f"{path}, line {line}: byte {exc.start} (0x{raw[exc.start]:02x}) is not UTF-8.{hint}"
            " Save the file as UTF-8."
        ) from exc


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the non-blank lines, with their numbers from 1."""
    return ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    """The objects of a JSON-lines file with their line numbers."""
    for number, line in lines(read_text(path)):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as exc:
            raise DataError(f"{path}, line {number}: not JSON ({exc}). Write one object a line.") from exc
        if not isinstance(row, dict):
            raise DataError(f"{path}, line {number}: a {type(row).__name__}. Write one object a line.")
        yield number, row
