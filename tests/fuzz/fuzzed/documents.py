"""Documents of a corpus, and what cuts them, drafts from them and judges by them."""

from __future__ import annotations

import io
import json
import zipfile
from functools import cache
from pathlib import Path

import pyarrow as pa

from bakeoff import registry
from bakeoff.config.file_readers import file_readers
from bakeoff.pipeline.chunking.worker import READ, chunk_documents
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.protocols import Chunker
from bakeoff.runs.draft_queries import DraftRequest, draft_queries
from bakeoff.storage.schemas import DOCUMENTS
from bakeoff.truth.queries import read_queries
from bakeoff.truth.resolve import resolve
from bakeoff.types import Document, SourceItem
from fuzzed.reader import Reader

PYTHON = b'''"""Sorted things."""
import os


class Heap:
    """A heap of things that are sorted lazily."""

    def merge(self, *others: "Heap") -> "Heap":
        """Merge several sorted heaps without building one big list first."""
        return Heap(f"{others!r}")  # \xc3\xa9
'''
CODE = {
    "a.py": PYTHON,
    "a.rs": b"impl Heap {\n  fn merge<'a>(&'a self) -> Vec<&'a str> { vec![r#\"x\"#] }\n}\n",
    "a.go": b"package a\n\nfunc (h *Heap) Merge(x ...int) error { return nil }\n",
    "a.ts": b"export class A<T> { async m(x: T): Promise<void> { `a${x}b`; } }\n",
    "a.cpp": b"template <class T> struct A { T m() const { return {}; } };\n#define X(a) a##a\n",
    "a.rb": b"module A\n  def m(x) = <<~T\n    text\n  T\nend\n",
    "a.sql": b"CREATE VIEW v AS SELECT a.id, SUM(b.x) AS total FROM a JOIN b ON a.id = b.a_id GROUP BY 1;\n",
    "a.md": b"# Merging sorted heaps lazily\n\nSome text of the section, long enough to be worth a question of its own.\n\n```py\n# no heading\n```\n\nHow a heap is kept in order\n---\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    "a.rst": b"One\n===\n\n.. code:: py\n\n   x = 1\n\nTwo\n---\n",
}
HTML = b"<!doctype html><html><head><title>T</title><style>x{}</style></head><body><h1>A &amp; B</h1><p>c<p>d</body>"
CORPUS = b'{"_id": "a", "title": "t", "text": "one", "metadata": {"year": 1}}\n{"_id": "b", "text": "two"}\n'
SQL = b"lower(chunk_text) LIKE '%pilot%' AND (document_id = 'a.md' OR length(chunk_text) > 10)"


def documents(path: Path) -> list[Document]:
    """What the folder source reads of the one file."""
    plugin = registry.load("sources", "folder")
    source = plugin(plugin.Params(folder=path.parent, include=[path.name]))
    readers = file_readers([path.name])
    found = [readers.document(source.read(item)) for item in source.items() if not hasattr(item, "reason")]
    return [one for one in found if isinstance(one, Document)]


def texts(path: Path) -> list[str]:
    """The texts of a file that has one, which the valid one has."""
    return [one.text for one in documents(path) if one.text.strip()]


def table(found: list[Document]) -> pa.Table:
    rows = [
        {"id": one.id, "version": "v", "text": one.text, "kind": one.kind, "title": one.title, "fields": "{}"}
        for one in found
    ]
    return DOCUMENTS.table({name: [row[name] for row in rows] for name, _ in DOCUMENTS.columns})


@cache
def chunkers() -> list[Chunker]:
    plugins = [
        registry.load("chunkers", name)
        for name in ("line", "semantic", "recursive", "sentences", "tokens", "whole")
    ]
    return [plugin(plugin.Params()) for plugin in plugins]


def chunks(path: Path) -> None:
    """The file's chunks by every chunker."""
    read = table(documents(path)).select(list(READ))
    for chunker in chunkers():
        chunk_documents(chunker, read)


def drafts(path: Path) -> None:
    corpus = ReadCorpus(table(documents(path)), (), "f", 0.0, 1, 0)
    draft_queries(corpus, DraftRequest(n=5), "drafts")


def beir(path: Path) -> None:
    plugin = registry.load("sources", "beir")
    source = plugin(plugin.Params(folder=path.parent))
    for item in source.items():
        if isinstance(item, SourceItem):
            source.read(item)


