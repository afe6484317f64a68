"""PDF to text, page after page: by PDFium, and by pypdf where PDFium is absent or gives up."""

from __future__ import annotations

import logging
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pypdfium2 as pdfium

# what pypdf lets through on damaged files besides its own errors
_DAMAGE = (
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    NotImplementedError,
    RecursionError,
    OverflowError,
    AssertionError,
    zlib.error,
)
_PASSWORD = 4  # FPDF_ERR_PASSWORD
_HYPHEN = "\ufffe"  # where PDFium joined a word that was hyphenated at the end of a line
_LOCKED = "encrypted PDF: save it without its password"
_PDFIUM = threading.Lock()  # the engine serves one thread at a time


class PdfError(ValueError):
    """Why a PDF gives no text, in words for the user."""


class _ReaderError(Exception):
    """Why one reader could not read a PDF that another may read."""


class _MissingReaderError(_ReaderError):
    """A reader whose package is not installed."""


@dataclass(frozen=True, slots=True)
class PdfText:
    """The text of all pages, a blank line between two; the title in the file's own record or ''; and who read it."""

    text: str
    title: str
    reader: str


def pdf_to_text(data: bytes) -> PdfText:
    """The text of a PDF by the first reader that can read it, or a PdfError with what each of them met."""
    failed: dict[str, _ReaderError] = {}
    for name, read in _READERS.items():
        try:
            pages, title = read(data)
        except _ReaderError as exc:
            failed[name] = exc
            continue
        text = "\n\n".join(pages)
        if not text.strip():
            raise PdfError(f"PDF of {len(pages)} pages without text: a scan needs OCR first")
        return PdfText(text, " ".join(title.split()), name)
    if all(isinstance(exc, _MissingReaderError) for exc in failed.values()):
        raise PdfError("PDF needs pypdfium2: pip install 'bakeoff[pdf]'")
    raise PdfError(f"broken PDF: {'; '.join(f'{name}: {exc}' for name, exc in failed.items())}")


def _by_pdfium(data: bytes) -> tuple[list[str], str]:
    try:
        import pypdfium2 as pdfium
    except ImportError as exc:
        raise _MissingReaderError("not installed, pip install 'bakeoff[pdf]'") from exc
    with _PDFIUM:
        try:
            with pdfium.PdfDocument(data) as document:
                pages = [_page_text(document[number]) for number in range(len(document))]
                return pages, document.get_metadata_value("Title")
        except pdfium.PdfiumError as exc:
            if exc.err_code == _PASSWORD:
                raise PdfError(_LOCKED) from exc
            raise _ReaderError(str(exc).rstrip(".")) from exc


def _page_text(page: pdfium.PdfPage) -> str:
    found: str = page.get_textpage().get_text_range()
    page.close()
    return found.replace("\r\n", "\n").replace(_HYPHEN, "")


def _by_pypdf(data: bytes) -> tuple[list[str], str]:
    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError, PyPdfError
    except ImportError as exc:
        raise _MissingReaderError("not installed, pip install 'bakeoff[pdf]'") from exc
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    try:
        reader = PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise PdfError(_LOCKED)
        pages = [page.extract_text() for page in reader.pages]
        return pages, str((reader.metadata.title if reader.metadata else None) or "")
    except DependencyError as exc:
        raise PdfError("encrypted PDF: pip install cryptography, or save it without encryption") from exc
    except PdfError:
        raise
    except (PyPdfError, *_DAMAGE) as exc:
        raise _ReaderError(f"{type(exc).__name__}: {exc}") from exc


_READERS: dict[str, Callable[[bytes], tuple[list[str], str]]] = {"pdfium": _by_pdfium, "pypdf": _by_pypdf}
"""In the order they are tried: PDFium has no limit of its own on streams and tokens."""
