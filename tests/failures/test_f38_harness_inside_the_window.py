"""F38: harness time inside the measured window."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.benchmark.ann.compare_stores import AnnOptions, AnnOutcome, compare_stores
from bakeoff.benchmark.ann.record import to_dict
from bakeoff.benchmark.stores import StoreSpec
from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.cli import console
from bakeoff.cli.app import app
from bakeoff.pipeline import context, embed, index, once_map, read
from bakeoff.pipeline.chunking import parallel as chunk_parallel
from bakeoff.pipeline.loops import client_threads
from bakeoff.pipeline.loops import closed_loop as client_loop
from bakeoff.pipeline.loops.closed_loop import closed_loop
from bakeoff.runs import run
from bakeoff.storage.cache import Cache
from bakeoff.types import Batch, Hits

EXACT = registry.load("stores", "exact")


class Instant(EXACT):
    """So fast that the loop around it is what is measured."""

    answer = Hits(np.arange(10), np.zeros(10))

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        return self.answer


def outcome(tmp_path: Path, kind: type) -> AnnOutcome:
    return compare_stores(
        open_dataset("synthetic:500x8", queries=200),
        [StoreSpec("it", "it", kind, EXACT.Params())],
        AnnOptions(runs=1),
        Cache(tmp_path),
        save=lambda *_: None,
        tell=lambda _: None,
    )


@pytest.fixture
def clock(made_clock: Callable[..., Any]) -> Any:
    """A microsecond passes with each reading: that is what the harness takes."""
    made = made_clock(client_loop, client_threads)
    made.tick = 1000
    return made


def test_f38_the_null_store_is_measured_and_a_figure_it_dominates_is_marked(
    tmp_path: Path, clock: Any
) -> None:
    class Slow(EXACT):
        """A millisecond a search."""

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            clock.passes(1)
            return super().search(vector, k, query)

    fast, slow = to_dict(outcome(tmp_path, Instant)), to_dict(outcome(tmp_path, Slow))
    assert fast["harness_us"]["1"] == pytest.approx(2, rel=0.1)
    assert fast["points"][0]["harness_over_limit"] and not slow["points"][0]["harness_over_limit"]


def test_f38_the_sum_of_the_windows_is_the_wall_time(clock: Any) -> None:
    """Outside the window of a search nothing is done but one reading of the clock, a microsecond here."""

    def search(vector: np.ndarray, k: int, query: Any) -> Hits:
        clock.passes(2)
        return Instant.answer

    loop = closed_loop(search, np.zeros((100, 4), np.float32), 10, None)
    outside = loop.seconds - loop.done.sum() / 1e9
    assert outside == pytest.approx(101e-6)


def test_f38_the_figure_of_the_null_store_is_printed(tmp_path: Path, capsys: Any) -> None:
    words = ["ann", "synthetic:500x8", "--stores", "exact", "--runs", "1", "--out", str(tmp_path / "out")]
    assert console.run_guarded(lambda: app(words, standalone_mode=False)) == 0
    told = capsys.readouterr().out
    harness = json.loads((tmp_path / "out" / "record.json").read_text())["harness_us"]["1"]
    assert harness > 0 and f"{harness:.2f} µs per query (null store)" in told


def test_f38_making_the_batches_is_no_part_of_the_insertion(
    small: Path,
    register: Callable[..., None],
    made_clock: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The store inserts for 0.12 s; what stands around it takes 6.8 s, is not the store's, and is said."""
    clock = made_clock(chunk_parallel, embed, index, once_map, read, run, context)
    made = index.IndexContent.batches

    def slowly(self: index.IndexContent) -> Iterator[Batch]:
        for batch in made(self):
            clock.passes(6800)
            yield batch

    class Quick(EXACT):
        def insert(self, batch: Batch) -> None:
            clock.passes(120)
            super().insert(batch)

    monkeypatch.setattr(index.IndexContent, "batches", slowly)
    register("stores", "quick", Quick)
    small.write_text(small.read_text().replace("[exact]", "[quick]"))
    result = run.run(small, out=Path("run"))
    assert result.timing(result.done[0], "insert", "seconds") == pytest.approx(0.12)
    (note,) = [note for note in result.record.notes if "not explained" in note]
    assert "6.92 s" in note and "0.12 s" in note
