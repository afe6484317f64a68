"""Texts as they are compared: words without case and punctuation."""

from __future__ import annotations

import re
import unicodedata

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
"""Kana, Han and Hangul, where each character counts as a word."""
_WORD = re.compile(f"[{_UNSPACED}]|[^\\W{_UNSPACED}]+")


def words(text: str) -> list[str]:
    """The words of a text in order."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
