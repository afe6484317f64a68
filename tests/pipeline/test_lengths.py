from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.lengths import token_lengths, tokens_read, truncation_note, unread_note
from bakeoff.runtime.events import WarningRaised
from bakeoff.types import ModelInfo, Role


class Words:
    """An embedder that counts words and reads at most `limit` of them."""

    def __init__(self, limit: int | None) -> None:
        self.info = ModelInfo("words", 2, limit, "1", "none", False)
        self.counted = 0

    def embed(self, texts: list[str], role: Role) -> np.ndarray:
        return np.zeros((len(texts), 2), np.float32)

    def count_tokens(self, texts: list[str]) -> list[int]:
        self.counted += len(texts)
        return [len(text.split()) for text in texts]

    def close(self) -> None: ...


def test_what_a_limit_cuts_off_is_counted_once_and_said(bench: Any, part: Any) -> None:
    said: list[Any] = []
    context = StageContext(bench.context.cache, said.append)
    chunking, model = bench.chunking("whole"), Words(10)
    found = token_lengths(part("embedders/wordllama"), model, chunking, context)
    texts = [
        c + t for c, t in zip(*(chunking.chunks[n].to_pylist() for n in ("context", "text")), strict=True)
    ]
    words = np.array([len(text.split()) for text in texts])
    assert found is not None
    assert found.cut == pytest.approx(np.maximum(words - 10, 0).sum() / words.sum())
    assert found.cut_chunks == pytest.approx((words > 10).mean())
    assert found.quantiles[0] == words.min() and found.quantiles[4] == words.max()
    assert [event.message for event in said if isinstance(event, WarningRaised)] == [truncation_note(found)]
    counted = model.counted
    assert token_lengths(part("embedders/wordllama"), model, chunking, context) == found
    assert model.counted == counted


class FirstWords(Words):
    """An embedder whose vectors depend on the first `reads` words only."""

    def __init__(self, limit: int, reads: int) -> None:
        super().__init__(limit)
        self.reads = reads

    def embed(self, texts: list[str], role: Role) -> np.ndarray:
        heads = [" ".join(text.split()[: self.reads]) for text in texts]
        return np.array([[len(head), 1.0] for head in heads], np.float32)


@pytest.mark.parametrize(("limit", "reads", "expected"), [(40, 12, 12), (40, 40, None), (40, 100, None)])
def test_a_model_that_reads_less_than_it_declares_is_noticed(
    limit: int, reads: int, expected: int | None
) -> None:
    text = " ".join(f"word{i}" for i in range(60))
    assert tokens_read(FirstWords(limit, reads), text) == expected


def test_a_run_warns_about_the_end_that_is_not_read(bench: Any, part: Any) -> None:
    said: list[Any] = []
    context = StageContext(bench.context.cache, said.append)
    found = token_lengths(part("embedders/wordllama"), FirstWords(500, 9), bench.chunking("whole"), context)
    assert found is not None and found.read == 9
    assert [event.message for event in said if isinstance(event, WarningRaised)] == [unread_note(found)]


def test_no_limit_cuts_nothing(bench: Any, part: Any) -> None:
    found = token_lengths(part("embedders/wordllama"), Words(None), bench.chunking("whole"), bench.context)
    assert found is not None and found.cut == 0 and found.cut_chunks == 0


def test_a_model_that_cannot_count_says_nothing(bench: Any, part: Any) -> None:
    class Silent:
        info = ModelInfo("silent", 2, 5, "1", "none", False)

    assert (
        token_lengths(part("embedders/wordllama"), Silent(), bench.chunking("whole"), bench.context) is None
    )  # type: ignore[arg-type]
