"""BM25 as sparse vectors: weights by hand, and the scores of the store of postings."""

from pathlib import Path

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.errors import EmbedderError
from bakeoff.plugins.encoders.bm25_sparse import Bm25SparseEncoder
from bakeoff.types import Batch, Metric, Role

TEXTS = ["red apple red", "green apple", "a blue whale swims in the blue sea", "", "the of and"]


def encoder(*texts: str, **params: object) -> Bm25SparseEncoder:
    made = Bm25SparseEncoder(Bm25SparseEncoder.Params(**params))
    made.fit(texts)
    return made


def test_weights_are_those_of_the_formula() -> None:
    made = encoder("red apple red", "green apple", words="plain", k1=1.2, b=0.75)
    assert made.info.dims == 3
    terms, weights = (
        getattr(made.embed(["red apple red"], Role.DOCUMENT).row(0), n) for n in ("terms", "weights")
    )
    length = 1 - 0.75 + 0.75 * 3 / 2.5
    expected = {0: 1 * 2.2 / (1 + 1.2 * length), 2: 2 * 2.2 / (2 + 1.2 * length)}  # apple, green, red
    assert terms.tolist() == [0, 2] and weights == pytest.approx([*expected.values()])
    asked = made.embed(["red unknown red"], Role.QUERY).row(0)
    assert asked.terms.tolist() == [2]
    assert asked.weights == pytest.approx([2 * np.log1p((2 - 1 + 0.5) / (1 + 0.5))])


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.0, 0.0), (2.5, 1.0)])
def test_products_are_the_scores_of_postings(tmp_path: Path, k1: float, b: float) -> None:
    plugin = registry.load("stores", "postings")
    made, ids = encoder(*TEXTS, k1=k1, b=b), np.arange(len(TEXTS), dtype=np.int64)
    by_words, by_vectors = (plugin(plugin.Params(), tmp_path / name) for name in ("words", "vectors"))
    by_vectors.hold("sparse")
    by_words.create("x", 0, Metric.COSINE)
    by_words.insert(Batch(ids, texts=TEXTS))
    by_vectors.create("x", made.info.dims, Metric.DOT)
    by_vectors.insert(Batch(ids, sparse=made.embed(TEXTS, Role.DOCUMENT)))
    for store in (by_words, by_vectors):
        store.ready()
    for text in ("red apple", "blue blue whale", "nothing known", ""):
        words = by_words.search_text(text, 10, plugin.Query(k1=k1, b=b))
        vectors = by_vectors.search_sparse(made.embed([text], Role.QUERY).row(0), 10, plugin.Query())
        assert vectors.ids.tolist() == words.ids.tolist()
        assert vectors.scores == pytest.approx(words.scores, rel=1e-6)


def test_statistics_of_another_corpus_are_another_model() -> None:
    one, same, other = encoder("red apple"), encoder("red apple"), encoder("red apples and pears", "red")
    assert one.info == same.info and one.info.weights != other.info.weights


def test_saved_counts_give_the_same_vectors() -> None:
    one = encoder(*TEXTS)
    other = Bm25SparseEncoder(Bm25SparseEncoder.Params())
    other.load_statistics(one.save_statistics())
    assert other.info == one.info
    for role in (Role.QUERY, Role.DOCUMENT):
        assert other.embed(TEXTS, role).weights.tolist() == one.embed(TEXTS, role).weights.tolist()


def test_a_corpus_without_a_word_is_refused() -> None:
    with pytest.raises(EmbedderError, match="no word"):
        encoder("", "…")
    with pytest.raises(EmbedderError, match="fit"):
        Bm25SparseEncoder(Bm25SparseEncoder.Params()).embed(["x"], Role.QUERY)
