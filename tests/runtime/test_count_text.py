"""Where lines of text may break."""

from __future__ import annotations

import pytest

from bakeoff.runtime.count_text import keep_together


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("ahead by .020 [-.051 .087]", "ahead by .020 [-.051_.087]"),
        ("[.836 1.000] and [-12 -3]", "[.836_1.000] and [-12_-3]"),
        ("80 % power, 4 × faster, line · bm25", "80_% power, 4_× faster, line_· bm25"),
        ("the list [one 2 three]", "the list [one 2 three]"),
    ],
)
def test_numbers_that_belong_together_stay_on_one_line(text: str, kept: str) -> None:
    assert keep_together(text).replace("\u00a0", "_") == kept
