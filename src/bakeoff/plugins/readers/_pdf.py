"""What PDF readers share: the page limit, how pages become a document, and reasons for skipping one."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from bakeoff.errors import FileLimitError
from bakeoff.types import Document, Skipped, SourceFile

_NO_TITLES = frozenset({"untitled", "(anonymous)"})
LOCKED = "encrypted PDF: save it without its password"


class PdfParams(BaseModel):
    """Parameters of PDF readers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_pages: int = Field(5_000, ge=1, description="pages above which a PDF is not read")

    def check(self, count: int) -> None:
        """Raise for a PDF with too many pages before any is read."""
        if count > self.max_pages:
            fix = f"raise it, as in readers: {{pdf: {{pdfium: {{max_pages: {count}}}}}}}"
            raise FileLimitError(f"PDF of {count:,} pages, max_pages is {self.max_pages:,}: {fix}")


def pdf_document(file: SourceFile, pages: Sequence[str], title: str) -> Document | Skipped:
    """Join the text of all pages with blank lines."""
    text = "\n\n".join(pages)
    if not text.strip():
        count = f"{len(pages):,} page{'' if len(pages) == 1 else 's'}"
        return Skipped(file.id, f"PDF of {count} without text: a scan needs OCR, as in readers: {{pdf: ocr}}")
    own = " ".join(title.split())
    return Document(file.id, text, "pdf", "" if own.lower() in _NO_TITLES else own)
