"""OpenDocument texts and presentations: paragraphs, headings, lists, tables and slides from their content.xml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lxml import etree

from bakeoff.errors import UnreadableFileError
from bakeoff.plugins.kit.reading import (
    NoReaderParams,
    heading,
    make_document,
    open_archive,
    parse_xml,
    report_damage,
    table_lines,
)
from bakeoff.types import Document, Skipped, SourceFile

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_BREAKS = {f"{_TEXT}tab": "\t", f"{_TEXT}line-break": "\n", f"{_TEXT}s": " "}
_ENCRYPTED = b"encryption-data"


class OdtReader:
    """Reads .odt and .odp; deleted text of tracked changes is left out."""

    version: ClassVar[str] = f"1 with lxml {etree.__version__}"
    kinds: ClassVar[tuple[str, ...]] = ("odt",)
    Params = NoReaderParams

    def __init__(self, params: NoReaderParams) -> None:
        pass

    def read(self, file: SourceFile) -> Document | Skipped:
        """The text of the document's body."""
        with (
            report_damage("OpenDocument file", etree.LxmlError),
            open_archive(file, "OpenDocument file") as archive,
        ):
            names = archive.namelist()
            if "META-INF/manifest.xml" in names and _ENCRYPTED in archive.read("META-INF/manifest.xml"):
                raise UnreadableFileError("password-protected OpenDocument file: save it without a password")
            about = parse_xml(archive.read("meta.xml")).iter(_TITLE) if "meta.xml" in names else ()
            title = next((one.text or "" for one in about), "")
            return make_document(file, _blocks(parse_xml(archive.read("content.xml"))), title)


def _blocks(element: etree._Element) -> Iterator[str]:
    """Blocks of an element in order; slides are numbered by position."""
    slides = 0
    for child in element:
        if child.tag == f"{_TEXT}tracked-changes":
            continue
        if child.tag == f"{_TEXT}h":
            yield heading(int(child.get(f"{_TEXT}outline-level", "1")), _text(child))
        elif child.tag == f"{_TEXT}p":
            yield _text(child)
        elif child.tag == f"{_TEXT}list":
            yield "\n".join(f"- {block}" for item in child for block in _blocks(item) if block.strip())
        elif child.tag == f"{_TABLE}table":
            yield "\n".join(table_lines(_row(row) for row in child.iter(f"{_TABLE}table-row")))
        else:
            if child.tag == f"{_DRAW}page":
                slides += 1
                yield heading(2, f"Slide {slides}")
            yield from _blocks(child)


def _row(row: etree._Element) -> list[str]:
    return [
        " ".join(_text(one) for one in cell.iter(f"{_TEXT}p")) for cell in row.iter(f"{_TABLE}table-cell")
    ]


def _text(element: etree._Element) -> str:
    """Text of a paragraph, including its frames."""
    parts = [element.text or ""]
    for child in element:
        if isinstance(child.tag, str):
            parts += [_BREAKS.get(child.tag, ""), _text(child)]
        parts.append(child.tail or "")
    return "".join(parts)
