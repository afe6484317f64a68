"""Postings, embedded: keyword search by BM25 whose k1 and b are chosen with the query; one index serves all."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from bakeoff.corpus import segmentation
from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import Settings, installed_engine, require_open
from bakeoff.plugins.kit.sidecar import SidecarPayloads
from bakeoff.plugins.kit.words import WORDS_ONLY, WordParams, analyzer, space_words
from bakeoff.types import Batch, Hits, Metric, PayloadField, Where

Arrays = dict[str, np.ndarray]
"""`ids` and `lengths` of the rows; from `starts` of a word on, the `rows` that hold it and their `counts`."""


def invert(places: dict[str, int], texts: list[tuple[int, Counter[str]]]) -> Arrays:
    """Rows of an id and its words, turned into rows of each word, whose place is given."""
    pairs = [(places[w], row, n) for row, (_, c) in enumerate(texts) for w, n in c.items()]
    words, rows, counts = np.array(pairs, np.int64).reshape(-1, 3).T
    order = np.lexsort((rows, words))
    return {
        "ids": np.array([number for number, _ in texts], np.int64),
        "lengths": np.array([found.total() for _, found in texts], np.float64),
        "starts": np.searchsorted(words[order], np.arange(len(places) + 1)),
        "rows": rows[order].astype(np.int32),
        "counts": counts[order].astype(np.float32),
    }


def gain(arrays: Arrays, place: int, k1: float, b: float) -> tuple[np.ndarray, np.ndarray]:
    """The rows that hold a word, and what it adds to each one's score.

    ln(1 + (N − n + ½) / (n + ½)) · tf (k1 + 1) / (tf + k1 (1 − b + b · length / mean)).
    """
    lengths, starts = arrays["lengths"], arrays["starts"]
    part = slice(starts[place], starts[place + 1])
    rows, counts = arrays["rows"][part], arrays["counts"][part].astype(np.float64)
    rarity = np.log1p((len(lengths) - len(rows) + 0.5) / (len(rows) + 0.5))
    long = 1 - b + b * lengths[rows] / lengths.mean()
    return rows, rarity * counts * (k1 + 1) / (counts + k1 * long)


def best(ids: np.ndarray, scores: np.ndarray, k: int) -> Hits:
    """The k best rows that hold a word; equal scores in the order of their ids."""
    found = np.flatnonzero(scores)
    if len(found) > k:
        edge = np.partition(scores[found], len(found) - k)[len(found) - k]
        found = found[scores[found] >= edge]
    order = found[np.lexsort((ids[found], -scores[found]))][:k]
    return Hits(ids[order], scores[order])


ARRAYS = ("ids", "lengths", "starts", "rows", "counts")


class Bm25Query(Settings):
    """What shapes a score."""

    k1: Annotated[float, Field(ge=0, description="how soon repeats count less")] = 1.2
    b: Annotated[float, Field(ge=0, le=1, description="how much length counts")] = 0.75


class PostingsStore:
    """For each word the rows that hold it and how often; a row's length is its number of words."""

    version: ClassVar[str] = f"2 with {segmentation.VERSION}"
    Params = WordParams
    Query = Bm25Query
    gaps: ClassVar[dict[str, str]] = WORDS_ONLY

    def __init__(self, params: WordParams, home: Path) -> None:
        self._home, self._analyzer = home, analyzer(params.words)
        self._sidecar = SidecarPayloads(home / "payloads.feather")
        self._words: dict[str, int] = {}
        self._made: list[tuple[int, Counter[str]]] = []
        self._arrays: Arrays = {}

    def engine_version(self) -> str:
        return installed_engine("numpy")

    def declare(self, fields: tuple[PayloadField, ...]) -> None:
        self._sidecar.declare(fields)

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._sidecar.clear()
        self._words, self._made, self._arrays = {}, [], {}

    def insert(self, batch: Batch) -> None:
        assert batch.texts is not None
        for number, text in zip(batch.ids.tolist(), batch.texts, strict=True):
            self._made.append((number, Counter(self._analyzer.analyze(space_words(text)))))
        self._sidecar.add(batch)

    def ready(self) -> None:
        for _, found in self._made:
            for word in found:
                self._words.setdefault(word, len(self._words))
        self._arrays = invert(self._words, self._made)
        self._made = []
        self._save()

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        try:
            self._words = json.loads((self._home / "words.json").read_bytes())
            self._arrays = {name: np.load(self._home / f"{name}.npy") for name in ARRAYS}
        except (OSError, ValueError) as exc:
            raise StoreError(f"postings cannot open their index: {exc}") from exc
        self._sidecar.load()
        return len(self._arrays["ids"])

    def search_text(self, text: str, k: int, query: Bm25Query) -> Hits:
        scores = self._scores(text, query)
        return best(self._arrays["ids"], scores, k)

    def search_text_where(self, text: str, k: int, query: Bm25Query, where: Where) -> Hits:
        scores = self._scores(text, query)
        scores[~np.isin(self._arrays["ids"], self._sidecar.allowed(where))] = 0.0
        return best(self._arrays["ids"], scores, k)

    def payloads(self, ids: np.ndarray) -> list[dict[str, str | int | float]]:
        return self._sidecar.payloads(ids)

    def close(self) -> None:
        self._words, self._made, self._arrays = {}, [], {}
        self._sidecar.clear()

    def _scores(self, text: str, query: Bm25Query) -> np.ndarray:
        """BM25 of every row."""
        require_open("postings", self._arrays or None)
        scores = np.zeros(len(self._arrays["lengths"]))
        for word, times in Counter(self._analyzer.analyze(space_words(text))).items():
            place = self._words.get(word)
            if place is not None:
                rows, gained = gain(self._arrays, place, query.k1, query.b)
                scores[rows] += times * gained
        return scores

    def _save(self) -> None:
        self._home.mkdir(parents=True, exist_ok=True)
        (self._home / "words.json").write_text(json.dumps(self._words), encoding="utf-8")
        for name, array in self._arrays.items():
            np.save(self._home / f"{name}.npy", array)
        self._sidecar.save()
