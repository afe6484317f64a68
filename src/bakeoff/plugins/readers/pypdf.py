"""PDF with pypdf, in pure Python: slower than PDFium, with different spaces and line breaks."""

from __future__ import annotations

import logging
from io import BytesIO
from typing import ClassVar

import pypdf
from pypdf.errors import DependencyError, PyPdfError

from bakeoff.errors import UnreadableFileError
from bakeoff.plugins.kit.reading import DAMAGE
from bakeoff.plugins.readers._pdf import LOCKED, PdfParams, pdf_document
from bakeoff.types import Document, Skipped, SourceFile

logging.getLogger("pypdf").setLevel(logging.ERROR)


class PypdfReader:
    """Reads the text of each page as pypdf extracts it."""

    version: ClassVar[str] = f"1 with pypdf {pypdf.__version__}"
    kinds: ClassVar[tuple[str, ...]] = ("pdf",)
    Params = PdfParams

    def __init__(self, params: PdfParams) -> None:
        self._params = params

    def read(self, file: SourceFile) -> Document | Skipped:
        """Return the text of all pages."""
        try:
            found = pypdf.PdfReader(BytesIO(file.data))
            if found.is_encrypted and not found.decrypt(""):
                return Skipped(file.id, LOCKED)
            self._params.check(len(found.pages))
            pages = [page.extract_text() for page in found.pages]
            title = str((found.metadata.title if found.metadata else None) or "")
        except DependencyError:
            return Skipped(file.id, "encrypted PDF: pip install cryptography, or save it without encryption")
        except (PyPdfError, *DAMAGE) as exc:
            raise UnreadableFileError(f"damaged PDF: {type(exc).__name__}: {exc}") from exc
        return pdf_document(file, pages, title)
