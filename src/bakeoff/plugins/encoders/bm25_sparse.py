"""BM25 as sparse vectors: the inner product of query and chunk is the chunk's BM25 score."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from bakeoff.corpus import segmentation
from bakeoff.errors import EmbedderError
from bakeoff.fingerprint import fingerprint
from bakeoff.plugins.kit.bm25 import rarity, saturation
from bakeoff.plugins.kit.words import WordAnalyzer, WordParams
from bakeoff.types import ModelInfo, Role, SparseRows, VectorKind


class Bm25SparseEncoder:
    """Chunks hold saturated, length-normalised term frequencies; queries hold inverse document frequencies.

    Statistics come from the chunks it has read. Query words that occur in no chunk are dropped.
    """

    version: ClassVar[str] = f"1 with {segmentation.VERSION}"
    vectors: ClassVar[VectorKind] = "sparse"

    class Params(WordParams):
        """How texts are split into words, and BM25's parameters."""

        k1: Annotated[float, Field(ge=0, description="saturation of repeated words")] = 1.2
        b: Annotated[float, Field(ge=0, le=1, description="strength of length normalisation")] = 0.75

    def __init__(self, params: Params) -> None:
        self._params = params
        self._analyzer = WordAnalyzer(params.language, plain=params.words == "plain")
        self._terms: dict[str, int] = {}
        self._counts: tuple[list[tuple[str, int]], int, int] = ([], 0, 0)
        self._rarity, self._mean, self._statistics = np.empty(0), 0.0, ""

    def fit(self, texts: Iterable[str]) -> None:
        """Count the words of every chunk."""
        holding: Counter[str] = Counter()
        total = rows = 0
        for text in texts:
            found = self._count(text)
            holding.update(found.keys())
            total, rows = total + found.total(), rows + 1
        if not holding:
            raise EmbedderError(f"the {rows:,} chunks hold no word, so BM25 has nothing to weigh.")
        self._use(sorted(holding.items()), rows, total)

    def save_statistics(self) -> bytes:
        """Serialise each word's document frequency, the number of chunks, and their total words."""
        return json.dumps(self._counts).encode()

    def load_statistics(self, kept: bytes) -> None:
        """Load statistics that were saved before."""
        holding, rows, total = json.loads(kept)
        self._use([(word, count) for word, count in holding], rows, total)

    def _use(self, holding: list[tuple[str, int]], rows: int, total: int) -> None:
        self._counts = (holding, rows, total)
        words, found = [word for word, _ in holding], [float(count) for _, count in holding]
        self._terms = {word: place for place, word in enumerate(words)}
        self._rarity, self._mean = rarity(np.array(found, np.float64), rows), total / rows
        self._statistics = fingerprint(
            "bm25 statistics", self._params.language or "", words, found, rows, total
        )

    @property
    def info(self) -> ModelInfo:
        """Identity of these weights: the corpus statistics."""
        return ModelInfo(
            name="BM25",
            dims=len(self._terms),
            max_tokens=None,
            revision=self.version,
            weights=self._statistics,
            normalised=False,
        )

    def embed(self, texts: Sequence[str], role: Role) -> SparseRows:
        """Return one sparse row per text, in order."""
        if not self._terms:
            raise EmbedderError("BM25 has read no chunks: call `fit` before `embed`.")
        weigh = self._query_row if role is Role.QUERY else self._chunk_row
        rows = [weigh(self._count(text)) for text in texts]
        counts = [len(terms) for terms, _ in rows]
        return SparseRows(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.concatenate([np.empty(0, np.int32), *(terms for terms, _ in rows)]).astype(np.int32),
            np.concatenate([np.empty(0), *(weights for _, weights in rows)]).astype(np.float32),
            len(self._terms),
        )

    def close(self) -> None:
        """Nothing to release."""

    def _count(self, text: str) -> Counter[str]:
        return Counter(self._analyzer.terms(text))

    def _count_known(self, words: Counter[str]) -> tuple[np.ndarray, np.ndarray]:
        """Known terms of a text, ascending, and their frequencies."""
        found = sorted((self._terms[word], times) for word, times in words.items() if word in self._terms)
        terms, times = np.array(found, np.float64).reshape(-1, 2).T
        return terms.astype(np.int32), times

    def _query_row(self, words: Counter[str]) -> tuple[np.ndarray, np.ndarray]:
        terms, times = self._count_known(words)
        return terms, self._rarity[terms] * times

    def _chunk_row(self, words: Counter[str]) -> tuple[np.ndarray, np.ndarray]:
        terms, times = self._count_known(words)
        length = words.total() / self._mean
        return terms, saturation(times, length, self._params.k1, self._params.b)
