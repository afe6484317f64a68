"""Sections by headings, and titles compared (S4-15, S4-16)."""

from __future__ import annotations

import pytest

from bakeoff.headings import matches, sections


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
