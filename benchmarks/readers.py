"""Reading PDFs and Office files: the reader against bare PDFium, and a second read of an unchanged folder.

PDF pages are prose set by reportlab, with tables, in one and two columns. Reader and peer take turns, and the medians
are compared. Run with: python benchmarks/readers.py [PAGES]
"""

from __future__ import annotations

import io
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pypdfium2 as pdfium
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import BaseDocTemplate, Frame, PageBreak, PageTemplate, Paragraph, Table

from bakeoff import registry
from bakeoff.config.plan import PluginSpec
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.read import read_documents
from bakeoff.plugins.readers.pdfium import PdfiumReader
from bakeoff.storage.cache import Cache
from bakeoff.types import Document, SourceFile
from common import Row, show

PAGES, REPEATS, FILES = 16, 60, 40


def main() -> int:
    """Measure and print the rows."""
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else PAGES
    first, second = _folder(_book(3, ""))
    return show(
        [
            _against_pdfium(pages, "prose, tables and columns", ""),
            _against_pdfium(pages, "the same with bold words in every sentence", "b"),
            Row(f"{FILES} PDFs again, unchanged, and the first time, s", second, first, "<= 0.02"),
        ]
    )


def _against_pdfium(pages: int, what: str, mark: str) -> Row:
    book = _book(pages, mark)
    reader, peer = _turns(lambda: _read(book), lambda: _bare(book))
    return Row(
        f"{pages} pages, {what}: pages per CPU second, bare PDFium's", pages / reader, pages / peer, ">= 0.8"
    )


def _turns(ours: Callable[[], object], peer: Callable[[], object]) -> tuple[float, float]:
    """Median CPU seconds of both, which take turns."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(REPEATS):
        for kept, work in zip(seconds, (ours, peer), strict=True):
            begin = time.process_time()
            work()
            kept.append(time.process_time() - begin)
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def _read(data: bytes) -> None:
    found = PdfiumReader(PdfiumReader.Params()).read(SourceFile("a.pdf", data))
    assert isinstance(found, Document)


def _bare(data: bytes) -> str:
    with pdfium.PdfDocument(data) as document:
        return "\n\n".join(
            document[number].get_textpage().get_text_range() for number in range(len(document))
        )


def _folder(data: bytes) -> tuple[float, float]:
    """Wall seconds of the read stage on a folder of PDFs, and on the same folder again."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "corpus"
        folder.mkdir()
        for number in range(FILES):
            (folder / f"{number}.pdf").write_bytes(data + b"%% %d\n" % number)
        plugin = registry.load("sources", "folder")
        part = PluginSpec("sources", "folder", "folder", plugin.Params(folder=folder))
        found = []
        for _ in range(2):
            begin = time.perf_counter()
            read_documents(part, plugin(part.params), StageContext(Cache(Path(name) / "cache")))
            found.append(time.perf_counter() - begin)
    return found[0], found[1]


def _book(pages: int, mark: str) -> bytes:
    """Pages of prose, every second one in two columns, every fourth with a table; `mark` is a tag within sentences."""
    styles, target = getSampleStyleSheet(), io.BytesIO()
    one = PageTemplate("one", [Frame(70, 70, 450, 700)], autoNextPageTemplate="two")
    two = PageTemplate("two", [Frame(50, 70, 240, 700), Frame(310, 70, 240, 700)], autoNextPageTemplate="one")
    document = BaseDocTemplate(target, pageTemplates=[one, two], invariant=1)
    every = f"<{mark}>every</{mark}>" if mark else "every"
    flow = []
    for page in range(pages):
        words = (
            f"On page {page} the harbour master wrote down what {every} boat had paid for its berth and why. "
        )
        flow.append(Paragraph(f"Of page {page}", styles["Heading2"]))
        flow += [Paragraph(words * 9, styles["Normal"]) for _ in range(4)]
        if page % 4 == 0:
            flow.append(Table([[f"boat {row}", f"{row} m", str(7 * row)] for row in range(8)]))
        flow.append(PageBreak())
    document.build(flow)
    return target.getvalue()


if __name__ == "__main__":
    sys.exit(main())
