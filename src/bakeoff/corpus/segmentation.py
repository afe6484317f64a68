"""Splits texts of any script into words, tokens and sentences, by ICU's rules (UAX #29) and dictionaries.

Three rules are our own, so that English text and source code are split as programmers expect: `don't` and
`parse_args` are two search words each, a run of Chinese, Japanese or Korean characters is searched by pairs
of characters, and a Latin full stop ends a sentence only before white space and not after an abbreviation.
ASCII text takes a shortcut with the same result.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.metadata import version
from itertools import accumulate, islice

from bakeoff.corpus.languages import LANGUAGES, Language

Span = tuple[int, int]

VERSION = f"segmentation 1 by icu4py {version('icu4py')}"
"""Part of the version of every plug-in whose output depends on this module."""

LONGEST_TOKEN = 64
"""Longer runs of letters, as in encoded data, count as several tokens."""
PHRASE = 100
"""Characters after which a space ends a sentence in Thai or Lao, which have no full stop."""

_HAN_KANA = (
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u312f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_CJK = _HAN_KANA + "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb"
"""Han, kana and bopomofo; with Hangul."""
_BREAKERS = {"character": "CharacterBreaker", "sentence": "SentenceBreaker", "word": "WordBreaker"}
_THAI_LAO = "\u0e00-\u0eff"
_ASCII_WORD = re.compile("[0-9A-Za-z]+")
_LETTER = re.compile(r"[^\W_]")
_READ_WORD = re.compile(r"\w+")
_ASCII_TOKEN = re.compile(rf"\w{{1,{LONGEST_TOKEN}}}|[^\w\s]")
_SPACELESS = re.compile(f"[{_HAN_KANA}{_THAI_LAO}\u1000-\u109f\u1780-\u17ff\uaa60-\uaa7f]")
_CJK_RUN = re.compile(f"[{_CJK}]+")
_PHRASE_END = re.compile(rf"(?<=[{_THAI_LAO}])[ \u00a0]+(?=[{_THAI_LAO}])")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LATIN_END = r"(?<=[.!?])[\"'”’)\]]*\s+"
_LAST_WORD = re.compile(r"[^\W_]+$")
_BLANK_LINE = r"\r?\n[ \t]*\r?\n\s*"
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[])(?:(?:[A-Za-z]\.)*[A-Za-z]|cf|vs|etc|al|Dr|Mr|Mrs|Ms|Prof|St|No|Fig|Figs|Eq|Sec|Vol|pp|approx|Inc|Ltd)\.$"
)


def words(text: str) -> list[str]:
    """Words for keyword search, in order, in compatibility form and original case."""
    if text.isascii():
        return _ASCII_WORD.findall(text)
    found: list[str] = []
    at = 0
    for run in _CJK_RUN.finditer(text):
        found += _spelled_words(text[at : run.start()])
        found += _pairs(run[0])
        at = run.end()
    found += _spelled_words(text[at:])
    return unicodedata.normalize("NFKC", " ".join(found)).split()


def count_tokens(text: str) -> int:
    """Number of words and punctuation marks in a text of any script."""
    return len(_ASCII_TOKEN.findall(text)) if text.isascii() else sum(1 for _ in _token_starts(text))


def token_starts(text: str) -> list[int]:
    """First character of every word and punctuation mark."""
    if text.isascii():
        return [match.start() for match in _ASCII_TOKEN.finditer(text)]
    return list(_token_starts(text))


def word_spans(text: str) -> list[Span]:
    """Positions of words as a reader would count them; by dictionary for scripts without spaces."""
    if text.isascii():
        return [match.span() for match in _READ_WORD.finditer(text)]
    starts = list(_token_starts(text))
    spans = zip(starts, [*starts, len(text)][1:], strict=True)
    return [
        (start, start + len(text[start:end].rstrip()))
        for start, end in spans
        if _READ_WORD.match(text, start)
    ]


def has_spaceless_script(text: str) -> bool:
    """Whether part of the text is in a script without spaces between words."""
    return not text.isascii() and _SPACELESS.search(text) is not None


def sentences(text: str, language: str | None = None) -> Iterator[Span]:
    """Yield contiguous spans, each a sentence with trailing white space, covering the text.

    A language other than English has its own abbreviations and ordinals.
    """
    start, own = 0, LANGUAGES[language] if language not in (None, "english") else None
    ends = _ascii_ends() if text.isascii() else _ends()
    for match in ends.finditer(text):
        if match.end() > start and not _is_inner_stop(text, match, own):
            yield from _phrases(text, start, match.end())
            start = match.end()
    if start < len(text):
        yield from _phrases(text, start, len(text))


@lru_cache(maxsize=1)
def stop_words() -> str:
    """Marks beyond ASCII that end a sentence in ICU: 。 । ؟ ۔ and others."""
    return "".join(mark for mark in _marks() if len(_segments(f"あ{mark}あ", by="sentence")) > 1)


def boundary_before(text: str, low: int, at: int) -> int:
    """Last position after `low` and up to `at` outside any word, else outside any grapheme."""
    if _between_ascii(text, at):
        return at
    for by in ("word", "character"):
        if found := [place for place in _boundaries(text, low, at + LONGEST_TOKEN, by) if place <= at]:
            return found[-1]
    return at


def boundary_after(text: str, at: int, high: int) -> int:
    """First position from `at` up to `high` where a word ends; `at` between ASCII characters."""
    if _between_ascii(text, at):
        return at
    return next(_boundaries(text, at, high, "word"), at)


def _between_ascii(text: str, at: int) -> bool:
    return at >= len(text) or (text[at - 1].isascii() and text[at].isascii())


def _boundaries(text: str, start: int, end: int, by: str) -> Iterator[int]:
    """Ends of words or graphemes, in order."""
    lengths = map(len, _segments(text[start:end], by))
    return islice(accumulate(lengths, initial=start), 1, None)


def _spelled_words(text: str) -> Iterator[str]:
    """Words of a text without Chinese, Japanese or Korean."""
    if text.isascii():
        yield from _ASCII_WORD.findall(text)
        return
    if not _LETTER.search(text):
        return
    parts = _word_parts()
    for segment in _segments(text):
        if segment.isalnum():
            yield segment
        elif segment[0].isalnum() or len(segment) > 1:
            yield from (part for part in parts.findall(segment) if part[0].isalnum())


def _pairs(run: str) -> Iterable[str]:
    """Every pair of neighbouring characters in a run, or its only one."""
    return (run[i : i + 2] for i in range(len(run) - 1)) if len(run) > 1 else (run,)


def _token_starts(text: str) -> Iterator[int]:
    parts, at = _token_parts(), 0
    for segment in _segments(text):
        if len(segment) == 1 or (segment.isalnum() and len(segment) <= LONGEST_TOKEN):
            if not segment.isspace() and segment.isprintable():
                yield at
        elif not segment.isspace():
            yield from (at + match.start() for match in parts.finditer(segment))
        at += len(segment)


def _segments(text: str, by: str = "word") -> list[str]:
    """ICU's segments of a text; its own offsets count UTF-16 units, so the pieces are used."""
    from icu4py import breakers

    breaker = getattr(breakers, _BREAKERS[by])
    try:
        return list(breaker(text, ""))
    except UnicodeEncodeError:  # half a surrogate pair, as in broken JSON
        return list(breaker(_SURROGATE.sub("\ufffd", text), ""))


