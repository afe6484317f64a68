"""XQuAD: the same paragraphs and questions in six languages, so that counts and scores can be compared."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.corpus.languages import detect_language, find_language
from bakeoff.corpus.segmentation import count_tokens, sentences
from bakeoff.types import Batch, Metric

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "xquad"
LANGUAGES = ("ar", "de", "hi", "ru", "th", "zh")
STEMMED = {"de": 0.015, "hi": 0.008, "ar": 0.05, "ru": 0.08}
"""What the stems and stop words of a language add to the mean reciprocal rank, at least."""

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="shared/data/xquad is not here")


@cache
def texts(language: str) -> tuple[list[str], list[tuple[str, int]]]:
    """The paragraphs, and each question with the paragraph that answers it."""
    paragraphs: list[str] = []
    questions: list[tuple[str, int]] = []
    for article in json.loads((DATA / f"xquad.{language}.json").read_text(encoding="utf-8"))["data"]:
        for part in article["paragraphs"]:
            questions += [(one["question"], len(paragraphs)) for one in part["qas"]]
            paragraphs.append(part["context"])
    return paragraphs, questions


@pytest.mark.parametrize(
    "language", ["de", "zh", *(pytest.param(one, marks=pytest.mark.slow) for one in ("ar", "hi", "ru", "th"))]
)
@pytest.mark.parametrize("engine", ["tantivy", "postings"])
def test_keyword_search_answers_questions_in_every_language(
    engine: str, language: str, tmp_path: Path
) -> None:
    ranks = first_ranks(engine, language, find_language(language), tmp_path)
    assert len(ranks) == 1190
    assert sum(rank > 0 for rank in ranks) > 0.97 * len(ranks)  # by chance it would be 10 of 240


@pytest.mark.slow
@pytest.mark.parametrize("language", STEMMED)
def test_words_of_the_language_find_more_than_words_of_english(language: str, tmp_path: Path) -> None:
    own = first_ranks("postings", language, find_language(language), tmp_path / "own")
    english = first_ranks("postings", language, None, tmp_path / "english")
    gain = sum(1 / rank for rank in own if rank) - sum(1 / rank for rank in english if rank)
    assert gain / len(own) > STEMMED[language]


def first_ranks(engine: str, language: str, words: str | None, home: Path) -> list[int]:
    """The rank of the right paragraph for each question, 0 where it is not among the first ten."""
    paragraphs, questions = texts(language)
    plugin: Any = registry.load("stores", engine)
    store = plugin(plugin.Params(language=words), home)
    store.create("c", 0, Metric.COSINE)
    store.insert(Batch(np.arange(len(paragraphs)), texts=paragraphs))
    store.ready()
    found = [store.search_text(text, 10, plugin.Query()).ids.tolist() for text, _ in questions]
    store.close()
    return [
        ids.index(right) + 1 if right in ids else 0 for ids, (_, right) in zip(found, questions, strict=True)
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_language_of_paragraphs_is_detected(language: str) -> None:
    paragraphs, questions = texts(language)
    assert detect_language(paragraphs) == find_language(language)
    asked = [detect_language([text]) for text, _ in questions]
    assert sum(one == find_language(language) for one in asked) > 0.8 * len(asked)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_translation_has_about_as_many_tokens_and_sentences(language: str) -> None:
    german, other = texts("de")[0], texts(language)[0]
    assert 0.8 < sum(map(count_tokens, other)) / sum(map(count_tokens, german)) < 1.4
    counts = [
        sum(1 for text in part for _ in sentences(text, find_language(own)))
        for part, own in ((other, language), (german, "de"))
    ]
    assert 0.8 < counts[0] / counts[1] < 1.25
