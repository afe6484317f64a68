"""HTML to text with libxml2: headings become Markdown headings, blocks become paragraphs, code is fenced."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lxml import etree

_SILENT = frozenset(["script", "style", "template", "noscript", "svg", "math", "iframe", "object"])
_BLOCK_NAMES = (
    "address article aside blockquote body caption dd details dialog div dl dt fieldset figcaption figure footer form "
    "header hr li main nav ol p section summary table tbody td tfoot th thead tr ul"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_PARAGRAPHS = frozenset(["p", "table", "ul", "ol", "dl", "section", "article"])
_CELLS = frozenset(["td", "th"])
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_BLANKS = re.compile(r"\s+")
_MANY_NEWLINES = re.compile(r"\n{3,}")


def html_to_text(markup: str) -> tuple[str, str]:
    """Readable text of a page, and its title or ''."""
    page = _PageText()
    parser = etree.HTMLParser(target=page, encoding="utf-8", huge_tree=True)
    parser.feed(markup.encode("utf-8", "surrogatepass"))
    parser.close()
    return page.text(), page.title


class _PageText:
    """Collects lines as the parser meets elements; text between two blocks is one line with collapsed whitespace."""

    def __init__(self) -> None:
        self.title = ""
        self._lines: list[str] = []
        self._line: list[str] = []
        self._prefix = ""
        self._silent = 0
        self._pre = 0

    def text(self) -> str:
        """All lines, with at most one blank line between two."""
        self._flush()
        return _MANY_NEWLINES.sub("\n\n", "\n".join(self._lines)).strip() + "\n"

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Start of an element."""
        if tag in _SILENT:
            self._silent += 1
        elif tag == "title":
            self._flush()
        elif tag == "br":
            self._line.append("\n" if self._pre else " ")
        elif tag == "pre":
            self._break("```")
            self._pre += 1
        elif not self._pre:
            self._start_block(tag)

    def _start_block(self, tag: str) -> None:
        if tag in _HEADINGS:
            self._break("")
            self._prefix = _HEADINGS[tag] + " "
        elif tag in _CELLS and self._line:
            self._line.append(" | ")
        elif tag in _BLOCKS:
            self._flush()
            self._prefix = "- " if tag == "li" else ""
            if tag in _PARAGRAPHS:
                self._lines.append("")

    def end(self, tag: str) -> None:
        """End of an element, even if the page omits its end tag."""
        if tag in _SILENT:
            self._silent -= 1
        elif tag == "title":
            self.title = self.title or " ".join("".join(self._line).split())
            self._line.clear()
        elif tag == "pre":
            self._flush()
            self._pre -= 1
            self._lines += ["```", ""]
        elif tag in _HEADINGS and not self._pre:
            self._break("")
        elif tag in _BLOCKS - _CELLS and not self._pre:
            self._flush()

    def data(self, data: str) -> None:
        """Text between tags."""
        if not self._silent:
            self._line.append(data)

    def close(self) -> None:
        """Nothing to do at the end of the page."""

    def _break(self, line: str) -> None:
        self._flush()
        self._lines += ["", line] if line else [""]

    def _flush(self) -> None:
        words = "".join(self._line)
        self._line.clear()
        if self._pre:
            self._lines.append(words.strip("\n"))
        elif words := _BLANKS.sub(" ", words).strip():
            self._lines.append(self._prefix + words)
            self._prefix = ""
