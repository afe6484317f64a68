"""F32: the first measured query pays the cold start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff import registry
from bakeoff.benchmark.ann.sweep import SweepJob, measure_sweep
from bakeoff.benchmark.null_store import harness_seconds
from bakeoff.benchmark.stores import StoreSpec, build_store
from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.benchmark.vectors.neighbours import exact_neighbours
from bakeoff.pipeline.loops import client_threads, closed_loop
from bakeoff.types import Hits

COLD, WARM = 300, 2


def test_f32_warm_up_takes_other_queries_and_is_told_apart(
    tmp_path: Path, made_clock: Callable[..., Any]
) -> None:
    clock = made_clock(closed_loop, client_threads)

    class ColdStore(registry.load("stores", "exact")):
        """Exact search that reads its pages in at the first query, and remembers what it was asked."""

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            self.asked = getattr(self, "asked", [])
            clock.passes(WARM if self.asked else COLD)
            self.asked.append(vector.tobytes())
            return super().search(vector, k, query)

    dataset = open_dataset("synthetic:500x8", queries=40)
    truth = exact_neighbours(dataset.base, dataset.queries, dataset.metric, 100)
    built = build_store(StoreSpec("cold", "cold", ColdStore, ColdStore.Params()), dataset, tmp_path)
    work = SweepJob(dataset, truth, 10, 1, 10.0, {1: harness_seconds(dataset.queries, 10)})
    found = measure_sweep(built, None, 0, work)
    assert found.warm_up.first_ms == COLD and found.warm_up.rest_mean_ms == WARM
    assert found.warm_up.queries == 50
    assert found.nanoseconds.tolist() == [WARM * 1_000_000] * 40
    measured = {row.tobytes() for row in dataset.queries}
    assert not measured & set(built.store.asked[:50])
