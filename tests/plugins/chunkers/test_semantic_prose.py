"""Prose along its headings (S2-21, S4-16)."""

from __future__ import annotations

import pytest

from bakeoff.plugins.chunkers.semantic import SemanticChunker
from bakeoff.types import Document, Piece

MARKDOWN = """---
title: no heading
---
Preamble.

# API Reference

## Authentication ##

Intro.

```sh
# not a heading
## nor this
```

### JWT Tokens

Signed.

Setext
------

Last é.
"""


def chunk(text: str, kind: str, **params: object) -> list[Piece]:
    return list(
        SemanticChunker(SemanticChunker.Params.model_validate(params)).chunk(
            Document("docs/api.md", text, kind)
        )
    )


def test_markdown_sections_and_their_breadcrumbs() -> None:
    assert [p.section for p in chunk(MARKDOWN, "markdown")] == [
        "",
        "API Reference > Authentication",
        "API Reference > Authentication > JWT Tokens",
        "API Reference > Setext",
    ]


def test_the_breadcrumb_stands_after_the_file() -> None:
    piece = chunk(MARKDOWN, "markdown")[2]
    assert piece.context == (
        "[file: docs/api.md]\n[section: # API Reference > ## Authentication > ### JWT Tokens]\n\n"
    )


def test_fenced_code_stays_in_its_section() -> None:
    piece = chunk(MARKDOWN, "markdown")[1]
    assert MARKDOWN[piece.start : piece.end].startswith("# API Reference\n\n## Authentication ##")
    assert "## nor this" in MARKDOWN[piece.start : piece.end]


@pytest.mark.parametrize(
    ("style", "context"),
    [
        ("none", ""),
        ("comment", "<!-- file: docs/api.md; section: A > B -->\n\n"),
        ("natural", "From the file docs/api.md, section A, B.\n\n"),
        ("signature", "docs/api.md\n# A\n## B\n\n"),
    ],
)
def test_styles_of_context(style: str, context: str) -> None:
    assert chunk("# A\n\nx\n\n## B\n\ny\n", "markdown", context=style)[1].context == context


def test_headings_with_windows_newlines() -> None:
    text = "# A\r\n\r\nx\r\n\r\nB\r\n=\r\n\r\n## C #\r\n\r\ny\r\n"
    assert [p.section for p in chunk(text, "markdown")] == ["A", "A > C"]


def test_rst_levels_come_in_order_of_appearance() -> None:
    text = "=====\nTitle\n=====\n\nA\n\nFirst\n-----\n\nB\n\nInner\n~~~~~\n\nC\n\nSecond\n------\n\nD\n\n----\n\nE\n"
    assert [p.section for p in chunk(text, "rst")] == [
        "Title",
        "Title > First",
        "Title > First > Inner",
        "Title > Second",
    ]


REPORT = """AIRCRAFT ACCIDENT REPORT
SYNOPSIS

The airplane struck trees.

TABLE OF CONTENTS
1.1 History of the Flight ........ 3

1. FACTUAL INFORMATION
1.1 History of the Flight
On the day the crew of N123 took off at 10:30.
1. Remove the bolt and clean it.
The NTSB and FAA were notified.
1.7 Meteorological Information
VFR.
2.2 Conclusions
(a) FINDINGS
The pilot was rated.
(b) PROBABLE CAUSE
The Board determines that the pilot erred.
"""


@pytest.mark.parametrize("kind", ["text", "pdf"])
def test_report_sections_are_their_heading(kind: str) -> None:
    assert [p.section for p in chunk(REPORT, kind)] == [
        "SYNOPSIS",
        "TABLE OF CONTENTS",
        "1.1 History of the Flight",
        "1.7 Meteorological Information",
        "(a) FINDINGS",
        "(b) PROBABLE CAUSE",
    ]


def test_a_report_says_the_headings_above_too() -> None:
    piece = chunk(REPORT, "pdf")[-1]
    assert "[section: 2.2 Conclusions > (b) PROBABLE CAUSE]" in piece.context.replace(
        "1. FACTUAL INFORMATION > ", ""
    )


def test_a_running_title_opens_no_section() -> None:
    text = "ANALYSIS\nOne.\n" + "NATIONAL SAFETY BOARD\nMore text.\n" * 5
    assert {p.section for p in chunk(text, "pdf")} == {"ANALYSIS"}


def test_prose_without_headings_is_cut_at_paragraphs() -> None:
    text = "\n\n".join(f"Paragraph {n} says something of its own." for n in range(40))
    pieces = chunk(text, "text", max_chars=300)
    assert all(text[p.start : p.end].startswith("Paragraph") for p in pieces)
    assert all(p.end - p.start <= 300 for p in pieces)
