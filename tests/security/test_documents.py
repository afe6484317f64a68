"""One document does not end or stall a run: it is read, or left out with its reason, within limits of time and memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff import registry
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


@pytest.mark.slow
def test_a_run_finishes_and_names_what_it_did_not_read(
    home: Path, cli: Cli, laid_out: Callable[..., Path]
) -> None:
    path = laid_out(Path.cwd(), EXPERIMENT)
    for name, content in HOSTILE.items():
        (path.parent / "corpus" / name).write_bytes(content)
    cli("run", path, "--out", "run")
    result = open_run("run")
    assert len(result.done) == 2 and not result.failed
    skipped = dict(result.record.corpus.skipped)
    assert "max_seconds" in skipped["comments.html"]
    assert "max_memory_mb" in skipped["attributes.html"]


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
