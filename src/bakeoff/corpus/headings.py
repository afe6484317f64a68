"""Headings of documents and the sections below them: the single definition of a heading.

Markdown and reStructuredText mark theirs; in plain texts and PDFs they are only typed. Chunkers label chunks
and truth finds sections by this definition, so that both agree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bakeoff.corpus.document_kinds import CODE, DATA, OFFICE


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: start of its first line, end of its text, and depth (1 is the top)."""

    start: int
    end: int
    level: int
    title: str


# match whole lines and trim later: a lazy match before trailing blanks takes quadratic time
_MARKDOWN = re.compile(
    r"^ {0,3}(?:(?P<hashes>#{1,6})(?P<title>[ \t][^\n]*|\r?)$"
    r"|(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)$"
    r"|(?P<over>[^\s#>|\-=+*`~][^\n]{0,300})\n {0,3}(?P<under>={2,}|-{2,})[ \t]*\r?$)",
    re.MULTILINE,
)
_CLOSING = re.compile(r"(?:^|[ \t])#+$")
_FRONT = re.compile(r"---[ \t]*\r?\n.*?^(?:---|\.\.\.)[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_RST = re.compile(
    r"^(?:(?P<over>(?P<o>[=\-`:.'\"~^_*+#<>])(?P=o){2,})[ \t]*\r?\n)?(?P<title>(?=[ \t]*\S)[^\n]{1,300})\n"
    r"(?P<under>(?P<u>[=\-`:.'\"~^_*+#<>])(?P=u){2,})[ \t]*\r?$",
    re.MULTILINE,
)
_RULE = re.compile(r"[=\-`:.'\"~^_*+#<>\s]*")


def _markdown(text: str) -> list[Heading]:
    """Headings of a Markdown text, outside fenced code and front matter."""
    found: list[Heading] = []
    front = _FRONT.match(text)
    fence = ""
    for match in _MARKDOWN.finditer(text, front.end() if front else 0):
        if mark := match["fence"]:
            fence = _next_fence(fence, mark, match["info"])
        elif not fence:
            level = len(match["hashes"]) if match["hashes"] else 1 + (match["under"][0] == "-")
            title = _CLOSING.sub("", (match["over"] or match["title"]).strip()).strip()
            found.append(Heading(match.start(), match.end(), level, title))
    return found


def _next_fence(fence: str, mark: str, info: str) -> str:
    """The fence that is open after a line that starts with `mark`."""
    if not fence:
        return "" if mark[0] == "`" and "`" in info else mark
    closes = mark[0] == fence[0] and len(mark) >= len(fence) and not info.strip()
    return "" if closes else fence


def _rst(text: str) -> list[Heading]:
    """Headings of a reStructuredText; a style's level is its order of first appearance."""
    found: list[Heading] = []
    styles: list[tuple[str, bool]] = []
    for match in _RST.finditer(text):
        title, under = match["title"].strip(), match["under"]
        if len(under) < len(title) or _RULE.fullmatch(title):
            continue
        style = (match["u"], match["over"] is not None)
        if style not in styles:
            styles.append(style)
        found.append(Heading(match.start(), match.end(), styles.index(style) + 1, title))
    return found


_ASCIIDOC = re.compile(
    r"^(?P<signs>={1,6})[ \t]+(?P<title>\S[^\n]*)$|^(?P<block>-{4,}|\.{4,}|={4,})[ \t]*\r?$", re.MULTILINE
)


def _asciidoc(text: str) -> list[Heading]:
    """Headings of an AsciiDoc text, outside delimited blocks."""
    found: list[Heading] = []
    block = ""
    for match in _ASCIIDOC.finditer(text):
        if mark := match["block"]:
            block = "" if mark == block else block or mark
        elif not block:
            found.append(Heading(match.start(), match.end(), len(match["signs"]), match["title"].strip()))
    return found


# --- reports ----------------------------------------------------------------------------------------