@lru_cache(maxsize=1)
def _marks() -> str:
    """Punctuation of the Basic Multilingual Plane beyond ASCII."""
    return "".join(c for c in map(chr, range(0x80, 0x10000)) if unicodedata.category(c)[0] == "P")


@lru_cache(maxsize=1)
def _inner_marks() -> str:
    """Marks that ICU keeps inside a word or number: apostrophes, points, commas."""
    ascii_marks = "'.,:;\"_"
    kept = (
        mark
        for mark in ascii_marks + _marks()
        if any(len(_segments(f"{letter}{mark}{letter}")) == 1 for letter in ("a", "1", "א"))
    )
    return "".join(kept)


@lru_cache(maxsize=1)
def _word_parts() -> re.Pattern[str]:
    return re.compile(f"[^{re.escape(_inner_marks())}]+")


@lru_cache(maxsize=1)
def _token_parts() -> re.Pattern[str]:
    inner = re.escape(_inner_marks().replace("_", ""))
    return re.compile(f"[{inner}]|[^{inner}]{{1,{LONGEST_TOKEN}}}")


@lru_cache(maxsize=1)
def _ascii_ends() -> re.Pattern[str]:
    return re.compile(f"{_LATIN_END}|{_BLANK_LINE}")


@lru_cache(maxsize=1)
def _ends() -> re.Pattern[str]:
    """White space, or nothing, after the end of a sentence."""
    marks = re.escape(stop_words())
    own = rf"(?<=[{marks}])(?![{marks}])[」』”’»）】》〉\"')\]]*\s*"
    unspaced = rf"(?<=[{_CJK}][.!?])(?=[{_CJK}])"
    return re.compile(f"{_LATIN_END}|{own}|{unspaced}|{_BLANK_LINE}")


def _phrases(text: str, start: int, end: int) -> Iterator[Span]:
    """A sentence, split at spaces if it is long and in Thai or Lao."""
    if not text.isascii():
        for blank in _PHRASE_END.finditer(text, start, end):
            if blank.end() - start >= PHRASE:
                yield start, blank.end()
                start = blank.end()
    yield start, end


def _is_inner_stop(text: str, end: re.Match[str], language: Language | None) -> bool:
    """Whether a full stop belongs to an abbreviation or ordinal, not to the end of a sentence."""
    if language is None:
        return _is_abbreviation(text, end.start())
    at = end.start()
    if at == 0 or text[at - 1] != "." or "\n\n" in end[0]:
        return False
    word = _LAST_WORD.search(text, max(0, at - 16), at - 1)
    after = text[end.end() : end.end() + 1]
    if word is None:
        return after.islower()
    if word[0].isdigit():
        return language.ordinals and len(word[0]) < 3
    known = word[0] in language.abbreviations or word[0].lower() in language.abbreviations
    return after.islower() or known or len(word[0]) == 1


def _is_abbreviation(text: str, end: int) -> bool:
    return end > 0 and text[end - 1] == "." and _ABBREVIATION.search(text, max(0, end - 8), end) is not None
