"""Search by words, and by words and vector together."""

from __future__ import annotations

import numpy as np

from bakeoff.testing.store_fixture import StoreFixture, Suite, expect
from bakeoff.types import Batch, Metric

suite = Suite()
NAME = "contract_texts"
TEXTS = ["the red apple", "a green pear", "red red wine, 東京", ""]


@suite.check("keywords")
def finds_words(bench: StoreFixture) -> None:
    """Texts alone, as in a keyword index: dimension 0."""
    store = bench.make()
    store.create(NAME, 0, Metric.COSINE)
    store.insert(Batch(np.arange(10, 14, dtype=np.int64), texts=TEXTS))
    store.ready()

    def found(text: str) -> list[int]:
        return list(store.search_text(text, 10, bench.query()).ids.tolist())

    expect(found("red")[:1] in ([10], [12]), f"'red' finds {found('red')}.")
    expect({*found("red apple")} == {10, 12}, f"'red apple' finds {found('red apple')}, not 10 and 12.")
    expect(found("") == [], f"no words find {found('')}.")
    expect(found('AND ( "') == [], "signs of a query language are taken for words.")
    if bench.has("reopen"):
        store.close()
        store = bench.make()
        held = store.open(NAME, 0, Metric.COSINE)
        expect(held == len(TEXTS), f"{held} of {len(TEXTS)} texts are there when it is opened again.")
        expect({*found("red apple")} == {10, 12}, "words are not found when it is opened again.")


@suite.check("hybrid")
def fuses_words_and_vector(bench: StoreFixture) -> None:
    """The best by words and the best by vector are both among the first of many rows."""
    store, rows = bench.make(), bench.vectors(60)
    texts = [f"plain words number {i}" for i in range(60)]
    texts[41] = "an unmistakable zeppelin"
    store.create(NAME, bench.dims, Metric.COSINE)
    store.insert(Batch(np.arange(100, 160, dtype=np.int64), vectors=rows, texts=texts))
    store.ready()
    hits = store.search_hybrid("zeppelin", rows[7], 10, bench.query())
    ids = hits.ids.tolist()
    expect(len(ids) == 10 and len({*ids}) == 10, f"10 rows were due, {ids} came.")
    expect((np.diff(hits.scores) <= 1e-6).all(), f"scores do not fall: {hits.scores.tolist()}.")
    expect({107, 141} <= {*ids[:3]}, f"107 (by vector) and 141 (by words) are not among the first: {ids}.")
