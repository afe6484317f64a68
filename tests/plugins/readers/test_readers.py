"""Every reader under the contract, and what it keeps of documents whose text is known."""

from __future__ import annotations

import io
import shutil
import zipfile
from importlib.util import find_spec
from typing import Any, ClassVar

import known_documents as known
import pytest

from bakeoff import registry
from bakeoff.config.file_readers import FileReaders, ReaderPart, file_readers
from bakeoff.config.plan import PluginSpec
from bakeoff.corpus.document_kinds import kind_of
from bakeoff.errors import MissingExtraError
from bakeoff.testing import ReaderContract
from bakeoff.testing.readers import words_kept
from bakeoff.types import Document, Skipped, SourceFile


class _Known(ReaderContract):
    """A reader of one of the known documents."""

    words: ClassVar[str] = known.WORDS
    make: ClassVar[Any]

    def content(self) -> bytes:
        return type(self).make()


def _contract(reader: str, file: str, make: Any) -> type[_Known]:
    """The suite of one reader; recognising a page takes seconds and a program that may be missing."""
    suite = type("Suite", (_Known,), {"name": reader, "file": file, "make": staticmethod(make)})
    if make is known.scan_pdf:
        suite.kept = 0.85
        suite = pytest.mark.slow(suite)
    return suite


(
    TestText,
    TestHtml,
    TestMainText,
    TestDocx,
    TestPptx,
    TestXlsx,
    TestOdt,
    TestEpub,
    TestRtf,
    TestEmail,
    TestMbox,
) = (_contract(*one) for one in known.KNOWN[:11])
TestIpynb, TestPdfium, TestPypdf = (_contract(*one) for one in known.KNOWN[11:14])
if find_spec("docling_parse"):
    TestDoclingParse = _contract(*known.KNOWN[14])
if find_spec("rapidocr_onnxruntime"):
    TestOcr = _contract(*known.KNOWN[15])
if shutil.which("tesseract"):
    TestTesseract = _contract(*known.KNOWN[16])


def test_every_reader_is_tested() -> None:
    assert {name for name, _, _ in known.KNOWN} == set(registry.names("readers"))


def read(reader: str, file: str, data: bytes, **params: object) -> Document | Skipped:
    try:
        plugin = registry.load("readers", reader)
    except MissingExtraError as exc:
        pytest.skip(str(exc))
    return FileReaders({kind_of(file): (ReaderPart(reader, plugin, plugin.Params(**params)),)}).document(
        SourceFile(file, data)
    )


@pytest.mark.parametrize(
    ("reader", "file", "make"),
    [one for one in known.KNOWN if one[0] in ("docx", "pptx", "xlsx", "odt", "pdfium")],
)
def test_cells_of_a_table_stay_in_their_row(reader: str, file: str, make: Any) -> None:
    found = read(reader, file, make())
    assert isinstance(found, Document) and known.cells_kept(found.text) == 1
    assert " | ".join(known.TABLE[1]) in found.text


def test_pdfium_reads_two_columns_one_after_the_other() -> None:
    found = read("pdfium", "a.pdf", known.columns_pdf())
    assert isinstance(found, Document) and known.columns_in_order(found.text)
    other = read("pypdf", "a.pdf", known.columns_pdf())
    assert isinstance(other, Document) and not known.columns_in_order(other.text)
    assert words_kept(known.COLUMN_WORDS, other.text) == 1


def test_a_page_without_its_menu() -> None:
    whole, main = (read(name, "a.html", known.html()) for name in ("html", "main_text"))
    assert isinstance(whole, Document) and isinstance(main, Document)
    assert "Newsletter" in whole.text and "Newsletter" not in main.text and "cookies" not in main.text


def test_headings_of_office_files_are_headings() -> None:
    from bakeoff.corpus.headings import headings

    for name, make in (("docx", known.docx), ("odt", known.odt), ("pptx", known.pptx), ("epub", known.epub)):
        found = read(name, f"a.{name}", make())
        assert isinstance(found, Document) and found.title == known.TITLE
        assert {"Berths", "Fees"} <= {one.title for one in headings(found.text, found.kind)}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Guide\n=====\n\n.. note:: x\n\nPart\n----\n\ntext\n", "rst"),
        ("= Guide\n\n:toc: left\n\n== Part\n\ntext\n", "asciidoc"),
        ("Guide\n=====\n\nplain text\n\nPart\n----\n\ntext\n", "text"),
        ("just some words", "text"),
    ],
)
def test_markup_in_a_plain_text_is_recognised(text: str, kind: str) -> None:
    found = read("text", "a.txt", text.encode())
    assert isinstance(found, Document) and found.kind == kind and found.text == text


def locked(make: Any) -> bytes:
    """An archive whose members say that they are encrypted."""
    data = bytearray(make())
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
        offsets = [archive.start_dir]
    at = offsets[0]
    while data[at : at + 4] == b"PK\x01\x02":
        data[at + 8] |= 1
        lengths = [int.from_bytes(data[at + place : at + place + 2], "little") for place in (28, 30, 32)]
        at += 46 + sum(lengths)
    return bytes(data)


@pytest.mark.parametrize(
    ("reader", "file", "data", "reason"),
    [
        ("docx", "a.docx", lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000), "password-protected"),
        ("docx", "a.docx", lambda: locked(known.docx), "password-protected"),
        ("docx", "a.docx", lambda: b"PK\3\4", "damaged Word document"),
        ("docx", "a.docx", known.xlsx, "damaged Word document"),
        ("xlsx", "a.xlsx", known.docx, "damaged spreadsheet"),
        ("epub", "a.epub", lambda: known.zipped({"a": "b"}), "damaged EPUB"),
        ("rtf", "a.rtf", lambda: b"no rtf", "damaged Rich Text"),
        ("ipynb", "a.ipynb", lambda: b"{}", "damaged notebook"),
        ("pdfium", "a.pdf", known.scan_pdf, "a scan needs OCR"),
    ],
)
def test_what_cannot_be_read_is_named(reader: str, file: str, data: Any, reason: str) -> None:
    found = read(reader, file, data())
    assert isinstance(found, Skipped) and reason in found.reason


def test_a_document_of_too_many_pages_or_rows_is_named() -> None:
    from reportlab.pdfgen.canvas import Canvas

    target = io.BytesIO()
    canvas = Canvas(target)
    for number in range(12):
        canvas.drawString(72, 700, f"page {number}")
        canvas.showPage()
    canvas.save()
    for reader in known.PDF_READERS:
        found = read(reader, "a.pdf", target.getvalue(), max_pages=10)
        assert isinstance(found, Skipped) and "12 pages" in found.reason
    limited = PluginSpec(
        "readers", "pdfium", "pdfium", registry.load("readers", "pdfium").Params(max_pages=10)
    )
    found = file_readers(["a.pdf"], {"pdf": limited}).document(SourceFile("a.pdf", target.getvalue()))
    assert isinstance(found, Skipped) and "max_pages: 12" in found.reason and "damaged" not in found.reason
    long = read("xlsx", "a.xlsx", known.xlsx(), max_rows=3)
    assert isinstance(long, Skipped) and "max_rows is 3" in long.reason


def test_the_second_usual_reader_is_tried_where_the_first_gives_up() -> None:
    found = file_readers(["a.pdf"]).document(SourceFile("a.pdf", known.pdf()[:300]))
    assert isinstance(found, Skipped) and "pdfium: " in found.reason and "pypdf: " in found.reason
