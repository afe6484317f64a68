from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.errors import StoreError
from bakeoff.types import Batch, Metric

TANTIVY = registry.load("stores", "tantivy")
TEXTS = [
    "The runner was running through the rain",
    "runs and a run",
    "Überprüfung der Größe",
    "東京 タワー",
    "def parse_args(argv): return argv",
    "the of and",
]


def filled(home: Path, texts: list[str] = TEXTS, **params: Any) -> Any:
    store = TANTIVY(TANTIVY.Params(**params), home)
    store.create("c", 0, Metric.COSINE)
    store.insert(Batch(np.arange(len(texts)), texts=texts))
    store.ready()
    return store


def found(store: Any, words: str, k: int = 10) -> list[int]:
    return store.search_text(words, k, TANTIVY.Query()).ids.tolist()


def test_english_words_are_stemmed_and_stop_words_left_out(tmp_path: Path) -> None:
    store = filled(tmp_path)
    assert set(found(store, "run")) == {0, 1}
    assert found(store, "the of") == []


def test_plain_words_are_only_lower_cased(tmp_path: Path) -> None:
    store = filled(tmp_path, words="plain")
    assert found(store, "RUN") == [1]
    assert 5 in found(store, "the")


@pytest.mark.parametrize("words", ["größe", "GRÖSSE größe", "Überprüfung"])
def test_letters_beyond_ascii(tmp_path: Path, words: str) -> None:
    assert found(filled(tmp_path), words) == [2]


@pytest.mark.parametrize(
    "words", ['"', "AND OR NOT", "text:run*", "(((", "+-&&||!{}[]^~?\\/", "\x00", "argv^2"]
)
def test_no_word_is_syntax(tmp_path: Path, words: str) -> None:
    assert isinstance(found(filled(tmp_path), words), list)


def test_equal_scores_come_in_the_order_of_insertion_every_time(tmp_path: Path) -> None:
    texts = ["same words here"] * 300
    orders = [found(filled(tmp_path / str(n), texts), "same words", 50) for n in range(3)]
    assert orders[0] == orders[1] == orders[2] == list(range(50))


def test_scores_are_bm25_with_the_constants_it_says(tmp_path: Path) -> None:
    texts = ["alpha beta", "alpha alpha gamma", "delta epsilon zeta eta", "alpha"]
    hits = filled(tmp_path, texts, words="plain").search_text("alpha", 10, TANTIVY.Query())
    lengths = [len(text.split()) for text in texts]
    mean, n, df = np.mean(lengths), len(texts), 3
    idf = np.log(1 + (n - df + 0.5) / (df + 0.5))
    for row, score in zip(hits.ids.tolist(), hits.scores.tolist(), strict=True):
        tf = texts[row].split().count("alpha")
        wanted = idf * tf * 2.2 / (tf + 1.2 * (1 - 0.75 + 0.75 * lengths[row] / mean))
        assert score == pytest.approx(wanted, rel=1e-4)


def test_opening_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        TANTIVY(TANTIVY.Params(), tmp_path).open("c", 0, Metric.COSINE)
