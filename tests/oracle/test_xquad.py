"""XQuAD: the same paragraphs and questions in six languages, so that counts and scores can be compared."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.corpus.segmentation import count_tokens, sentences
from bakeoff.types import Batch, Metric

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "xquad"
LANGUAGES = ("ar", "de", "hi", "ru", "th", "zh")

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


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("engine", ["tantivy", "postings"])
def test_keyword_search_answers_questions_in_every_language(
    engine: str, language: str, tmp_path: Path
) -> None:
    paragraphs, questions = texts(language)
    plugin: Any = registry.load("stores", engine)
    store = plugin(plugin.Params(), tmp_path)
    store.create("c", 0, Metric.COSINE)
    store.insert(Batch(np.arange(len(paragraphs)), texts=paragraphs))
    store.ready()
    found = [store.search_text(text, 10, plugin.Query()).ids.tolist() for text, _ in questions]
    store.close()
    assert len(questions) == 1190
    assert sum(bool(ids) for ids in found) > 0.98 * len(questions)
    recall = sum(right in ids for ids, (_, right) in zip(found, questions, strict=True)) / len(questions)
    assert recall > 0.9  # by chance it would be 10 of 240


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_translation_has_about_as_many_tokens_and_sentences(language: str) -> None:
    german, other = texts("de")[0], texts(language)[0]
    assert 0.8 < sum(map(count_tokens, other)) / sum(map(count_tokens, german)) < 1.4
    counts = [sum(1 for text in part for _ in sentences(text)) for part in (other, german)]
    assert 0.8 < counts[0] / counts[1] < 1.25
