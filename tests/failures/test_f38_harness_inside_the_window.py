"""F38: harness time inside the measured window."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff import registry
from bakeoff.cache import Cache
from bakeoff.load.ann import Options, Outcome, compare_stores
from bakeoff.load.closed import closed_loop
from bakeoff.load.datasets import open_dataset
from bakeoff.load.record import to_dict
from bakeoff.load.settings import Candidate
from bakeoff.types import Hits

EXACT = registry.load("stores", "exact")


class Instant(EXACT):
    """So fast that the loop around it is what is measured."""

    answer = Hits(np.arange(10), np.zeros(10))

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        return self.answer


class Slow(EXACT):
    """A millisecond a search."""

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        time.sleep(0.001)
        return super().search(vector, k, query)


def outcome(tmp_path: Path, kind: type) -> Outcome:
    return compare_stores(
        open_dataset("synthetic:500x8", queries=200),
        [Candidate("it", "it", kind, EXACT.Params())],
        Options(runs=1),
        Cache(tmp_path),
        save=lambda *_: None,
        tell=lambda _: None,
    )


def test_f38_the_null_store_is_measured_and_a_figure_it_dominates_is_marked(tmp_path: Path) -> None:
    fast, slow = to_dict(outcome(tmp_path, Instant)), to_dict(outcome(tmp_path, Slow))
    assert fast["harness_us"]["1"] > 0
    assert fast["points"][0]["harness_over_limit"] and not slow["points"][0]["harness_over_limit"]


def test_f38_the_sum_of_the_windows_is_the_wall_time() -> None:
    def search(vector: np.ndarray, k: int, query: Any) -> Hits:
        time.sleep(0.002)
        return Instant.answer

    loop = closed_loop(search, np.zeros((100, 4), np.float32), 10, None)
    outside = loop.seconds - loop.done.sum() / 1e9
    assert 0 <= outside < 0.05 * loop.seconds
