"""Sections by headings, and titles compared (S4-15, S4-16)."""

from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.corpus.headings import matches, sections
from bakeoff.plugins.chunkers.semantic import SemanticChunker
from bakeoff.types import Document


@pytest.mark.parametrize(
    ("title", "wanted", "expected"),
    [
        ("(b) PROBABLE CAUSE", "PROBABLE CAUSE", True),
        ("1.16  Tests\tand Research", "TESTS AND RESEARCH", True),
        ("PROBABLE CAUSE", "(b) PROBABLE CAUSE", False),
        ("CONCLUSIONS", "PROBABLE CAUSE", False),
        ("Größe", "GRÖSSE", True),
    ],
)
def test_a_wanted_title_is_contained(title: str, wanted: str, expected: bool) -> None:
    assert matches(title, wanted) is expected


def test_markdown_levels_and_fences() -> None:
    text = "intro\n# A\nx\n## B\ny\n```\n# no\n```\n# C #\nTitle\n=====\nz\n"
    found = sections(text, "markdown")
    assert [(part.title, part.level) for part in found] == [("A", 1), ("B", 2), ("C", 1), ("Title", 1)]
    assert text[found[0].start : found[0].end] == "# A\nx\n"
    assert text[found[0].start : found[0].deep_end] == "# A\nx\n## B\ny\n```\n# no\n```\n"


def test_sections_follow_each_other_without_a_gap() -> None:
    text = "SYNOPSIS\na\n1.1 WEATHER\nb c.\n1.1.2 WIND\nd\n2. CAUSE\ne"
    found = sections(text, "pdf")
    assert [part.title for part in found] == ["SYNOPSIS", "1.1 WEATHER", "1.1.2 WIND", "2. CAUSE"]
    assert [one.end for one in found[:-1]] == [other.start for other in found[1:]]
    assert found[-1].end == len(text)
    assert text[found[1].start : found[1].deep_end].endswith("d\n")


def test_sentences_are_no_headings() -> None:
    assert sections("The NTSB said so.\nNASA.\nIt was 1977.\nA B C\n", "text") == []


def test_program_text_and_data_have_no_headings() -> None:
    assert sections("CONSTANTS AND SUCH\nx = 1\n", "python") == []
    assert sections("CONSTANTS AND SUCH\nx\n", "yaml") == []
    assert len(sections("CONSTANTS AND SUCH\nx\n", "pdf")) == 1


ROOT = Path(__file__).resolve().parents[2]
PROSE = {"md": "markdown", "rst": "rst", "txt": "text"}
FILES = [
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted(path for path in (ROOT / "src/bakeoff/examples").rglob("*.*") if path.suffix[1:] in PROSE),
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_label_of_a_chunk_is_a_section_that_holds_it(path: Path) -> None:
    text, kind = path.read_text(encoding="utf-8"), PROSE[path.suffix[1:]]
    known = sections(text, kind)
    labelled = 0
    for piece in SemanticChunker(SemanticChunker.Params()).chunk(Document(path.name, text, kind)):
        around = [part for part in known if part.start < piece.end <= part.deep_end]
        if kind == "text":
            assert piece.section == (around[-1].title if around else "")
        else:
            assert piece.section == " > ".join(part.title for part in around)
        labelled += bool(piece.section)
    assert labelled or not known
