"""F36: speeds compared at unequal recall."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.benchmark.ann import recall_tuning
from bakeoff.benchmark.ann.compare_stores import AnnOptions, AnnOutcome, compare_stores
from bakeoff.benchmark.ann.verdict import closing_sentences, compare_tuned_stores
from bakeoff.benchmark.results.claims import claim
from bakeoff.benchmark.stores import StoreSpec
from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.pipeline.loops import client_threads, closed_loop
from bakeoff.storage.cache import Cache
from bakeoff.types import Hits

EXACT = registry.load("stores", "exact")


@pytest.fixture
def outcome(tmp_path: Path, made_clock: Callable[..., Any]) -> Callable[[float | None], AnnOutcome]:
    """Compares, by a made clock, exact search that takes 5 ms with a store that is fast and wrong."""
    clock = made_clock(closed_loop, client_threads)

    class Right(EXACT):
        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            clock.passes(5)
            return super().search(vector, k, query)

    class Sloppy(EXACT):
        """The same ten rows for every query."""

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            clock.passes(1)
            return Hits(np.arange(k), np.zeros(k))

    stores = [
        StoreSpec(name, name, kind, kind.Params()) for name, kind in (("exact", Right), ("sloppy", Sloppy))
    ]

    def compare(target: float | None) -> AnnOutcome:
        return compare_stores(
            open_dataset("synthetic:2000x16", queries=80),
            stores,
            AnnOptions(target=target, runs=3),
            Cache(tmp_path),
            save=lambda *_: None,
            tell=lambda _: None,
        )

    return compare


def test_f36_the_fast_and_wrong_store_wins_nothing(outcome: Callable[[float | None], AnnOutcome]) -> None:
    found = outcome(0.9)
    assert {point.system: point.qps() for point in found.points()} == pytest.approx(
        {"sloppy": 1000, "exact": 200}
    )
    assert set(found.unreached) == {"sloppy"} and not found.tuned["sloppy"].reached
    (only,) = closing_sentences(found)
    assert [one.kind for one in only.claims] == ["OnlyReaches", "Reaches", "Speed"]
    assert {one.figures["system"] for one in only.claims} == {"exact"}
    assert compare_tuned_stores(found) == ()


def test_f36_without_a_target_there_is_a_front_and_no_winner(
    outcome: Callable[[float | None], AnnOutcome],
) -> None:
    found = outcome(None)
    assert found.on_front() == (True, True) and found.comparable() == ()
    assert [part.kind for one in closing_sentences(found) for part in one.claims] == ["OnFront"]


def test_f36_a_recall_that_only_the_tuning_queries_have_is_no_equal_recall(tmp_path: Path) -> None:
    """It knows the queries it was tuned on, and answers the measured ones wrong."""
    dataset, options = open_dataset("synthetic:2000x16", queries=80), AnnOptions(target=0.9, runs=1)
    tuning, _ = recall_tuning.split_queries(80, options.seed)
    learnt = {dataset.queries[row].tobytes() for row in tuning}

    class Learnt(EXACT):
        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            known = vector.tobytes() in learnt
            return super().search(vector, k, query) if known else Hits(np.arange(k), np.zeros(k))

    found = compare_stores(
        dataset,
        [StoreSpec(name, name, kind, kind.Params()) for name, kind in (("exact", EXACT), ("learnt", Learnt))],
        options,
        Cache(tmp_path),
        save=lambda *_: None,
        tell=lambda _: None,
    )
    assert found.tuned["learnt"].reached and set(found.unreached) == {"learnt"}
    assert [point.system for point in found.comparable()] == ["exact"]
    assert closing_sentences(found)[0].claims[0] == claim(
        "OnlyReaches", system="exact", measure="kNN@10", target=0.9
    )
