"""HTML to text: headings become Markdown headings, blocks become paragraphs, code is fenced."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_SILENT = frozenset({"script", "style", "template", "noscript", "svg", "math", "iframe", "object"})
_BLOCKS = frozenset(
    {
        *(
            "address",
            "article",
            "aside",
            "blockquote",
            "body",
            "caption",
            "dd",
            "details",
            "dialog",
            "div",
            "dl",
            "dt",
        ),
        *(
            "fieldset",
            "figcaption",
            "figure",
            "footer",
            "form",
            "header",
            "hr",
            "li",
            "main",
            "nav",
            "ol",
            "p",
        ),
        *("section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"),
    }
)
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_BLANKS = re.compile(r"\s+")
_MANY_NEWLINES = re.compile(r"\n{3,}")


def html_to_text(markup: str) -> tuple[str, str]:
    """The readable text of a page, and the page's title or ''."""
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    return reader.text(), reader.title


class _Reader(HTMLParser):
    """Collects lines; what is between two blocks is one line with its blanks collapsed."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._lines: list[str] = []
        self._line: list[str] = []
        self._prefix = ""
        self._silent = 0
        self._pre = 0
        self._in_title = False
        self._title: list[str] = []

    @property
    def title(self) -> str:
        """The content of the title element in one line."""
        return " ".join("".join(self._title).split())

    def text(self) -> str:
        """All lines, at most one blank between two."""
        self._flush()
        return _MANY_NEWLINES.sub("\n\n", "\n".join(self._lines)).strip() + "\n"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Start of an element."""
        if tag in _SILENT:
            self._silent += 1
        elif tag == "title":
            self._in_title = not self.title
        elif tag == "br":
            self._line.append("\n" if self._pre else " ")
        elif tag == "pre":
            self._break("```")
            self._pre += 1
        elif tag in _HEADINGS and not self._pre:
            self._break("")
            self._prefix = _HEADINGS[tag] + " "
        elif tag in {"td", "th"} and self._line:
            self._line.append(" | ")
        elif tag in _BLOCKS and not self._pre:
            self._flush()
            self._prefix = "- " if tag == "li" else ""
            if tag in {"p", "table", "ul", "ol", "dl", "section", "article"}:
                self._lines.append("")

    def handle_endtag(self, tag: str) -> None:
        """End of an element."""
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag == "title":
            self._in_title = False
        elif tag == "pre" and self._pre:
            self._flush()
            self._pre -= 1
            self._lines += ["```", ""]
        elif tag in _HEADINGS and not self._pre:
            self._break("")
        elif tag in _BLOCKS and tag not in {"td", "th"} and not self._pre:
            self._flush()

    def handle_data(self, data: str) -> None:
        """Text between tags."""
        if self._in_title:
            self._title.append(data)
        elif not self._silent:
            self._line.append(data)

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
