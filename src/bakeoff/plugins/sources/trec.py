"""Collections in TREC's format (<DOC> with <DOCNO>) and in SMART's (.I, .T, .W), such as CISI and Cranfield."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from bakeoff.corpus.tables.places import TablePlace, list_places, reading, table_version
from bakeoff.errors import DataError
from bakeoff.types import DocumentBatch

BATCH_ROWS = 2_048
RECORD_BYTES = 32_000_000
_NUMBER = re.compile(r"<DOCNO>\s*(.*?)\s*</DOCNO>", re.DOTALL | re.IGNORECASE)
_HEADLINE = re.compile(r"<(TITLE|HEADLINE|HL|TTL)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
_SMART_FIELD = re.compile(r"^\.([A-Z])\s*$")

Row = tuple[str, str, str]
"""Id, title and text."""


class TrecParams(BaseModel):
    """Which files."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    trec: Path = Field(
        description="a file, or a pattern of files, packed with gzip or not; SMART's is recognised"
    )
    encoding: str = Field("utf-8", description="of the files; older collections are latin-1")


class TrecSource:
    """Reads every document of the files."""

    version: ClassVar[str] = "1"
    Params = TrecParams

    def __init__(self, params: TrecParams) -> None:
        self._params = params

    def content_version(self) -> str:
        """Fingerprint of the files."""
        return table_version(self._params.trec)

    def count_rows(self) -> int | None:
        """None: unknown before it is read."""
        return None

    def batches(self) -> Iterator[DocumentBatch]:
        """Yield the documents in file order."""
        for place in list_places(self._params.trec):
            with reading(str(place)):
                rows = _rows(TablePlace(place, encoding=self._params.encoding))
                while some := list(islice(rows, BATCH_ROWS)):
                    ids, titles, texts = (pa.array(c, pa.large_string()) for c in zip(*some, strict=True))
                    yield DocumentBatch(ids=ids, titles=titles, texts=texts)


def _rows(file: TablePlace) -> Iterator[Row]:
    lines = _lines(file)
    first = next((line for line in lines if line.strip()), "")
    if first.startswith(".I"):
        yield from _smart_rows(first, lines, file)
    elif "<doc" in first.lower():
        yield from _trec_rows(first, lines, file)
    else:
        raise DataError(
            f"{file.place} begins with {first.strip()[:60]!r}: neither <DOC> (TREC) nor .I 1 (SMART)."
        )


def _lines(file: TablePlace) -> Iterator[str]:
    with file.stream() as stream:
        rest = b""
        while block := stream.read(1 << 20):
            *lines, rest = (rest + block).split(b"\n")
            if len(rest) > RECORD_BYTES:
                raise DataError(f"{file.place} has a line longer than {RECORD_BYTES / 1e6:g} MB.")
            yield from (line.decode(file.encoding) + "\n" for line in lines)
        if rest:
            yield rest.decode(file.encoding)


def _trec_rows(first: str, lines: Iterator[str], file: TablePlace) -> Iterator[Row]:
    record = [first]
    for line in lines:
        record.append(line)
        if "</doc>" in line.lower():
            yield _trec_row("".join(record), file)
            record = []
    if "".join(record).strip():
        raise DataError(f"{file.place} ends inside a <DOC>: the file is cut off.")


def _trec_row(record: str, file: TablePlace) -> Row:
    number = _NUMBER.search(record)
    if number is None:
        raise DataError(f"{file.place}: a <DOC> has no <DOCNO>: {' '.join(record.split())[:80]!r}")
    title = _HEADLINE.search(record)
    body = record[: number.start()] + record[number.end() :]
    return number[1], _plain(title[2]) if title else "", _plain(body)


def _plain(text: str) -> str:
    """Text without tags, with its lines unchanged."""
    return html.unescape(_TAG.sub("", text)).strip()


def _smart_rows(first: str, lines: Iterator[str], file: TablePlace) -> Iterator[Row]:
    name, parts, part = _smart_id(first, file), dict[str, list[str]](), ""
    for line in lines:
        if line.startswith(".I "):
            yield _smart_row(name, parts)
            name, parts, part = _smart_id(line, file), {}, ""
        elif found := _SMART_FIELD.match(line):
            part = found[1]
        else:
            parts.setdefault(part, []).append(line)
    yield _smart_row(name, parts)


def _smart_id(line: str, file: TablePlace) -> str:
    name = line[2:].strip()
    if not name:
        raise DataError(f"{file.place}: .I without a number.")
    return name


def _smart_row(name: str, parts: dict[str, list[str]]) -> Row:
    title, body = (" ".join("".join(parts.get(key, [])).split(" ")).strip() for key in "TW")
    return name, " ".join(title.split()), f"{title}\n\n{body}".strip()
