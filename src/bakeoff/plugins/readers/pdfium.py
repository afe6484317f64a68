"""PDF by PDFium, the engine of Chrome."""

from __future__ import annotations

import ctypes
import re
import struct
import threading
from collections.abc import Callable
from typing import ClassVar

import pypdfium2 as pdfium
from pypdfium2 import raw
from pypdfium2.version import PYPDFIUM_INFO

from bakeoff.errors import UnreadableFileError
from bakeoff.plugins.readers._layout import Edges, Row, arrange, group_rows, side_by_side
from bakeoff.plugins.readers._pdf import LOCKED, PdfParams, pdf_document
from bakeoff.types import Document, Skipped, SourceFile

PASSWORD = 4  # FPDF_ERRPASSWORD
_HYPHEN = "\ufffe"  # where PDFium joined a word that was hyphenated at the end of a line
_LINE = re.compile(r"[^\r\n]+")
_BLANK = re.compile(r" +")
_FOUR_NUMBERS = struct.Struct("4d").unpack_from


def _engine_call(name: str) -> Callable[..., int]:
    """A call that passes references unchanged and keeps Python's lock: half the time of a regular one."""
    return ctypes.PYFUNCTYPE(ctypes.c_int)(ctypes.cast(getattr(raw, name), ctypes.c_void_p).value or 0)


_GET_RECT = _engine_call("FPDFText_GetRect")
_GET_CHAR_BOX = _engine_call("FPDFText_GetCharBox")
_GET_UNICODE = _engine_call("FPDFText_GetUnicode")
_ENGINE = threading.Lock()  # it serves one thread at a time


class PdfiumReader:
    """Reads the text page after page; the engine has no limit of its own on streams and tokens."""

    version: ClassVar[str] = f"1 with pypdfium2 {PYPDFIUM_INFO}"
    kinds: ClassVar[tuple[str, ...]] = ("pdf",)
    Params = PdfParams

    def __init__(self, params: PdfParams) -> None:
        self._params = params

    def read(self, file: SourceFile) -> Document | Skipped:
        """Return the text of all pages."""
        with _ENGINE:
            try:
                with pdfium.PdfDocument(file.data) as document:
                    self._params.check(len(document))
                    pages = [_read_page(document[number]) for number in range(len(document))]
                    return pdf_document(file, pages, document.get_metadata_value("Title"))
            except pdfium.PdfiumError as exc:
                if exc.err_code == PASSWORD:
                    return Skipped(file.id, LOCKED)
                raise UnreadableFileError(f"damaged PDF: {str(exc).rstrip('.')}") from exc


def _read_page(page: pdfium.PdfPage) -> str:
    text = page_text(page)
    page.close()
    return text


def page_text(page: pdfium.PdfPage) -> str:
    """Text of a page: columns one after the other, bars between table cells."""
    found = page.get_textpage()
    text = found.get_text_range()
    count = found.count_rects()
    if count <= text.count("\n") + 1 and count <= sum(map(bool, map(str.strip, text.split("\n")))):
        return _clean(text)  # no line has two parts
    positions = _Positions(found)
    parts = positions.parts(count)
    if not side_by_side(parts):
        return _clean(text)
    rows = group_rows(parts)
    lines = [one for one in _LINE.finditer(text) if one[0].strip()]
    if len(lines) != len(rows):  # the engine's lines are not the rows of boxes
        return _clean(text)
    arranged = arrange(rows, [one[0] for one in lines], lambda row: _cells(positions, rows[row], lines[row]))
    return _clean("\n".join(arranged))


_ANSWER = (ctypes.c_double * 4)()
_PLACES = tuple(ctypes.byref(_ANSWER, at) for at in (0, 8, 16, 24))


class _Positions:
    """Positions of a page's line parts and characters; the engine writes each answer to the same memory."""

    def __init__(self, found: pdfium.PdfTextPage) -> None:
        self._page = ctypes.byref(found.raw.contents)

    def parts(self, count: int) -> list[Edges]:
        """Left, top, right and bottom of each line part, of which the page has `count`."""
        page, (left, top, right, bottom), get, numbers = self._page, _PLACES, _GET_RECT, _FOUR_NUMBERS
        return [numbers(_ANSWER) for part in range(count) if get(page, part, left, top, right, bottom)]

    def left(self, number: int, character: str) -> float:
        """Left edge of a character; −∞ if the engine has another one at that number."""
        if _GET_UNICODE(self._page, number) != ord(character):
            return float("-inf")
        _GET_CHAR_BOX(self._page, number, *_PLACES)
        return _ANSWER[0]


def _cells(positions: _Positions, row: Row, line: re.Match[str]) -> list[str] | None:
    """Texts of a row's cells: the line split before the words that start them; None if these are not found."""
    wanted, start, text = [cell.left for cell in row[1:]], 0, line[0].rstrip(" ")
    parts: list[str] = []
    for blank in _BLANK.finditer(text):
        if positions.left(line.start() + blank.end(), text[blank.end()]) >= wanted[len(parts)] - 1:
            parts.append(text[start : blank.start()])
            start = blank.end()
            if len(parts) == len(wanted):
                return [*parts, line[0][start:]]
    return None


def _clean(text: str) -> str:
    return text.replace("\r\n", "\n").replace(_HYPHEN, "")
