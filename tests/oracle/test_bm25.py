"""BM25 against its formula written out, one word at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.types import Batch, Condition, Metric, PayloadField

WORDS = [f"{a}{b}{c}q" for a in "bcdfg" for b in "aiou" for c in "klmnp"]
FIELDS = (PayloadField("year", "integer"), PayloadField("kind", "text"), PayloadField("share", "number"))
ROWS = 300


def texts(longest: int = 39) -> list[str]:
    generator = np.random.default_rng(5)
    sizes = generator.integers(1, longest + 1, ROWS)
    weights = 1 / np.arange(1, len(WORDS) + 1)
    return [" ".join(generator.choice(WORDS, size, p=weights / weights.sum())) for size in sizes]


def payloads() -> list[dict[str, Any]]:
    generator = np.random.default_rng(6)
    kinds = ["python", "sql", "Straße & Weg"]
    return [
        {
            "year": 1990 + int(generator.integers(30)),
            "kind": kinds[generator.integers(3)],
            "share": generator.random(),
        }
        for _ in range(ROWS)
    ]


def by_formula(corpus: list[str], query: str, k1: float, b: float) -> dict[int, float]:
    cut = [text.split() for text in corpus]
    mean = sum(map(len, cut)) / len(cut)
    scores: dict[int, float] = {}
    for word in query.split():
        holders = [row for row, words in enumerate(cut) if word in words]
        idf = math.log(1 + (len(cut) - len(holders) + 0.5) / (len(holders) + 0.5))
        for row in holders:
            tf = cut[row].count(word)
            part = idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(cut[row]) / mean))
            scores[row] = scores.get(row, 0.0) + part
    return scores


@pytest.fixture(params=["tantivy", "postings"])
def engine(request: Any, tmp_path: Path) -> Callable[[list[str]], Any]:
    """An engine over plain words with a payload, closed and opened again."""
    plugin = registry.load("stores", request.param)

    def opened(corpus: list[str]) -> Any:
        made = plugin(plugin.Params(words="plain"), tmp_path)
        made.declare(FIELDS)
        made.create("c", 0, Metric.COSINE)
        made.insert(Batch(np.arange(len(corpus)), texts=corpus, payloads=payloads()[: len(corpus)]))
        made.ready()
        made.close()
        again = plugin(plugin.Params(words="plain"), tmp_path)
        again.declare(FIELDS)
        assert again.open("c", 0, Metric.COSINE) == len(corpus)
        return again

    return opened


def same(hits: Any, wanted: dict[int, float], k: int) -> None:
    best = sorted(wanted.values(), reverse=True)[:k]
    assert hits.scores.tolist() == pytest.approx(best, rel=1e-5)
    assert [wanted[row] for row in hits.ids.tolist()] == pytest.approx(hits.scores.tolist(), rel=1e-5)


@pytest.mark.parametrize("query", ["bakq", "bakq bakq balq", "galq zzz bakq gapq fukq", "zzz"])
def test_both_engines_are_the_formula_at_the_usual_values(engine: Any, query: str) -> None:
    store = engine(texts())  # Tantivy rounds lengths above 40 words
    same(store.search_text(query, 20, store.Query()), by_formula(texts(), query, 1.2, 0.75), 20)


@pytest.mark.parametrize(("k1", "b"), [(0.9, 0.4), (0.0, 0.75), (2.0, 0.0), (1.2, 1.0), (1.2, 0.75)])
def test_postings_are_the_formula_at_any_values(tmp_path: Path, k1: float, b: float) -> None:
    plugin = registry.load("stores", "postings")
    corpus = texts(longest=400)
    store = plugin(plugin.Params(words="plain"), tmp_path)
    store.create("c", 0, Metric.COSINE)
    for begin in (0, 100, 200):
        store.insert(Batch(np.arange(begin, begin + 100), texts=corpus[begin : begin + 100]))
    store.ready()
    for query in ("bakq balq", "gapq fukq doopq bimq", " ".join(WORDS[:30])):
        same(store.search_text(query, 500, plugin.Query(k1=k1, b=b)), by_formula(corpus, query, k1, b), 500)


@pytest.mark.parametrize(
    "where",
    [
        (Condition("kind", ("python",)),),
        (Condition("kind", ("sql", "Straße & Weg")), Condition("share", most=0.5)),
        (Condition("year", least=2000, most=2004.5),),
        (Condition("year", (1990, 2001, 2002)),),
        (Condition("year", (), 1.0, 0.0),),
    ],
)
def test_a_filter_leaves_rows_out_and_changes_no_score(engine: Any, where: Any) -> None:
    store, beside = engine(texts()), payloads()

    def holds(row: int) -> bool:
        return all(
            (not one.among or beside[row][one.field] in one.among)
            and (one.least is None or beside[row][one.field] >= one.least)
            and (one.most is None or beside[row][one.field] <= one.most)
            for one in where
        )

    for query in ("bakq", "bakq balq bamq"):
        wanted = {r: s for r, s in by_formula(texts(), query, 1.2, 0.75).items() if holds(r)}
        same(store.search_text_where(query, 15, store.Query(), where), wanted, 15)


def test_no_rows_and_no_words(engine: Any) -> None:
    store = engine([])
    assert len(store.search_text("bakq", 5, store.Query()).ids) == 0
    assert len(engine(texts()).search_text("", 5, store.Query()).ids) == 0
