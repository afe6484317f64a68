"""Words, tokens and sentences of many scripts, by text that people of each would write."""

from __future__ import annotations

import random

import pytest

from bakeoff.corpus import segmentation
from bakeoff.corpus.segmentation import (
    boundary_after,
    boundary_before,
    count_tokens,
    sentences,
    token_starts,
    words,
)

HINDI = "हिन्दी भाषा में लिखा"
CHINESE = "自然语言处理很有趣。"
THAI = "ภาษาไทยไม่มีช่องว่าง"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("don't parse_args(3.14)", ["don", "t", "parse", "args", "3", "14"]),
        ("don’t parse_args(3.14) é", ["don", "t", "parse", "args", "3", "14", "é"]),
        (HINDI, ["हिन्दी", "भाषा", "में", "लिखा"]),
        ("من أين؟", ["من", "أين"]),
        ("می‌خواهم", ["می‌خواهم"]),
        ("东京大学", ["东京", "京大", "大学"]),
        ("iPhone手机", ["iPhone", "手机"]),
        ("한국어를", ["한국", "국어", "어를"]),
        (THAI, ["ภาษา", "ไทย", "ไม่มี", "ช่อง", "ว่าง"]),
        ("茶", ["茶"]),
        ("ＡＢＣ ﬁn e\u0301te\u0301", ["ABC", "fin", "été"]),
        ("，。！🙂 — …", []),
        ("a\ud800b 中文", ["a", "b", "中文"]),
        ("", []),
    ],
)
def test_the_words_a_keyword_search_looks_for(text: str, wanted: list[str]) -> None:
    assert words(text) == wanted


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("don't parse_args", 4),
        ("don’t parse_args é", 5),
        (HINDI, 4),
        (HINDI + "।", 5),
        (CHINESE, 6),
        (THAI, 5),
        ("한국어를 공부합니다", 2),
        ("ខ្មែរ\u200bភាសា", 2),
        ("x" * 130, 3),
        ("ä" * 130, 3),
        ("  \n\u3000 ", 0),
    ],
)
def test_tokens_are_words_and_marks(text: str, count: int) -> None:
    assert count_tokens(text) == count == len(token_starts(text))


def test_token_starts_count_characters_not_utf16_units() -> None:
    text = "🙂🙂 中文 ok"
    assert [text[at] for at in token_starts(text)] == ["🙂", "🙂", "中", "o"]


def test_ascii_words_are_the_same_next_to_other_scripts() -> None:
    draw = random.Random(7)
    for _ in range(200):
        text = "".join(draw.choices("ab1 _'.,:;-\"\n", k=30))
        assert words(text + " é") == [*words(text), "é"]
        assert token_starts(text + " é") == [*token_starts(text), len(text) + 1]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("यह एक है। दूसरा है। तीसरा?", ["यह एक है।", "दूसरा है।", "तीसरा?"]),
        ("ما هذا؟ هذا بيت. نعم", ["ما هذا؟", "هذا بيت.", "نعم"]),
        ("یہ کیا ہے۔ وہ", ["یہ کیا ہے۔", "وہ"]),
        ("他说：「好！」然后走了。真的？！是。", ["他说：「好！」", "然后走了。", "真的？！", "是。"]),
        ("好吗?好的.3.5元", ["好吗?", "好的.3.5元"]),
        ("Dr. Müller came. He left!", ["Dr. Müller came.", "He left!"]),
        ("Zeile\neins. Zwei Ü\n\nDrei", ["Zeile\neins.", "Zwei Ü", "Drei"]),
    ],
)
def test_sentences_end_at_the_marks_of_their_script(text: str, wanted: list[str]) -> None:
    spans = list(sentences(text))
    assert [text[a:b].strip() for a, b in spans] == wanted
    assert "".join(text[a:b] for a, b in spans) == text


def test_long_thai_is_cut_at_blanks() -> None:
    text = " ".join([THAI * 3] * 10)
    spans = list(sentences(text))
    assert len(spans) == 5
    assert all(segmentation.PHRASE <= b - a < 2 * segmentation.PHRASE for a, b in spans)
    assert "".join(text[a:b] for a, b in spans) == text


def test_forced_cuts_keep_words_and_written_characters() -> None:
    text = HINDI.replace(" ", "") * 2
    assert all(text[boundary_before(text, 0, at)] not in "िाीें्" for at in range(8, len(text)))
    assert THAI[: boundary_before(THAI, 0, 6)] == "ภาษา"
    assert THAI[: boundary_after(THAI, 5, len(THAI))] == "ภาษาไทย"
    assert boundary_before("plain ascii", 0, 3) == 3


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("don't parse_args!", ["don", "t", "parse_args"]),
        ("_a é, b", ["_a", "é", "b"]),
        (CHINESE, ["自然", "语言", "处理", "很", "有趣"]),
        (HINDI + "।", HINDI.split()),
    ],
)
def test_word_spans_are_the_words_a_reader_counts(text: str, wanted: list[str]) -> None:
    assert [text[a:b] for a, b in segmentation.word_spans(text)] == wanted


def test_a_text_without_words_has_no_spans() -> None:
    assert segmentation.word_spans("\x9b\t") == []
