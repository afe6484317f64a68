"""Postings, embedded: BM25 whose k1 and b are chosen with the query, and exact search of sparse vectors."""

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
from bakeoff.plugins.kit.bm25 import rarity, saturation
from bakeoff.plugins.kit.encoded import require_terms, require_weights
from bakeoff.plugins.kit.sidecar import SidecarPayloads
from bakeoff.plugins.kit.words import WORDS_ONLY, WordAnalyzer, WordParams
from bakeoff.types import Batch, Hits, Metric, PayloadField, SparseVector, VectorKind, Where

Arrays = dict[str, np.ndarray]
"""`ids` and `lengths` of the rows; from a word's `starts` on, the `rows` that contain it and their `counts`."""


def invert(places: dict[str, int], texts: list[tuple[int, Counter[str]]]) -> Arrays:
    """Invert rows of id and words into rows per word, whose position is given."""
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
    """The rows that contain a word, and what it adds to each one's score."""
    lengths, starts = arrays["lengths"], arrays["starts"]
    part = slice(starts[place], starts[place + 1])
    rows, counts = arrays["rows"][part], arrays["counts"][part].astype(np.float64)
    rare = rarity(len(rows), len(lengths))
    return rows, rare * saturation(counts, lengths[rows] / lengths.mean(), k1, b)


def best(ids: np.ndarray, scores: np.ndarray, k: int) -> Hits:
    """The k best rows with a word; ties are broken by id."""
    found = np.flatnonzero(scores)
    if len(found) > k:
        edge = np.partition(scores[found], len(found) - k)[len(found) - k]
        found = found[scores[found] >= edge]
    order = found[np.lexsort((ids[found], -scores[found]))][:k]
    return Hits(ids[order], scores[order])


def invert_sparse(batches: list[Batch], dims: int) -> Arrays:
    """Invert sparse vectors into rows per term; `counts` are the weights."""
    held = [batch.sparse for batch in batches if batch.sparse is not None]
    rows = np.repeat(
        np.arange(sum(map(len, held)), dtype=np.int32),
        np.concatenate([np.empty(0, np.int64), *(np.diff(one.starts) for one in held)]),
    )
    terms = np.concatenate([np.empty(0, np.int32), *(one.terms for one in held)])
    order = np.argsort(terms, kind="stable")
    return {
        "ids": np.concatenate([np.empty(0, np.int64), *(batch.ids for batch in batches)]),
        "lengths": np.empty(0),
        "starts": np.searchsorted(terms[order], np.arange(dims + 1)),
        "rows": rows[order],
        "counts": np.concatenate([np.empty(0, np.float32), *(one.weights for one in held)])[order],
    }


ARRAYS = ("ids", "lengths", "starts", "rows", "counts")


class Bm25Query(Settings):
    """BM25 parameters."""

    k1: Annotated[float, Field(ge=0, description="saturation of repeated words")] = 1.2
    b: Annotated[float, Field(ge=0, le=1, description="strength of length normalisation")] = 0.75


class PostingsStore:
    """For each word, the rows that contain it and how often; a row's length is its number of words.

    For sparse vectors, the rows of each term and its weights.
    """

    version: ClassVar[str] = f"2 with {segmentation.VERSION}"
    Params = WordParams
    Query = Bm25Query
    gaps: ClassVar[dict[str, str]] = WORDS_ONLY

    def __init__(self, params: WordParams, home: Path) -> None:
        self._home = home
        self._analyzer = WordAnalyzer(params.language, plain=params.words == "plain")
        self._sidecar = SidecarPayloads(home / "payloads.feather")
        self._words: dict[str, int] = {}
        self._word_counts: list[tuple[int, Counter[str]]] = []
        self._arrays: Arrays = {}
        self._batches: list[Batch] = []
        self._sparse, self._dims = False, 0

    def hold(self, kind: VectorKind) -> None:
        """Declare words or sparse vectors."""
        self._sparse = kind == "sparse"

    def engine_version(self) -> str:
        return installed_engine("numpy")

    def declare(self, fields: tuple[PayloadField, ...]) -> None:
        self._sidecar.declare(fields)

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self.close()
        self._dims = dims

    def insert(self, batch: Batch) -> None:
        self._sidecar.add(batch)
        if self._sparse:
            require_weights("postings", batch)
            self._batches.append(batch)
            return
        assert batch.texts is not None
        for number, text in zip(batch.ids.tolist(), batch.texts, strict=True):
            self._word_counts.append((number, Counter(self._analyzer.terms(text))))

    def ready(self) -> None:
        for _, found in self._word_counts:
            for word in found:
                self._words.setdefault(word, len(self._words))
        self._arrays = (
            invert_sparse(self._batches, self._dims)
            if self._sparse
            else invert(self._words, self._word_counts)
        )
        self._word_counts, self._batches = [], []
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
        scores[~np.isin(self._arrays["ids"], self._sidecar.matching_ids(where))] = 0.0
        return best(self._arrays["ids"], scores, k)

    def search_sparse(self, vector: SparseVector, k: int, query: Bm25Query, where: Where = ()) -> Hits:
        arrays = require_open("postings", self._arrays or None)
        require_terms("postings", len(arrays["starts"]) - 1, vector)
        scores = np.zeros(len(arrays["ids"]))
        for term, weight in zip(vector.terms.tolist(), vector.weights.astype(np.float64), strict=True):
            part = slice(arrays["starts"][term], arrays["starts"][term + 1])
            scores[arrays["rows"][part]] += weight * arrays["counts"][part]
        if where:
            scores[~np.isin(arrays["ids"], self._sidecar.matching_ids(where))] = 0.0
        return best(arrays["ids"], scores, k)

    def payloads(self, ids: np.ndarray) -> list[dict[str, str | int | float]]:
        return self._sidecar.payloads(ids)

    def close(self) -> None:
        self._words, self._word_counts, self._arrays, self._batches = {}, [], {}, []
        self._sidecar.clear()

    def _scores(self, text: str, query: Bm25Query) -> np.ndarray:
        """BM25 score of every row."""
        require_open("postings", self._arrays or None)
        scores = np.zeros(len(self._arrays["lengths"]))
        for word, times in Counter(self._analyzer.terms(text)).items():
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
