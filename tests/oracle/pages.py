"""Tables of a written report as a reader sees them: Markdown and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

Row = list[str]


@dataclass(frozen=True)
class Table:
    """A table below a heading of a Markdown report."""

    heading: str
    head: Row
    rows: list[Row]


def markdown_tables(text: str) -> Iterator[Table]:
    """Every table with the heading it stands under."""
    heading, lines, inside = "", text.splitlines(), False
    for number, line in enumerate(lines):
        inside ^= line.startswith("```")
        if inside:
            continue
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if line.startswith(("| :--", "| --:")):
            rows = []
            for row in lines[number + 1 :]:
                if not row.startswith("|"):
                    break
                rows.append(_cells(row))
            yield Table(_plain(heading), _cells(lines[number - 1]), rows)


def _cells(line: str) -> Row:
    return [
        _plain(cell) for cell in re.split(r"(?<!\\) \| ", line.strip().removeprefix("|").removesuffix("|"))
    ]


def _plain(text: str) -> str:
    return text.replace("\\", "").replace("\u00a0", " ").strip()


def bare(text: str) -> str:
    """A cell without spaces, brackets around counts, signs of percent and the words for a missing interval."""
    return re.sub(r"no interval|[\s()%]", "", text)


@dataclass
class HtmlRows(HTMLParser):
    """The rows of all tables of a page: each the set of its cells' texts, whole, without the small print, and that alone."""

    rows: list[set[str]] = field(default_factory=list)
    _row: set[str] | None = None
    _cell: list[str] | None = None
    _small: list[str] = field(default_factory=list)
    _depth: int = 0

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self._row = set()
        elif tag in ("td", "th"):
            self._cell, self._small = [], []
        elif tag == "small":
            self._depth += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "small":
            self._depth -= 1
        elif tag in ("td", "th") and self._cell is not None and self._row is not None:
            large, small = bare("".join(self._cell)), bare("".join(self._small))
            self._row |= {large + small, large, small}
            self._cell = None
        elif tag == "tr" and self._row is not None:
            self.rows.append(self._row)
            self._row = None

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            (self._small if self._depth else self._cell).append(data)


def html_rows(text: str) -> list[set[str]]:
    reader = HtmlRows()
    reader.feed(text)
    return reader.rows
