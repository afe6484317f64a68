"""PDF to text, page after page."""

from __future__ import annotations

import logging
import zlib
from io import BytesIO

# what the reader lets through on damaged files besides its own errors
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


class PdfError(ValueError):
    """Why a PDF gives no text, in words for the user."""


def pdf_to_text(data: bytes) -> tuple[str, str]:
    """The text of all pages with a blank line between two, and the title in the file's own record or ''."""
    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError, PyPdfError
    except ImportError as exc:
        raise PdfError("PDF needs pypdf: pip install 'bakeoff[pdf]'") from exc
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    try:
        reader = PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise PdfError("encrypted PDF: save it without its password")
        pages = [page.extract_text() for page in reader.pages]
        title = str((reader.metadata.title if reader.metadata else None) or "")
    except DependencyError as exc:
        raise PdfError("encrypted PDF: pip install cryptography, or save it without encryption") from exc
    except PdfError:
        raise
    except (PyPdfError, *_DAMAGE) as exc:
        raise PdfError(f"broken PDF ({type(exc).__name__}: {exc})") from exc
    text = "\n\n".join(pages)
    if not text.strip():
        raise PdfError(f"PDF of {len(pages)} pages without text: a scan needs OCR first")
    return text, " ".join(title.split())
