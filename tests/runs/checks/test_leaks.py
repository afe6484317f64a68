"""Query texts in the corpus, against a plain search in the words of every document."""

from __future__ import annotations

import random
import re

import pyarrow as pa
import pytest

from bakeoff.corpus import shingles
from bakeoff.runs.checks.leaks import RUN, SHORTEST, leaks


def column(*texts: str) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array([text], pa.large_string()) for text in texts])


def plain(queries: list[str], documents: list[str]) -> dict[int, tuple[bool, tuple[int, ...]]]:
    """Query → (whole, documents) by joining words and looking for them."""
    texts = [f" {' '.join(re.findall(r'[a-z0-9_]+', text.lower()))} " for text in documents]
    found = {}
    for place, query in enumerate(queries):
        said = re.findall(r"[a-z0-9_]+", query.lower())
        whole = tuple(row for row, text in enumerate(texts) if f" {' '.join(said)} " in text)
        parts = [" ".join(said[i : i + RUN]) for i in range(len(said) - RUN + 1)]
        part = tuple(row for row, text in enumerate(texts) if any(f" {p} " in text for p in parts))
        if len(said) >= SHORTEST and (whole or part):
            found[place] = (True, whole) if whole else (False, part)
    return found


def test_a_whole_query_is_found_across_case_punctuation_and_lines() -> None:
    text = "Some words before. Where is the TOKEN\n   signature checked? And after."
    (leak,) = leaks(["where is the token signature checked"], column("nothing here", text))
    assert (leak.query, leak.whole, leak.documents) == (0, True, (1,))


def test_eight_words_in_a_row_are_found_and_seven_are_not() -> None:
    text = column("zero one two three four five six seven eight nine")
    (leak,) = leaks(["please say one two three four five six seven eight to me"], text)
    assert (leak.whole, leak.at) == (False, 2)
    assert leaks(["please say one two three four five six seven to me"], text) == []


@pytest.mark.parametrize(
    ("question", "before", "after"),
    [
        ("长城的西端在哪里结束", "有人问：", "？没有人知道。"),
        ("เมืองหลวงของประเทศไทยคือที่ไหน", "เขาถามว่า ", " แล้วก็ไป"),
        ("गंगा नदी कहाँ से निकलती है", "उसने पूछा। ", "। किसी ने नहीं बताया।"),
        ("أين يقع نهر النيل الطويل", "سأل: ", "؟ لا أحد يعرف"),
    ],
)
def test_a_copied_question_is_found_in_every_script(question: str, before: str, after: str) -> None:
    (leak,) = leaks([question], column("别的文字", before + question + after))
    assert (leak.whole, leak.documents) == (True, (1,))


def test_a_search_for_a_term_is_no_leak() -> None:
    assert leaks(["rudder hardover event"], column("a rudder hardover event was seen")) == []


def test_words_of_two_documents_do_not_join() -> None:
    joined = pa.chunked_array([pa.array(["one two three", "four five six"], pa.large_string())])
    assert leaks(["two three four five"], joined) == []
    assert leaks(["two threefour five six"], joined) == []


def test_part_of_a_word_is_no_word() -> None:
    assert leaks(["the cat sat on it"], column("bathe cat sat on itself")) == []


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("où est la clé du coffre", "… Où est la CLÉ du coffre ?"),
        ("wo ist die größe der tür", "»Wo ist die GRÖSSE«? Wo ist die Größe der Tür?"),
        ("the pilot's so called final approach", "“The pilot’s so-called final approach” was short"),
        ("a b c d", "a\u00a0b\u2014c\u3000d"),
    ],
)
def test_letters_and_signs_beyond_ascii(query: str, text: str) -> None:
    assert [leak.whole for leak in leaks([query], column(text))] == [True]


def test_random_texts_give_what_a_plain_search_gives() -> None:
    for seed in range(30):
        dice = random.Random(seed)
        vocabulary = [f"w{i}" for i in range(dice.choice([2, 3, 40]))]
        documents = [" ".join(dice.choices(vocabulary, k=dice.randint(0, 60))) for _ in range(20)]
        queries = [" ".join(dice.choices(vocabulary, k=dice.randint(1, 14))) for _ in range(20)]
        for _ in range(10):
            said = dice.choice(documents).split()
            at = dice.randint(0, max(len(said) - 1, 0))
            queries.append(" ".join([*dice.choices(["x", ""], k=1), *said[at : at + dice.randint(1, 14)]]))
        found = {
            leak.query: (leak.whole, tuple(sorted(leak.documents)))
            for leak in leaks(queries, column(*documents))
        }
        assert found == plain(queries, documents), seed


def test_a_text_longer_than_a_block_is_searched_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"word{i}" for i in range(60_000)]
    text = " ".join(words)
    assert len(text) > 2 * shingles.BLOCK
    queries = [" ".join(words[at : at + 9]) for at in range(0, 59_000, 997)]
    found = leaks(queries, column("short", text, "end"))
    assert [leak.query for leak in found if leak.whole and leak.documents == (1,)] == list(
        range(len(queries))
    )


def test_empty_texts_and_no_queries() -> None:
    assert leaks([], column("a b c d e")) == []
    assert leaks(["a b c d e", ""], column("", "", "x")) == []
    assert leaks(["a b c d e"], pa.chunked_array([], pa.large_string())) == []


def test_a_slice_of_a_table_is_searched_and_nothing_beside_it() -> None:
    texts = pa.chunked_array(
        [pa.array(["one two three four", "x", "five six seven eight"], pa.large_string())]
    )
    (leak,) = leaks(["one two three four", "five six seven eight"], texts.slice(1))
    assert (leak.query, leak.documents) == (1, (1,))
