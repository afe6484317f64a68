from __future__ import annotations

import duckdb
import pytest

from bakeoff.truth.rules import WordsRule
from bakeoff.truth.text_rules import condition


@pytest.mark.parametrize(
    ("word", "text", "found"),
    [
        ("हिन्दी", "यह हिन्दी है", True),
        ("हिन्द", "यह हिन्दी है", False),  # a vowel sign is part of the word
        ("长城", "中国的长城很长", True),
        ("เมืองหลวง", "กรุงเทพเป็นเมืองหลวงของไทย", True),
        ("over", "the overlap", False),
    ],
)
def test_whole_words_of_every_script(word: str, text: str, found: bool) -> None:
    rule = WordsRule(of=(word,), at_least=1)
    rows = duckdb.sql(f"SELECT ({condition(rule)}) FROM (SELECT '{text}' AS text)").fetchall()
    assert rows == [(found,)]
