"""F36: speeds compared at unequal recall."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.cache import Cache
from bakeoff.load import equal
from bakeoff.load.ann import Options, Outcome, compare_stores
from bakeoff.load.claims import OnFront, OnlyReaches, Reaches, Speed
from bakeoff.load.datasets import open_dataset
from bakeoff.load.settings import Candidate
from bakeoff.load.verdict import closing, comparisons
from bakeoff.stages import client_loop, client_threads
from bakeoff.types import Hits

EXACT = registry.load("stores", "exact")


@pytest.fixture
def outcome(tmp_path: Path, made_clock: Callable[..., Any]) -> Callable[[float | None], Outcome]:
    """Compares, by a made clock, exact search that takes 5 ms with a store that is fast and wrong."""
    clock = made_clock(client_loop, client_threads)

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
        Candidate(name, name, kind, kind.Params()) for name, kind in (("exact", Right), ("sloppy", Sloppy))
    ]

    def compare(target: float | None) -> Outcome:
        return compare_stores(
            open_dataset("synthetic:2000x16", queries=80),
            stores,
            Options(target=target, runs=3),
            Cache(tmp_path),
            save=lambda *_: None,
            tell=lambda _: None,
        )

    return compare


def test_f36_the_fast_and_wrong_store_wins_nothing(outcome: Callable[[float | None], Outcome]) -> None:
    found = outcome(0.9)
    assert {point.system: point.qps() for point in found.points()} == pytest.approx(
        {"sloppy": 1000, "exact": 200}
    )
    assert set(found.unreached) == {"sloppy"} and not found.tuned["sloppy"].reached
    (only,) = closing(found)
    assert [type(claim) for claim in only.claims] == [OnlyReaches, Reaches, Speed]
    assert {claim.system for claim in only.claims} == {"exact"}
    assert comparisons(found) == ()


def test_f36_without_a_target_there_is_a_front_and_no_winner(
    outcome: Callable[[float | None], Outcome],
) -> None:
    found = outcome(None)
    assert found.on_front() == (True, True) and found.comparable() == ()
    assert [type(claim) for one in closing(found) for claim in one.claims] == [OnFront]


def test_f36_a_recall_that_only_the_tuning_queries_have_is_no_equal_recall(tmp_path: Path) -> None:
    """It knows the queries it was tuned on, and answers the measured ones wrong."""
    dataset, options = open_dataset("synthetic:2000x16", queries=80), Options(target=0.9, runs=1)
    tuning, _ = equal.split(80, options.seed)
    learnt = {dataset.queries[row].tobytes() for row in tuning}

    class Learnt(EXACT):
        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            known = vector.tobytes() in learnt
            return super().search(vector, k, query) if known else Hits(np.arange(k), np.zeros(k))

    found = compare_stores(
        dataset,
        [Candidate(name, name, kind, kind.Params()) for name, kind in (("exact", EXACT), ("learnt", Learnt))],
        options,
        Cache(tmp_path),
        save=lambda *_: None,
        tell=lambda _: None,
    )
    assert found.tuned["learnt"].reached and set(found.unreached) == {"learnt"}
    assert [point.system for point in found.comparable()] == ["exact"]
    assert closing(found)[0].claims[0] == OnlyReaches("exact", "kNN@10", 0.9)
