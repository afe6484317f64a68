"""Keywords and signals as one SQL condition, so that they are counted in the same scan as SQL rules."""

from __future__ import annotations

import re

from bakeoff.corpus.segmentation import has_spaceless_script
from bakeoff.truth.rules import WordsRule

_EDGE = r"[^\p{L}\p{M}\p{N}_]"
"""What may stand beside a whole word; RE2's own word boundary knows only ASCII."""


def condition(rule: WordsRule) -> str:
    """A condition on the column `text` that is true where at least so many of the words are in it."""
    tests = [_contains(word, rule) for word in rule.of]
    if rule.at_least == 1:
        return " OR ".join(f"({test})" for test in tests)
    if rule.at_least == len(tests):
        return " AND ".join(f"({test})" for test in tests)
    return f"{' + '.join(f'CAST(({test}) AS INTEGER)' for test in tests)} >= {rule.at_least}"


def _contains(word: str, rule: WordsRule) -> str:
    if rule.match == "substring" or has_spaceless_script(word):  # such a word has no edges
        return _holds(word.strip(), rule.case)
    parts = word.split()
    flag = "" if rule.case else "(?i)"
    phrase = r"\s+".join(re.sub(r"([^0-9A-Za-z_])", _escape, part) for part in parts)
    pattern = f"{flag}(^|{_EDGE}){phrase}($|{_EDGE})"
    # CASE runs the costly test only where the cheap one holds
    likely = _holds(max(parts, key=len), rule.case)
    return f"CASE WHEN {likely} THEN regexp_matches(text, {_quote(pattern)}) ELSE false END"


def _holds(words: str, case: bool) -> str:
    if case:
        return f"contains(text, {_quote(words)})"
    return f"contains(lower(text), lower({_quote(words)}))"


def _escape(found: re.Match[str]) -> str:
    char = found[1]
    return f"\\{char}" if char.isascii() else char


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
