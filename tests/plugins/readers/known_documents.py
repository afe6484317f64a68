"""Documents with known text in every format: prose under headings, a table, two columns, running headers, a scan.

python tests/plugins/readers/known_documents.py     the table of docs/readers.md: what each reader keeps
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from email.message import EmailMessage

TITLE = "Harbour handbook"
SECTIONS = {
    "Berths": "Every boat leaves berth twelve before sunrise, because the ferry needs the whole quay for its ramp.",
    "Fees": "The harbour master collects fees on Fridays; a late payment costs seven coins for each started day.",
}
TABLE = [
    ["Vessel", "Length", "Fee"],
    ["Blue heron", "14 m", "35"],
    ["Northern light", "22 m", "58"],
    ["Otter", "6 m", "9"],
]
LEFT = "The gearbox of the crane is oiled every six months with the synthetic oil that its maker names in chapter nine."
RIGHT = "Spare bearings are kept in the store behind the chapel where the night watch hands them out for a signature."
WORDS = " ".join(
    [TITLE, *(f"{name} {text}" for name, text in SECTIONS.items()), *(" ".join(row) for row in TABLE)]
)
COLUMN_WORDS = f"{LEFT} {RIGHT}"
CELLS = [cell for row in TABLE for cell in row]


def docx() -> bytes:
    import docx as word

    document, target = word.Document(), io.BytesIO()
    document.sections[0].header.paragraphs[0].text = "running header"
    document.add_heading(TITLE, 0)
    for name, text in SECTIONS.items():
        document.add_heading(name, 1)
        document.add_paragraph(text)
    table = document.add_table(len(TABLE), 3)
    for row, cells in enumerate(TABLE):
        for column, cell in enumerate(cells):
            table.cell(row, column).text = cell
    document.save(target)
    return target.getvalue()


def pptx() -> bytes:
    import pptx as slides

    shown, target = slides.Presentation(), io.BytesIO()
    first = shown.slides.add_slide(shown.slide_layouts[0])
    first.shapes.title.text = TITLE
    for name, text in SECTIONS.items():
        slide = shown.slides.add_slide(shown.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = name, text
    shape = shown.slides.add_slide(shown.slide_layouts[6]).shapes.add_table(
        len(TABLE), 3, 0, 0, 5_000_000, 2_000_000
    )
    for row, cells in enumerate(TABLE):
        for column, cell in enumerate(cells):
            shape.table.cell(row, column).text = cell
    shown.save(target)
    return target.getvalue()


def xlsx() -> bytes:
    import openpyxl

    book, target = openpyxl.Workbook(), io.BytesIO()
    sheet = book.active
    sheet.title = TITLE
    for name, text in SECTIONS.items():
        sheet.append([name, text])
    for row in TABLE:
        sheet.append([int(cell) if cell.isdigit() else cell for cell in row])
    book.save(target)
    return target.getvalue()


def html() -> bytes:
    menu = "<nav><ul><li>Home page</li><li>Log in</li><li>Newsletter</li></ul></nav>"
    parts = "".join(f"<h2>{name}</h2><p>{text}</p>" for name, text in SECTIONS.items())
    rows = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in TABLE)
    body = f"<main><h1>{TITLE}</h1>{parts}<table>{rows}</table></main><footer>Imprint and cookies</footer>"
    return f"<html><head><title>{TITLE}</title></head><body>{menu}{body}</body></html>".encode()


def zipped(parts: dict[str, str]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return target.getvalue()


def odt() -> bytes:
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "table")
    )
    head = f'<text:h text:outline-level="1">{TITLE}</text:h>'
    parts = "".join(
        f'<text:h text:outline-level="2">{name}</text:h><text:p>{text}</text:p>'
        for name, text in SECTIONS.items()
    )
    rows = "".join(
        "<table:table-row>"
        + "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in row)
        + "</table:table-row>"
        for row in TABLE
    )
    body = f"<office:body><office:text>{head}{parts}<table:table>{rows}</table:table></office:text></office:body>"
    return zipped({"content.xml": f"<office:document-content {spaces}>{body}</office:document-content>"})


def epub() -> bytes:
    return zipped(
        {
            "META-INF/container.xml": '<container><rootfiles><rootfile full-path="in/b.opf"/></rootfiles></container>',
            "in/b.opf": '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml"/></manifest>'
            '<spine><itemref idref="a"/></spine></package>',
            "in/a.xhtml": html().decode(),
        }
    )


def rtf() -> bytes:
    prose = "".join(rf"{{\b {name}}}\par {text}\par " for name, text in SECTIONS.items())
    rows = "".join(r"\trowd " + "".join(rf"{cell}\cell " for cell in row) + r"\row " for row in TABLE)
    return rf"{{\rtf1\ansi {{\b {TITLE}}}\par {prose}{rows}}}".encode("ascii")


def email() -> bytes:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = TITLE, "ann@example.org", "ben@example.org"
    prose = "\n".join(f"{name}\n{text}\n" for name, text in SECTIONS.items())
    message.set_content(prose + "\n".join(" ".join(row) for row in TABLE))
    return bytes(message)


def mbox() -> bytes:
    return b"From ann Mon Nov 16 10:00:00 2026\n" + email()


def ipynb() -> bytes:
    prose = "".join(f"## {name}\n\n{text}\n\n" for name, text in SECTIONS.items())
    table = "\n".join(f"| {' | '.join(row)} |" for row in TABLE)
    cells = [
        {"cell_type": "markdown", "source": [f"# {TITLE}\n", prose, table]},
        {"cell_type": "code", "source": "x = 1"},
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}).encode()


def text() -> bytes:
    prose = "".join(f"{name}\n{'-' * len(name)}\n\n{body}\n\n" for name, body in SECTIONS.items())
    table = "\n".join(" ".join(row) for row in TABLE)
    return f"{TITLE}\n{'=' * len(TITLE)}\n\n.. note:: A guide.\n\n{prose}{table}\n".encode()


def pdf() -> bytes:
    """One column of prose and a table, with a running header on the page."""
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Paragraph, SimpleDocTemplate, Table

    styles, target = getSampleStyleSheet(), io.BytesIO()
    flow = [Paragraph(TITLE, styles["Title"])]
    for name, body in SECTIONS.items():
        flow += [Paragraph(name, styles["Heading2"]), Paragraph(body, styles["Normal"])]
    page = SimpleDocTemplate(target, invariant=1)
    page.build(
        [*flow, Table(TABLE)], onFirstPage=lambda canvas, _: canvas.drawString(72, 800, "running header")
    )
    return target.getvalue()


def columns_pdf() -> bytes:
    """Two columns, drawn line by line across both, as some programs do."""
    from reportlab.pdfgen.canvas import Canvas

    target = io.BytesIO()
    canvas = Canvas(target, invariant=1)
    for at, (left, right) in enumerate(zip(_lines(LEFT), _lines(RIGHT), strict=True)):
        canvas.drawString(60, 780 - 14 * at, left)
        canvas.drawString(320, 780 - 14 * at, right)
    canvas.save()
    return target.getvalue()


def _lines(words: str, count: int = 5) -> list[str]:
    parts = words.split()
    size = -(-len(parts) // count)
    return [" ".join(parts[i : i + size]) for i in range(0, len(parts), size)]


def scan_pdf() -> bytes:
    """The page with prose and table as a picture of 150 dpi."""
    import pypdfium2 as pdfium

    target = io.BytesIO()
    picture = pdfium.PdfDocument(pdf())[0].render(scale=150 / 72).to_pil()
    picture.save(target, "PDF", resolution=150)
    return target.getvalue()


KNOWN: list[tuple[str, str, Callable[[], bytes]]] = [
    ("text", "a.txt", text), ("html", "a.html", html), ("main_text", "a.html", html), ("docx", "a.docx", docx),
    ("pptx", "a.pptx", pptx), ("xlsx", "a.xlsx", xlsx), ("odt", "a.odt", odt), ("epub", "a.epub", epub),
    ("rtf", "a.rtf", rtf), ("email", "a.eml", email), ("email", "a.mbox", mbox), ("ipynb", "a.ipynb", ipynb),
    ("pdfium", "a.pdf", pdf), ("pypdf", "a.pdf", pdf), ("docling_parse", "a.pdf", pdf),
    ("ocr", "a.pdf", scan_pdf), ("tesseract", "a.pdf", scan_pdf),
]  # fmt: skip
"""Reader, name and bytes of a file with prose and a table."""
PDF_READERS = ("pdfium", "pypdf", "docling_parse")


def cells_kept(found: str) -> float:
    """The share of the table's cells that stand in the row of their table, each in its order."""
    lines = [" ".join(line.replace("|", " ").split()) for line in found.splitlines()]
    kept = 0
    for row in TABLE:
        kept += max((_in_order(row, line) for line in lines), default=0)
    return kept / len(CELLS)


