"""bakeoff test store as a user types it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.types import Hits


def test_a_sound_store_is_measured(cli: Any) -> None:
    done = cli("test", "store", "exact", "--json")
    assert done.code == 0
    states = {row["check"]: row["state"] for row in done.json["checks"]}
    assert states["filters are honoured"] == "ok" and states["reopens"] == "gap"
    assert "numpy" in done.json["engine"]
    assert done.json["figures"]["recall_at_10"] == 1.0
    assert 0 < done.json["figures"]["p50_ms"] <= done.json["figures"]["p95_ms"]


def test_the_screen_says_what_was_seen(cli: Any) -> None:
    done = cli("test", "store", "faiss", "--set", "build.index=flat")
    assert done.code == 0
    assert done.out.startswith("faiss: faiss-cpu ")
    assert "recall@10 1.000" in done.out and "0 failed" in done.out


def test_a_store_that_breaks_the_contract(cli: Any) -> None:
    real = registry.load("stores", "exact")

    class Broken(real):  # type: ignore[misc, valid-type]
        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            hits = super().search(vector, k, query)
            return Hits(hits.ids[::-1], hits.scores[::-1])

    registry.add("stores", "broken", Broken)
    try:
        done = cli("test", "store", "broken")
    finally:
        registry.remove("stores", "broken")
    assert done.code == 1
    assert "FAILED" in done.out and "5 failed" in done.out
    assert "not measured: checks failed" in done.out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["fais"], "Did you mean 'faiss'?"),
        (["faiss", "--set", "m"], "'m' is not key=value"),
        (["faiss", "--set", "build.m=1"], "--set build.m: Input should be greater"),
        (["faiss", "--set", "build.links=8"], "--set build.links"),
    ],
)
def test_bad_input(cli: Any, words: list[str], text: str) -> None:
    done = cli("test", "store", *words)
    assert done.code == 2 and text in done.err
