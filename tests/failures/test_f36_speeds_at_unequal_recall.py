"""F36: speeds compared at unequal recall."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bakeoff import registry
from bakeoff.cache import Cache
from bakeoff.load.ann import Options, Outcome, compare_stores
from bakeoff.load.datasets import open_dataset
from bakeoff.load.settings import Candidate
from bakeoff.load.verdict import comparisons, verdict
from bakeoff.types import Hits

EXACT = registry.load("stores", "exact")


class Sloppy(EXACT):
    """Fast, and wrong: the same ten rows for every query."""

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        return Hits(np.arange(k), np.zeros(k))


def outcome(tmp_path: Path, target: float | None) -> Outcome:
    stores = [
        Candidate("exact", "exact", EXACT, EXACT.Params()),
        Candidate("sloppy", "sloppy", Sloppy, Sloppy.Params()),
    ]
    return compare_stores(
        open_dataset("synthetic:2000x16", queries=80),
        stores,
        Options(target=target, runs=3),
        Cache(tmp_path),
        save=lambda *_: None,
        tell=lambda _: None,
    )


def test_f36_the_fast_and_wrong_store_wins_nothing(tmp_path: Path) -> None:
    found = outcome(tmp_path, 0.9)
    rates = {point.system: point.qps() for point in found.points()}
    assert rates["sloppy"] > rates["exact"]
    assert "cannot reach a recall of 0.9" in found.unreached["sloppy"]
    assert verdict(found).startswith("Only exact (default) reaches")
    assert comparisons(found) == ()


def test_f36_without_a_target_there_is_a_front_and_no_winner(tmp_path: Path) -> None:
    found = outcome(tmp_path, None)
    assert found.on_front() == (True, True) and found.comparable() == ()
    assert "Speeds at unequal recall are not compared" in verdict(found)