_LETTERED, _MAX_WORDS, _RUNNING = 5, 12, 4
_LINE = re.compile(r"^[ \t]*(\S[^\n]{1,98}?)[ \t]*\r?$", re.MULTILINE)
_NUMBERED = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,4})\.?[ \t]+(?P<words>\S.*)")
_SECTION_MARK = re.compile(
    r"(?:(?P<letter>\([a-zA-Z]\)|\([ivx]{1,4}\)|[A-Z]\.)|(?P<roman>[IVX]{1,5}\.)|(?:SECTION|PART|CHAPTER|Section|Part|Chapter|Appendix)"
    r"\s+(?:\d{1,2}|[A-Z]|[IVX]{1,5})[.:]?)[ \t]+(?P<words>\S.*)"
)
_CONTENTS = re.compile(r"\.{3,}|(?:\. ){3,}|\s{2,}\d+$|\t\d+$")
_SMALL = frozenset(
    {"a", "an", "and", "as", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"}
)


def _report(text: str) -> list[Heading]:
    """Lines of a plain text or PDF that read as headings: numbered, lettered, or in capitals."""
    found = [heading for match in _LINE.finditer(text) if (heading := _report_heading(match))]
    seen = Counter(heading.title for heading in found)
    # text repeated on every page is a running title, not a section
    return [heading for heading in found if seen[heading.title] < _RUNNING]


def _report_heading(match: re.Match[str]) -> Heading | None:
    line = match[1]
    if line[-1] in ".,;" or _CONTENTS.search(line):
        return None
    level = _report_level(line)
    return Heading(match.start(), match.end(), level, line.rstrip(":")) if level else None


def _report_level(line: str) -> int:
    """Depth of a heading line; 0 if it is not a heading."""
    if numbered := _NUMBERED.fullmatch(line):
        return numbered["number"].count(".") + 1 if _is_title(numbered["words"]) else 0
    if marked := _SECTION_MARK.fullmatch(line):
        deep = _LETTERED if marked["letter"] else 1
        return deep if _is_capitals(marked["words"]) or (deep == 1 and _is_title(marked["words"])) else 0
    return int(_is_capitals(line))


def _is_capitals(words: str) -> bool:
    """Whether these are a few words in capitals, at least one of them long."""
    if words.upper() != words or words.lower() == words:
        return False
    letters = sum(c.isalpha() for c in words)
    solid = len(words) - words.count(" ")
    return letters * 4 >= solid * 3 and len(words.split()) <= _MAX_WORDS and _has_word(words)


def _has_word(words: str) -> bool:
    return any(len(word) >= 4 and word.isalpha() for word in re.split(r"[\s/&,:()\-]+", words))


def _is_title(words: str) -> bool:
    """Whether these are a few words that start with capitals, ignoring small words."""
    parts = words.split()
    if len(parts) > _MAX_WORDS or not words[0].isupper() or not _has_word(words):
        return False
    main = [part for part in parts if part.lower() not in _SMALL]
    return all(part[0].isupper() or not part[0].isalpha() for part in main)


# --- sections ---------------------------------------------------------------------------------------

MARKED: Mapping[str, Callable[[str], list[Heading]]] = {
    **dict.fromkeys(("markdown", "html", *sorted(OFFICE - {"rtf"})), _markdown),
    "rst": _rst,
    "asciidoc": _asciidoc,
}
"""Kinds with marked headings, whose depth is certain; other prose is read as a report."""


@dataclass(frozen=True, slots=True)
class HeadingSection:
    """A heading and what follows it, up to the next (`end`) and with subsections (`deep_end`)."""

    title: str
    level: int
    start: int
    end: int
    deep_end: int


@dataclass(frozen=True, slots=True)
class TextStretch:
    """A span under one heading, with its trail of headings, outermost first."""

    start: int
    end: int
    trail: tuple[Heading, ...]


def headings(text: str, kind: str) -> list[Heading]:
    """Headings of a document in order; source code and data have none."""
    if kind in CODE or kind in DATA:
        return []
    return MARKED.get(kind, _report)(text)


def sections(text: str, kind: str) -> list[HeadingSection]:
    """Sections of a document in order; text before the first heading belongs to none."""
    found = headings(text, kind)
    ends = [*(heading.start for heading in found[1:]), len(text)]
    deep = _deep_ends(found, len(text))
    return [
        HeadingSection(heading.title, heading.level, heading.start, end, deep_end)
        for heading, end, deep_end in zip(found, ends, deep, strict=False)
    ]


def _deep_ends(found: Sequence[Heading], length: int) -> list[int]:
    """Start of the next heading that is not below each one."""
    ends = [length] * len(found)
    waiting: list[int] = []
    for place, heading in enumerate(found):
        while waiting and found[waiting[-1]].level >= heading.level:
            ends[waiting.pop()] = heading.start
        waiting.append(place)
    return ends


def stretches(text: str, kind: str) -> Iterator[TextStretch]:
    """The whole text by its headings; a heading without text joins the next section."""
    found = headings(text, kind)
    trail: tuple[Heading, ...] = ()
    start = 0
    for heading, following in zip([None, *found], [*found, None], strict=True):
        if heading:
            trail = (*(above for above in trail if above.level < heading.level), heading)
        end = following.start if following else len(text)
        if following and not text[heading.end if heading else start : end].strip():
            continue
        if start < end:
            yield TextStretch(start, end, trail)
        start = end


def label(kind: str, trail: Sequence[Heading]) -> str:
    """Section label of a chunk: all headings above it if their depth is certain, else the last."""
    titles = [heading.title for heading in trail]
    return " > ".join(titles if kind in MARKED else titles[-1:])


def normalise_title(title: str) -> str:
    """A title for comparison: case-folded, with single spaces."""
    return " ".join(title.casefold().split())


def matches(title: str, wanted: str) -> bool:
    """Whether a section's title contains a wanted title (S4-16)."""
    return normalise_title(wanted) in normalise_title(title)
