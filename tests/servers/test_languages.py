"""`language:` on real engines: forms of a word meet, scripts without blanks are cut, also in an opened index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bakeoff.types import Batch, Metric

CASES = {
    "english": ("The committees inspected the wells.", "The river is long.", "committee well"),
    "german": ("Die Häuser liegen am Berg.", "Der Fluss ist lang.", "Haus"),
    "french": ("Les chevaux traversaient la plaine.", "Le fleuve est long.", "cheval"),
    "spanish": ("Los niños leyeron el cuento.", "El río es largo.", "niño"),
    "russian": ("Старые книги лежат на столе.", "Река длинная.", "книга"),
    "arabic": ("قرأت الكتاب أمس", "النهر طويل", "كتاب"),
    "hindi": ("शहरों की सड़कें", "नदी का पानी", "शहर"),
    "polish": ("Rozmawiał z kobietami.", "Rzeka jest długa.", "kobiet"),
    "chinese": ("委员会检查河水", "北京大学在山上", "河水"),
    "japanese": ("委員会は井戸を調べた", "東京の大学に行った", "井戸"),
    "thai": ("คณะกรรมการตรวจสอบบ่อน้ำ", "นักเรียนไปโรงเรียน", "บ่อน้ำ"),
}
"""A text, another, and a question whose words are those of the first in another form."""
WITHOUT_STEMS = {("pgvector", "polish")}
"""The engine comes without stems of that language, and we send it none."""


@pytest.mark.parametrize("name", ["pgvector", "elasticsearch", "opensearch", "weaviate"])
@pytest.mark.parametrize("language", CASES)
def test_another_form_of_a_word_finds_it(
    name: str,
    language: str,
    engine: Callable[[str], dict[str, str]],
    known: Callable[[str], str],
    store: Callable[..., Any],
) -> None:
    (engine if name == "pgvector" else known)(name)
    right, wrong, asked = CASES[language]
    one = store(name, language=language)
    one.create("test_words", 0, Metric.COSINE)
    one.insert(Batch(np.arange(2, dtype=np.int64), texts=[wrong, right]))
    one.ready()
    expected = [] if (name, language) in WITHOUT_STEMS else [1]
    assert one.search_text(asked, 5, one.Query()).ids.tolist() == expected
    again = store(name, language=language)
    assert again.open("test_words", 0, Metric.COSINE) == 2
    assert again.search_text(asked, 5, one.Query()).ids.tolist() == expected
    one.drop("test_words")
