from __future__ import annotations

import pytest

from bakeoff.report.sections.explorer import mark_words


@pytest.mark.parametrize(
    ("text", "words", "wanted"),
    [
        ("The pump, started.", {"pump"}, [("The ", False), ("pump", True), (", started.", False)]),
        ("长城是中国的", {"长城", "中国"}, [("长城", True), ("是", False), ("中国", True), ("的", False)]),
        ("यह हिन्दी है", {"हिन्दी"}, [("यह ", False), ("हिन्दी", True), (" है", False)]),
    ],
)
def test_words_of_every_script_are_marked(text: str, words: set[str], wanted: list[tuple[str, bool]]) -> None:
    assert list(mark_words(text, frozenset(words))) == wanted
