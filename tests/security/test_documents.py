"""One document does not end or stall a run: it is read, or left out with its reason, within limits of time and memory."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff import registry
from bakeoff.corpus.document_kinds import kind_of
from bakeoff.corpus.grammars import parsing
from bakeoff.corpus.grammars.parsing import ParseError
from bakeoff.errors import TruthError
from bakeoff.runs.analysis import open_run
from bakeoff.truth.drafting.docstrings import from_docstrings
from bakeoff.truth.symbols import definitions
from bakeoff.types import Document, Skipped, SourceItem

Cli = Callable[..., str]
HOSTILE = {
    "undefined.py": b"# coding: undefined\nname = '\xff'\n",
    "codec.py": b"# coding: zip\nname = '\xff'\n",
    "comments.html": b"<!--" * 60_000,
    "attributes.html": b"<p " + b"a=1 " * 2_000_000 + b">",
    "nested.html": b"<div>" * 200_000,
    "nested.py": b"-" * 200_000 + b"1\n",
    "noise.cpp": b"template<class T> struct a<b<c<d<(((((([" * 5000,
    "spaces.md": b" " * 1_000_000 + b"a",
    "fences.md": b"```\n" * 100_000 + b"a",
    "broken.pdf": b"%PDF-1.4\n" + b"1 0 obj<</Kids[1 0 R]/Type/Pages/Count 99999999>>endobj\n" * 1000,
}
EXPERIMENT = """\
name: hostile
corpus: {folder: corpus, max_seconds: 2, max_memory_mb: 300}
queries: queries.yaml
chunkers: [semantic, line]
embedders: [{wordllama: {dims: 64}}]
stores: [exact]
modes: [bm25]
depth: 20
"""


def slow_pdf() -> bytes:
    """A page that writes a letter a million times, in few bytes."""
    page = zlib.compress(b"BT /F1 9 Tf 9 9 Td " + b"1 0 Td (a) Tj " * 1_000_000 + b"ET", 9)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (len(page), page),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]  # fmt: skip
    body = b"".join(b"%d 0 obj%s endobj\n" % row for row in enumerate(objects, 1))
    return b"%PDF-1.4\n" + body + b"trailer<</Size 6/Root 1 0 R>>\n%%EOF"


def large_docx() -> bytes:
    """A Word document below the limit of unpacked bytes, whose elements take many times that in memory."""
    docx = pytest.importorskip("docx")
    made, target = io.BytesIO(), io.BytesIO()
    docx.Document().save(made)
    with zipfile.ZipFile(made) as before, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as after:
        for name in before.namelist():
            data = before.read(name)
            after.writestr(name, data.replace(b"<w:body>", b"<w:body>" + b"<w:p/>" * 5_000_000))
    return target.getvalue()


@pytest.mark.slow
def test_a_run_finishes_and_names_what_it_did_not_read(
    home: Path, cli: Cli, laid_out: Callable[..., Path]
) -> None:
    path = laid_out(Path.cwd(), EXPERIMENT)
    for name, content in {**HOSTILE, "slow.pdf": slow_pdf(), "large.docx": large_docx()}.items():
        (path.parent / "corpus" / name).write_bytes(content)
    cli("run", path, "--out", "run")
    result = open_run("run")
    assert len(result.done) == 2 and not result.failed
    skipped = dict(result.record.corpus.skipped)
    assert any(limit in skipped["slow.pdf"] for limit in ("max_seconds", "max_memory_mb", "crashed"))
    # libxml2 reports memory that it does not get as an unknown error of the document
    assert any(limit in skipped["large.docx"] for limit in ("max_memory_mb", "Word document"))


def test_a_line_of_beir_that_is_too_long_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = registry.load("sources", "beir")
    monkeypatch.setattr(f"{plugin.__module__}.LINE_BYTES", 1000)
    rows = [{"_id": name, "text": "x" * size} for name, size in (("a", 10), ("b", 5000), ("c", 20))]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = plugin(plugin.Params(folder=tmp_path))
    found = list(source.items())
    assert [one.id for one in found] == ["a", "line 2", "c"] and isinstance(found[1], Skipped)
    read = [source.read(one) for one in found if isinstance(one, SourceItem)]
    assert [one.text for one in read if isinstance(one, Document)] == ["x" * 10, "x" * 20]


@pytest.mark.parametrize("text", ["-" * 200_000 + "1", "a" + ".b" * 200_000, "not " * 100_000 + "x"])
def test_python_that_nests_too_deeply_has_no_symbols(text: str) -> None:
    with pytest.raises(TruthError):
        definitions(text, "python", "a.py")
    assert list(from_docstrings("a.py", text)) == []


@pytest.mark.slow
def test_program_text_that_takes_too_long_is_cut_as_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """tree-sitter takes quadratic time on a text like this one; its process ends, and the chunker goes on."""
    text = "def f():\n    return 1\n" * 1000 + "." * 400_000
    monkeypatch.setattr(parsing, "PROBE_SECONDS", 1)
    grammar = parsing.load("python")
    with pytest.raises(ParseError):
        parsing.parse(text, grammar)
    plugin = registry.load("chunkers", "semantic")
    pieces = list(plugin(plugin.Params()).chunk(Document("a.py", text, "python")))
    assert pieces[0].start == 0 and pieces[-1].end == len(text.rstrip())


def test_long_program_text_is_still_parsed() -> None:
    text = "def f():\n    return 1\n" * 5000
    data, root = parsing.parse(text, parsing.load("python"))
    assert (len(data), root.named_child_count) == (len(text), 5000)


LONG_NAMES = {
    "heading.md": "# " + "a" * 100_000 + "\n\n" + "## b\n\nwords\n\n" * 200,
    "heading.txt": "1 " + "A" * 100_000 + "\n\n" + "words. " * 20_000,
    "title.py": '"""' + "a" * 100_000 + '"""\n\n' + "def f():\n    return 1\n\n\n" * 500,
    "class.py": f"class {'A' * 100_000}:\n" + "    def f(self):\n        return 1\n\n" * 500,
}


@pytest.mark.parametrize("style", ["bracket", "comment", "natural", "signature"])
@pytest.mark.parametrize("name", LONG_NAMES)
def test_a_long_heading_or_name_is_not_repeated_in_every_chunk(name: str, style: str) -> None:
    plugin = registry.load("chunkers", "semantic")
    chunker = plugin(plugin.Params(context=style, merge_below=0))
    document = Document(name, LONG_NAMES[name], kind_of(name))
    pieces = list(chunker.chunk(document))
    assert len(pieces) > 50
    assert max(len(one.context) + len(one.section) + len(one.symbol) for one in pieces) < 5000
