"""Spans of one reader's text are found again in another's, or known to be lost."""

from __future__ import annotations

import pytest

from bakeoff.storage.schemas import DOCUMENTS, JUDGMENTS
from bakeoff.truth.alignment import LOST, align_truth
from bakeoff.truth.resolve import Truth
from bakeoff.truth.words import Words

TEXT = (
    "The pilot slept. The probable cause was ice on the wings of the aircraft. The crew was tired and left."
)


def find(quote: str, other: str, near: float = 0.5) -> str | None:
    words = Words(other)
    span = words.find(Words(quote).words, round(near * len(words.words)))
    return None if span is None else other[span.start : span.end]


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ("ICE | on the\n  wings", "ICE | on the\n  wings"),
        ("The iceon thewings.", "iceon thewings"),
        ("nothing of it", None),
        ("ice on wings", None),
        ("The i ce on the win gs were", "i ce on the win gs"),
    ],
)
def test_the_same_letters_are_the_same_place(other: str, found: str | None) -> None:
    assert find("ice on the wings", other) == found


def test_a_header_between_two_pages_is_inside_the_span() -> None:
    quote = "The probable cause was ice on the wings of the aircraft"
    other = "x y z. The probable cause was ice on\n\nPage 7 of 9\n\nthe wings of the aircraft. More."
    assert find(quote, other) == other[7:-7]
    assert find(quote, "The probable cause was a bird in the engine of the other one") is None


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ("Room 91 3 is shut.", "91 3"),
        ("Room 2913 is shut.", None),
        ("Room 9130 is shut.", None),
        ("Page 2 91 3", "91 3"),
    ],
)
def test_a_number_is_found_in_parts_and_not_inside_another(other: str, found: str | None) -> None:
    assert find("913", other) == found


def test_a_letter_that_was_misread_does_not_lose_a_passage() -> None:
    quote = "The crane was replaced in room 913 by its maker"
    assert find(quote, "Note: The cranc was rep1aced in room 91 3 by its maker. End.") == (
        "The cranc was rep1aced in room 91 3 by its maker"
    )
    assert find(quote, "The ferry was painted in room 913 by the harbour master of the town") is None


def test_of_several_places_the_nearest_is_the_span() -> None:
    other = "ice here. " + "and more text follows " * 20 + "ice there"
    span = Words(other).find(["ice"], 80)
    assert span is not None and span.start == other.rindex("ice")


def documents(*texts: str) -> object:
    rows = [{"id": str(n), "version": text, "text": text} for n, text in enumerate(texts)]
    return DOCUMENTS.table({name: [row.get(name, "") for row in rows] for name, _ in DOCUMENTS.columns})


def test_judgments_are_moved_kept_or_lost() -> None:
    quote = TEXT.index("The probable"), TEXT.index(" The crew")
    columns = {
        "query": [0, 0, 1, 2], "doc": [0, 1, 0, 2], "start": [quote[0], quote[0], None, 4], "end": [quote[1], quote[1], None, 9],
        "grade": [1] * 4, "source": ["passage"] * 4, "chunking": [""] * 4,
    }  # fmt: skip
    truth = Truth(JUDGMENTS.table(columns), (), ())
    other = documents("Head. " + TEXT, TEXT, "all else")
    moved = align_truth(truth, documents(TEXT, TEXT, TEXT), other)  # type: ignore[arg-type]
    assert moved.aligned
    assert moved.judgments["start"].to_pylist() == [quote[0] + 6, quote[0], None, LOST + 3]
    assert moved.judgments["end"].to_pylist()[0] == quote[1] - 1 + 6  # the full stop is not a word
