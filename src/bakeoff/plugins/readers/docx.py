"""Word documents by python-docx: paragraphs, headings, lists and tables in their order, notes at the end."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version as installed
from io import BytesIO
from typing import ClassVar

import docx
from docx.document import Document as WordDocument
from docx.opc.exceptions import OpcError
from docx.table import Table
from docx.text.paragraph import Paragraph
from lxml import etree

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

_NOTES = ("footnotes", "endnotes", "comments")
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MARKS = {f"{_WORD}tab": "\t", f"{_WORD}br": "\n", f"{_WORD}cr": "\n", f"{_WORD}noBreakHyphen": "-"}
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"


class DocxReader:
    """Reads the text of a Word document; running headers and footers are left out."""

    version: ClassVar[str] = f"1 with python-docx {installed('python-docx')}"
    kinds: ClassVar[tuple[str, ...]] = ("docx",)
    Params = NoReaderParams

    def __init__(self, params: NoReaderParams) -> None:
        pass

    def read(self, file: SourceFile) -> Document | Skipped:
        """The document's text, its headings marked."""
        open_archive(file, "Word document").close()
        with report_damage("Word document", OpcError, etree.LxmlError):
            word = docx.Document(BytesIO(file.data))
            title = word.core_properties.title or ""
            return make_document(file, [*_blocks(word), *_notes(word)], title)


def _blocks(word: WordDocument) -> Iterator[str]:
    listed: list[str] = []
    for part in word.iter_inner_content():
        text = _paragraph(part) if isinstance(part, Paragraph) else "\n".join(table_lines(_rows(part)))
        if text.startswith("- "):
            listed.append(text)
            continue
        yield "\n".join(listed)
        listed = []
        yield text
    yield "\n".join(listed)


def _paragraph(part: Paragraph) -> str:
    text = _text(part._p)
    name = (part.style.name if part.style is not None else "") or ""
    if not text.strip():
        return ""
    if name == "Title":
        return heading(1, text)
    if name.startswith("Heading ") and name[8:].isdigit():
        return heading(int(name[8:]), text)
    numbered = part._p.pPr is not None and part._p.pPr.numPr is not None
    return f"- {text.strip()}" if numbered or name.startswith("List") else text


def _text(element: etree.Element) -> str:
    """Text in an element, including links, insertions and text boxes; deleted text has other element names."""
    found = (one for one in element.iter() if not any(up.tag == _FALLBACK for up in one.iterancestors()))
    return "".join(one.text or "" if one.tag == f"{_WORD}t" else _MARKS.get(one.tag, "") for one in found)


def _rows(table: Table) -> Iterator[list[str]]:
    """Cells of each row; a merged cell occurs once."""
    for row in table.rows:
        seen: set[object] = set()
        cells = []
        for cell in row.cells:
            if cell._tc not in seen:
                seen.add(cell._tc)
                cells.append(" ".join(_text(one._p) for one in cell.paragraphs))
        yield cells


def _notes(word: WordDocument) -> Iterator[str]:
    """Footnotes, endnotes and comments."""
    for part in word.part.package.iter_parts():
        if any(str(part.partname).endswith(f"/{name}.xml") for name in _NOTES):
            yield from (_text(paragraph) for paragraph in parse_xml(part.blob).iter(f"{_WORD}p"))
