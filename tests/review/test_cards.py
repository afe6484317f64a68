from __future__ import annotations

from bakeoff.review.web.cards import mark_words


def test_words_of_a_question_without_blanks_are_marked() -> None:
    parts = mark_words("中国的长城很长。", (), "长城在哪里")
    assert ("长城", True) in parts
    assert "".join(text for text, _ in parts) == "中国的长城很长。"


def test_words_of_a_question_are_marked_where_a_word_begins() -> None:
    parts = mark_words("The pumps and a stomach pump.", (), "which pumps are safe?")
    assert [text for text, hit in parts if hit] == ["pumps", "pump"]