def rule(path: Path) -> object:
    """A condition in SQL, executed."""
    text = path.read_bytes().decode("utf-8", "replace")
    file = path.with_name("queries.yaml")
    file.write_text(
        f"queries:\n  - {{id: a, text: b, truth: {{sql: {json.dumps(text)}, over: documents}}}}\n",
        encoding="utf-8",
    )
    return resolve(
        read_queries(file), table([Document("a.md", "The pilot slept.", "markdown")]), {}, strict=True
    )


def symbol(path: Path) -> object:
    """A symbol looked for in code."""
    file = path.with_name("queries.yaml")
    file.write_text('queries:\n  - {id: a, text: b, truth: {symbol: "a.py::Heap.merge"}}\n', encoding="utf-8")
    return resolve(read_queries(file), table(documents(path)), {}, strict=True)


def _pdf() -> bytes:
    """The smallest PDF with a text on its page."""
    page = b"BT /F1 12 Tf 10 10 Td (Pilot fatigue) Tj ET"
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(page), page), b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]  # fmt: skip
    out, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(out))
        out += b"%d 0 obj%s endobj\n" % (number, part)
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    return (
        out
        + b"xref\n0 6\n0000000000 65535 f \n%strailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
        % (rows, len(out))
    )


ODT = {
    "content.xml": '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><text:h text:outline-level="1">Fatigue'
    "</text:h><text:p>The pilot slept.</text:p></office:body></office:document-content>"
}
EPUB = {
    "META-INF/container.xml": '<container><rootfiles><rootfile full-path="o/b.opf"/></rootfiles></container>',
    "o/b.opf": '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml"/></manifest>'
    '<spine><itemref idref="a"/></spine></package>',
    "o/a.xhtml": "<html><body><h1>Fatigue</h1><p>The pilot slept.</p></body></html>",
}
EML = b"From: a@b.c\nSubject: Pilot fatigue\nContent-Type: text/html\n\n<p>The pilot slept.</p>\n"
NOTEBOOK = b'{"cells": [{"cell_type": "markdown", "source": ["# Fatigue"]}, {"cell_type": "code", "source": "x = 1"}]}'


def _zip(parts: dict[str, str]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return target.getvalue()


def _docx() -> bytes:
    import docx

    word, target = docx.Document(), io.BytesIO()
    word.add_heading("Pilot fatigue", 1)
    word.add_paragraph("The pilot slept.")
    word.add_table(1, 2).cell(0, 0).text = "cell"
    word.save(target)
    return target.getvalue()


def _pptx() -> bytes:
    import pptx

    shown, target = pptx.Presentation(), io.BytesIO()
    slide = shown.slides.add_slide(shown.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "Pilot fatigue", "The pilot slept."
    shown.save(target)
    return target.getvalue()


def _xlsx() -> bytes:
    import openpyxl

    book, target = openpyxl.Workbook(), io.BytesIO()
    book.active.append(["pilot", 1, 2.5])
    book.save(target)
    return target.getvalue()


READERS = [
    *(Reader(f"chunks of {name}", name, chunks, content) for name, content in CODE.items()),
    Reader("drafts of Python", "a.py", drafts, PYTHON),
    Reader("drafts of SQL", "a.sql", drafts, CODE["a.sql"]),
    Reader("drafts of Markdown", "a.md", drafts, CODE["a.md"]),
    Reader("HTML", "a.html", texts, HTML),
    Reader("PDF", "a.pdf", texts, _pdf, needs=("pypdf",)),
    Reader("Word", "a.docx", texts, _docx, needs=("docx",)),
    Reader("PowerPoint", "a.pptx", texts, _pptx, needs=("pptx",)),
    Reader("Excel", "a.xlsx", texts, _xlsx, needs=("python_calamine", "openpyxl")),
    Reader("OpenDocument", "a.odt", texts, lambda: _zip(ODT)),
    Reader("EPUB", "a.epub", texts, lambda: _zip(EPUB)),
    Reader("Rich Text", "a.rtf", texts, rb"{\rtf1\ansi {\b Pilot} fatigue\par\u233 ?}", needs=("striprtf",)),
    Reader("e-mail", "a.eml", texts, EML),
    Reader("mailbox", "a.mbox", texts, b"From a Mon\n" + EML + b"\nFrom b Tue\n" + EML),
    Reader("notebook", "a.ipynb", texts, NOTEBOOK),
    Reader("corpus.jsonl", "corpus.jsonl", beir, CORPUS),
    Reader("rule in SQL", "rule.sql", rule, SQL),
    Reader("symbol", "a.py", symbol, PYTHON),
]
