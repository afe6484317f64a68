"""What readers of scans share: pages as images, and the text of pages that have some."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import PurePosixPath

import pypdfium2 as pdfium
from PIL import Image, UnidentifiedImageError
from pydantic import Field

from bakeoff.errors import UnreadableFileError
from bakeoff.plugins.readers._pdf import LOCKED, PdfParams, pdf_document
from bakeoff.plugins.readers.pdfium import PASSWORD, page_text
from bakeoff.types import Document, Skipped, SourceFile

SCANNED_KINDS = ("pdf", "png", "jpg", "jpeg", "tif", "tiff")
Image.MAX_IMAGE_PIXELS = 100_000_000
MOST_PIXELS = 40_000_000
"""Most pixels of a rendered page: an A4 page at 600 dpi has 35 million."""


class ScanParams(PdfParams):
    """Parameters of readers of scans."""

    dpi: int = Field(200, ge=50, le=600, description="dots per inch at which pages are rendered")
    all_pages: bool = Field(False, description="also run OCR on pages that contain text")


def read_scan(
    file: SourceFile, params: ScanParams, recognise: Callable[[Image.Image], str]
) -> Document | Skipped:
    """Read a PDF or image; pages with their own text keep it, unless all are to be recognised."""
    if PurePosixPath(file.id).suffix.lower() != ".pdf":
        return pdf_document(file, [recognise(_picture(file))], "")
    try:
        with pdfium.PdfDocument(file.data) as document:
            params.check(len(document))
            return pdf_document(
                file, list(_pages(document, params, recognise)), document.get_metadata_value("Title")
            )
    except pdfium.PdfiumError as exc:
        if exc.err_code == PASSWORD:
            return Skipped(file.id, LOCKED)
        raise UnreadableFileError(f"damaged PDF: {str(exc).rstrip('.')}") from exc


def _pages(
    document: pdfium.PdfDocument, params: ScanParams, recognise: Callable[[Image.Image], str]
) -> Iterator[str]:
    for number in range(len(document)):
        page = document[number]
        text = "" if params.all_pages else page_text(page)
        yield text if text.strip() else recognise(_render(page, params.dpi))
        page.close()


def _render(page: pdfium.PdfPage, dpi: int) -> Image.Image:
    scale = dpi / 72
    width, height = page.get_size()
    if width * height * scale**2 > MOST_PIXELS:
        scale = (MOST_PIXELS / (width * height)) ** 0.5
    picture: Image.Image = page.render(scale=scale).to_pil()
    return picture.convert("RGB")


def _picture(file: SourceFile) -> Image.Image:
    try:
        return Image.open(BytesIO(file.data)).convert("RGB")
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError) as exc:
        raise UnreadableFileError(f"damaged picture ({exc})") from exc
