"""Queries that ask the same, against comparing every pair."""

from __future__ import annotations

import random
import time

from bakeoff.truth.duplicates import JACCARD, find_similar, words


def near(texts: list[str]) -> set[int]:
    """Texts that are like an earlier one, by comparing all pairs."""
    bags = [frozenset(words(text)) for text in texts]
    return {
        second
        for second in range(len(texts))
        for first in range(second)
        if bags[first] and len(bags[first] & bags[second]) / len(bags[first] | bags[second]) >= JACCARD - 1e-9
    }


def test_words_have_no_case_punctuation_or_width() -> None:
    assert words("Wo ist „STRASSE“, Ｎr. 5?") == ["wo", "ist", "strasse", "nr", "5"]
    assert words("Straße") == ["strasse"]
    assert words("私は東京で働く tower") == ["私", "は", "東京", "で", "働く", "tower"]


def test_the_same_words_are_the_same_query() -> None:
    (pair,) = find_similar(["How do I log in?", "other things entirely", "how do i  LOG in"])
    assert (pair.first, pair.second, pair.same, pair.jaccard) == (0, 2, True, 1.0)


def test_other_order_or_one_word_more_is_near() -> None:
    found = find_similar(["a b c d e", "e d c b a", "a b c d", "a b c x y"])
    assert [(pair.first, pair.second, pair.same) for pair in found] == [(0, 1, False), (0, 2, False)]
    assert [pair.jaccard for pair in found] == [1.0, 0.8]


def test_texts_without_words_are_not_compared() -> None:
    assert find_similar(["?", "!", ""]) == []


def test_the_index_finds_what_comparing_all_pairs_finds() -> None:
    for seed in range(20):
        dice = random.Random(seed)
        vocabulary = [f"w{i}" for i in range(dice.choice([6, 12, 40]))]
        texts = [" ".join(dice.choices(vocabulary, k=dice.randint(1, 12))) for _ in range(45)]
        assert {pair.second for pair in find_similar(texts)} == near(texts), seed


def test_a_chain_of_near_queries_is_followed() -> None:
    ring = [" ".join(f"w{(start + i) % 40}" for i in range(10)) for start in range(40)]
    found = find_similar(ring)
    assert {pair.second for pair in found} == set(range(1, 40))


def test_ten_thousand_queries_take_seconds_whatever_they_look_like() -> None:
    dice = random.Random(3)
    vocabulary = [f"w{i}" for i in range(5_000)]
    shapes = [
        [" ".join(dice.choices(vocabulary, k=10)) for _ in range(10_000)],
        [f"what is the number {i} of this list" for i in range(10_000)],
        [f"what is the number {i} of this very long list of all the things" for i in range(10_000)],
    ]
    for texts in shapes:
        begin = time.process_time()
        find_similar(texts)
        assert time.process_time() - begin < 50