def _in_order(cells: list[str], line: str) -> int:
    at = kept = 0
    for cell in cells:
        place = line.find(cell, at)
        if place >= 0:
            at, kept = place + len(cell), kept + 1
    return kept


def columns_in_order(found: str) -> bool:
    """Whether the left column is read before the right one."""
    words = " ".join(found.split())
    return " ".join(LEFT.split()) in words and " ".join(RIGHT.split()) in words


def rows() -> Iterator[tuple[str, str, float, float]]:
    """Reader, what it read, share of words kept and share of table cells kept in their row."""
    from bakeoff import registry
    from bakeoff.errors import MissingExtraError
    from bakeoff.testing.readers import words_kept
    from bakeoff.types import Document, SourceFile

    for name, file, make in KNOWN:
        try:
            plugin = registry.load("readers", name)
        except MissingExtraError:
            continue
        document = plugin(plugin.Params()).read(SourceFile(file, make()))
        assert isinstance(document, Document)
        shown = "scan, 150 dpi" if make is scan_pdf else file.partition(".")[2]
        yield name, shown, words_kept(WORDS, document.text), cells_kept(document.text)


if __name__ == "__main__":
    print("| reader | file | words kept | cells kept in their row |\n|---|---|--:|--:|")
    for reader, what, words, cells in rows():
        print(f"| `{reader}` | {what} | {words:.0%} | {cells:.0%} |")
