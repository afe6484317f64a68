"""The context prepended to a chunk for embedding: where the chunk comes from, in one of five styles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple


class Style(StrEnum):
    """How a chunk's context is written."""

    NONE = "none"
    BRACKET = "bracket"
    COMMENT = "comment"
    NATURAL = "natural"
    SIGNATURE = "signature"


class CodeDefinition(NamedTuple):
    """A definition in code: its breadcrumb, its part of a dotted symbol, and its first line if requested."""

    label: str
    symbol: str
    signature: str


Path = tuple[CodeDefinition, ...]
"""Definitions, outermost first."""
LONGEST_NAME = 1000
"""Characters of a title, a dotted name or a breadcrumb, which every chunk repeats."""


def shorten(text: str) -> str:
    """The text, cut where it is too long to be repeated in every chunk."""
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


class CodeContext:
    """Contexts of one source file; `mark` starts a comment in its language."""

    def __init__(self, style: Style, file: str, about: str, mark: str) -> None:
        about = shorten(about)
        self._file, self._about, self._mark = file, about, mark
        self._bracketed = f"[file: {file}] {about}".rstrip()
        # chosen once per document, as every chunk has a context
        self.of: Callable[[Path, Path], str] = {
            Style.NONE: lambda *_: "",
            Style.BRACKET: self._bracket,
            Style.COMMENT: self._comment,
            Style.NATURAL: self._natural,
            Style.SIGNATURE: self._signature,
        }[style]

    def _bracket(self, around: Path, own: Path) -> str:
        labels = _labels(around, own)
        return f"{self._bracketed}\n[context: {labels}]\n\n" if labels else f"{self._bracketed}\n\n"

    def _comment(self, around: Path, own: Path) -> str:
        first = f"{self._mark} file: {self._file} {self._about}".rstrip()
        labels = _labels(around, own)
        return _join_lines([first, f"{self._mark} context: {labels}" if labels else ""])

    def _natural(self, around: Path, own: Path) -> str:
        about = f" ({self._about.rstrip('.')})" if self._about else ""
        place = shorten(", ".join(definition.label for definition in (*around, *own)))
        return f"From the file {self._file}{about}{', in ' if place else ''}{place}.\n\n"

    def _signature(self, around: Path, own: Path) -> str:
        outer = [f"{'  ' * depth}{definition.signature}" for depth, definition in enumerate(around)]
        inner = [f"{'  ' * len(around)}{definition.signature}" for definition in own]
        return _join_lines([f"{self._mark} {self._file}", shorten("\n".join([*outer, *inner]))])


def _labels(around: Path, own: Path) -> str:
    """A breadcrumb; definitions that share a chunk form its last step together."""
    if len(own) == 1:
        return shorten(" > ".join([definition.label for definition in around + own]))
    together = (", ".join([definition.label for definition in own]),) if own else ()
    return shorten(" > ".join([*[definition.label for definition in around], *together]))


def section_context(style: Style, file: str, titles: Sequence[str], levels: Sequence[int]) -> str:
    """Context of prose under headings, outermost first; a level of 0 has no Markdown mark."""
    marked = [f"{'#' * level} {title}".strip() for level, title in zip(levels, titles, strict=True)]
    match style:
        case Style.NONE:
            return ""
        case Style.BRACKET:
            lines = [f"[file: {file}]", f"[section: {' > '.join(marked)}]" if marked else ""]
        case Style.COMMENT:
            lines = [f"<!-- file: {file}{'; section: ' if titles else ''}{' > '.join(titles)} -->"]
        case Style.NATURAL:
            lines = [f"From the file {file}" + (f", section {', '.join(titles)}." if titles else ".")]
        case Style.SIGNATURE:
            lines = [file, *marked]
    return _join_lines(lines)


def _join_lines(lines: Sequence[str]) -> str:
    return "\n".join(line for line in lines if line) + "\n\n"
