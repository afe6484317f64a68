"""Index terms: two forms of a word meet, stop words go, and scripts without blanks are cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.plugins.kit.words import WordAnalyzer
from bakeoff.types import Batch, Metric

FORMS = {
    "english": ("the wells", "a well"),
    "german": ("die Häuser der Stadt", "Haus Städte"),
    "french": ("les chevaux étaient", "cheval étaient"),
    "spanish": ("los niños", "un niño"),
    "russian": ("книги в городах", "книга городов"),
    "arabic": ("في الكتاب", "كتاب"),
    "hindi": ("किताबों में", "किताब"),
    "polish": ("dla kobietami", "kobiet"),
}


@pytest.mark.parametrize("language", FORMS)
def test_two_forms_of_a_word_have_one_term(language: str) -> None:
    analyzer = WordAnalyzer(language)
    first, second = (analyzer.terms(text) for text in FORMS[language])
    assert first == second != []


@pytest.mark.parametrize("language", FORMS)
def test_plain_words_are_as_they_are_written(language: str) -> None:
    text = FORMS[language][0]
    assert WordAnalyzer(language, plain=True).terms(text) == text.lower().split()


def test_an_unknown_language_has_the_terms_of_english() -> None:
    assert WordAnalyzer(None).terms("The wells of Häuser") == WordAnalyzer("english").terms(
        "The wells of Häuser"
    )


UNSPACED = {
    "chinese": ("委员会检查河水", "北京大学在山上", "河水"),
    "japanese": ("委員会は井戸を調べた", "東京の大学に行った", "井戸"),
    "thai": ("คณะกรรมการตรวจสอบบ่อน้ำ", "นักเรียนไปโรงเรียน", "บ่อน้ำ"),
}


@pytest.mark.parametrize("engine", ["tantivy", "postings"])
@pytest.mark.parametrize("language", UNSPACED)
def test_a_word_is_found_in_a_text_without_blanks(language: str, engine: str, tmp_path: Path) -> None:
    right, wrong, word = UNSPACED[language]
    assert _found(engine, language, [wrong, right], word, tmp_path) == [1]


@pytest.mark.parametrize("engine", ["tantivy", "postings"])
def test_the_language_of_a_store_chooses_its_stems(engine: str, tmp_path: Path) -> None:
    texts = ["Die Häuser stehen am Fluss.", "Der Fluss ist lang."]
    assert _found(engine, "german", texts, "Haus", tmp_path / "de") == [0]
    assert _found(engine, None, texts, "Haus", tmp_path / "none") == []


@pytest.mark.parametrize("engine", ["tantivy", "postings"])
def test_a_stem_of_hindi_is_found_when_the_index_is_opened_again(engine: str, tmp_path: Path) -> None:
    plugin: Any = registry.load("stores", engine)
    store = plugin(plugin.Params(language="hi"), tmp_path)
    store.create("c", 0, Metric.COSINE)
    store.insert(Batch(np.arange(2), texts=["शहरों की सड़कें", "नदी का पानी"]))
    store.ready()
    store.close()
    again = plugin(plugin.Params(language="hindi"), tmp_path)
    assert again.open("c", 0, Metric.COSINE) == 2
    assert again.search_text("शहर", 5, plugin.Query()).ids.tolist() == [0]


def _found(engine: str, language: str | None, texts: list[str], word: str, home: Path) -> list[int]:
    plugin: Any = registry.load("stores", engine)
    store = plugin(plugin.Params(language=language), home)
    store.create("c", 0, Metric.COSINE)
    store.insert(Batch(np.arange(len(texts)), texts=texts))
    store.ready()
    ids: list[int] = store.search_text(word, 5, plugin.Query()).ids.tolist()
    store.close()
    return ids
