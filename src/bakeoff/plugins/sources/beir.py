"""A corpus in BEIR's format: one JSON object per line in corpus.jsonl."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from bakeoff.errors import CorpusError, DataError
from bakeoff.types import Document, Skipped, SourceItem

LINE_BYTES = 20_000_000
"""Longer lines are not parsed: parsed JSON takes many times its text in memory."""


@dataclass(frozen=True, slots=True)
class _Record:
    """One line of the file."""

    id: str
    title: str
    text: str
    fields: dict[str, str]


class BeirSource:
    """Reads corpus.jsonl; a document's text is its title, a space, and its text, as MTEB embeds it."""

    version: ClassVar[str] = "1"

    class Params(BaseModel):
        """Parameters of the beir source."""

        model_config = ConfigDict(extra="forbid", frozen=True)

        folder: Path = Field(description="the folder with corpus.jsonl")

    def __init__(self, params: Params) -> None:
        self._path = params.folder / "corpus.jsonl"
        self._places: dict[str, tuple[int, int]] = {}

    def items(self) -> Iterator[SourceItem | Skipped]:
        """Yield the documents in the order of the file; a malformed line is an error that names its number."""
        seen: dict[str, int] = {}
        for number, offset, line in self._lines():
            if len(line) > LINE_BYTES:
                yield Skipped(f"line {number}", f"too large: it has more than {LINE_BYTES / 1e6:g} MB")
                continue
            record = self._record(line, number)
            if record.id in seen:
                raise DataError(f"{self._path}:{number}: _id {record.id!r} is also on line {seen[record.id]}")
            seen[record.id] = number
            self._places[record.id] = (offset, number)
            if not (record.title + record.text).strip():
                yield Skipped(record.id, "empty: neither title nor text", has_text=False)
            else:
                yield SourceItem(record.id, blake2b(line, digest_size=16).hexdigest(), len(line))

    def read(self, item: SourceItem) -> Document | Skipped:
        """One document by its id."""
        if item.id not in self._places:
            for _ in self.items():
                pass
        if item.id not in self._places:
            raise CorpusError(f"{self._path} has no document {item.id!r}: the file changed while it was read")
        offset, number = self._places[item.id]
        with self._path.open("rb") as file:
            file.seek(offset)
            line = file.readline()
        if blake2b(line, digest_size=16).hexdigest() != item.version:
            raise CorpusError(
                f"{self._path}:{number} changed while the corpus was read: run again when it is at rest"
            )
        record = self._record(line, number)
        return Document(
            record.id, f"{record.title} {record.text}".strip(), "text", record.title, record.fields
        )

    def _lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Line number, byte offset and bytes of every line."""
        if not self._path.is_file():
            raise CorpusError(f"{self._path} does not exist: give the folder that holds corpus.jsonl")
        offset = 0
        with self._path.open("rb") as file:
            for number in count(1):
                line = file.readline(LINE_BYTES + 1)
                if not line:
                    return
                yield number, offset, line
                while line and not line.endswith(b"\n"):  # the rest of one that is too long
                    line = file.readline(LINE_BYTES)
                offset = file.tell()

    def _record(self, line: bytes, number: int) -> _Record:
        where = f"{self._path}:{number}"
        try:
            row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except (ValueError, RecursionError) as exc:
            raise DataError(f"{where}: not JSON in UTF-8 ({exc}): one object a line, no blank lines") from exc
        if not isinstance(row, dict):
            raise DataError(f"{where}: a {type(row).__name__}, not an object with _id and text")
        name, text, title = _string(row, "_id", where), _string(row, "text", where), row.get("title") or ""
        if not name or not isinstance(title, str):
            raise DataError(f"{where}: _id {name!r} and title {title!r} must be strings, _id not empty")
        return _Record(name, title, text, _fields(row.get("metadata")))


def _string(row: dict[str, object], key: str, where: str) -> str:
    value = row.get(key)
    if not isinstance(value, str):
        raise DataError(f"{where}: {key} is {value!r}: it must be a string")
    return value


def _fields(metadata: object) -> dict[str, str]:
    if not isinstance(metadata, dict):
        return {}
    return {str(key): str(value) for key, value in metadata.items() if isinstance(value, str | int | float)}
