"""PDF by docling-parse: lines of text as its own parser finds them on the page."""

from __future__ import annotations

from importlib.metadata import version as installed
from io import BytesIO
from typing import ClassVar

from docling_core.types.doc.page import TextCellUnit
from docling_parse.pdf_parser import DoclingPdfParser

from bakeoff.plugins.kit.reading import report_damage
from bakeoff.plugins.readers._pdf import PdfParams, pdf_document
from bakeoff.types import Document, Skipped, SourceFile


class DoclingParseReader:
    """Reads the lines of each page in the order of docling-parse."""

    version: ClassVar[str] = f"1 with docling-parse {installed('docling-parse')}"
    kinds: ClassVar[tuple[str, ...]] = ("pdf",)
    Params = PdfParams

    def __init__(self, params: PdfParams) -> None:
        self._params = params

    def read(self, file: SourceFile) -> Document | Skipped:
        """Return the text of all pages."""
        with report_damage("PDF", RuntimeError):
            document = DoclingPdfParser(loglevel="fatal").load(path_or_stream=BytesIO(file.data), lazy=True)
            self._params.check(document.number_of_pages())
            lines = [
                [cell.text for cell in page.iterate_cells(unit_type=TextCellUnit.LINE)]
                for _, page in document.iterate_pages()
            ]
        return pdf_document(file, ["\n".join(page) for page in lines], "")
