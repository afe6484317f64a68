"""A model that changed under its name is found by its vectors of fixed texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.config.plan import PluginSpec
from bakeoff.errors import EmbedderError
from bakeoff.pipeline.canary import TEXTS, Canary, changed_models, check_canary, make_canary, read_canary
from bakeoff.storage.cache import Cache
from bakeoff.types import Role

REAL = registry.load("embedders", "wordllama")
PART = PluginSpec("embedders", "wordllama", "words", REAL.Params(dims=64))


class Changed(REAL):
    """WordLlama whose vectors are turned, shortened or spoilt."""

    change: Any = staticmethod(lambda rows: rows)

    def embed(self, texts: Any, role: Role) -> np.ndarray:
        return self.change(super().embed(texts, role))


def canary(change: Any = lambda rows: rows, own: Sequence[str] = ()) -> Canary | None:
    model = Changed(PART.params)
    model.change = change
    return make_canary(PART, model, own)


def turned(rows: np.ndarray) -> np.ndarray:
    return rows[:, ::-1]


def test_a_canary_survives_its_file() -> None:
    one = canary()
    assert one is not None and one.vectors.shape == (len(TEXTS), 64)
    again = read_canary(one.embedder, one.model, one.identity, one.to_base64())
    assert np.abs(again.vectors - one.vectors).max() < 1e-3
    assert changed_models([one], [again]) == []


def test_other_vectors_under_the_same_name_are_reported() -> None:
    before, after = canary(), canary(turned)
    assert before is not None and after is not None
    (sentence,) = changed_models([before], [after])
    assert "wordllama-l2-supercat" in sentence
    assert changed_models([replace(before, model="another")], [after]) == []
    shorter = replace(after, vectors=after.vectors[:, :32])
    assert "32 numbers instead of 64" in changed_models([before], [shorter])[0]


def test_a_little_noise_is_not_a_change() -> None:
    before, after = canary(), canary(lambda rows: rows + np.float32(1e-4))
    assert before is not None and after is not None
    assert changed_models([before], [after]) == []


def test_a_run_compares_with_what_the_cache_was_made_by(tmp_path: Path) -> None:
    cache, before, after = Cache(tmp_path), canary(), canary(turned)
    assert before is not None and after is not None
    assert check_canary(cache, PART, before) == ""
    assert check_canary(cache, PART, before) == ""
    for _ in range(2):  # the cache still holds the old model's vectors
        assert "--stage" in check_canary(cache, PART, after)
    other = replace(after, identity="other weights")
    assert "this name" in check_canary(cache, PART, other)
    assert check_canary(cache, PART, other) == ""  # nothing of the old weights is reused


@pytest.mark.parametrize("own", [[], ["one chunk"], ["a chunk", "another", "a third one"]])
def test_vectors_that_are_all_alike_are_an_error(own: list[str]) -> None:
    with pytest.raises(EmbedderError, match="10"):
        canary(np.ones_like, own)


def test_a_model_that_knows_no_word_of_the_fixed_texts_may_know_the_users() -> None:
    found = canary(
        lambda rows: np.ones_like(rows) if len(rows) == len(TEXTS) else rows, ["MKTAYIAK", "GAVLIPFW"]
    )
    assert found is not None and np.ptp(found.vectors) == 0


@pytest.mark.parametrize(
    "change", [lambda rows: rows * np.nan, lambda rows: rows[:, :3], lambda rows: rows[:2]]
)
def test_spoilt_vectors_are_left_to_the_check_of_the_users_texts(change: Any) -> None:
    assert canary(change) is None
