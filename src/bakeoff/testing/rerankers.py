"""The contract of rerankers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
import pytest

from bakeoff.errors import ModelNotFoundError
from bakeoff.protocols import Reranker
from bakeoff.testing.contracts import PluginContract

PASSAGES = [
    "the cat sleeps on the sofa",
    "quarterly tax returns are due",
    "a kitten naps on the couch",
    "",
    "🗼 東京",
]


class RerankerContract(PluginContract):
    """One finite score per passage, in order, reproducible, for any texts."""

    kind = "rerankers"

    @pytest.fixture
    def reranker(self) -> Iterator[Reranker]:
        plugin = cast("type[Reranker]", self.plugin())
        reranker = plugin(plugin.Params(**self.params))
        try:
            reranker.rerank("a", ["b"])
        except ModelNotFoundError as exc:
            pytest.skip(str(exc))
        yield reranker
        reranker.close()

    def test_one_finite_score_a_passage(self, reranker: Reranker) -> None:
        scores = np.asarray(reranker.rerank("where does the cat sleep?", PASSAGES))
        assert scores.shape == (len(PASSAGES),) and np.isfinite(scores).all()

    def test_no_passages(self, reranker: Reranker) -> None:
        assert len(reranker.rerank("a query", [])) == 0

    def test_same_twice(self, reranker: Reranker) -> None:
        first, second = (np.asarray(reranker.rerank("cats", PASSAGES)) for _ in range(2))
        assert first.tobytes() == second.tobytes()

    def test_odd_texts(self, reranker: Reranker) -> None:
        odd = ["\x00", "word " * 5000, "x" * 100_000, "\n\n"]
        scores = np.asarray(reranker.rerank("", odd))
        assert scores.shape == (len(odd),) and np.isfinite(scores).all()

    def test_closing_twice(self, reranker: Reranker) -> None:
        reranker.close()
        reranker.close()
