"""Blocks done by real processes of this machine: truth, scores and intervals are those of one process, bit by bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.benchmark.vectors import neighbours
from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.benchmark.vectors.neighbours import exact_neighbours, truth_of
from bakeoff.errors import DataError, SystemFailure
from bakeoff.pipeline.scoring import score_queries
from bakeoff.plugins.executors.local import LocalExecutor
from bakeoff.runs.run import run
from bakeoff.runtime import scheduler
from bakeoff.runtime.events import Event, StageAdvanced, StageFinished, StageStarted
from bakeoff.runtime.scheduler import WorkerPool, map_blocks, worker_pool
from bakeoff.stats import arrays
from bakeoff.stats.bootstrap import BootstrapSettings
from bakeoff.stats.compare import CompareSettings, compare_systems
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.storage.cache import Cache
from bakeoff.types import Metric

MODULE = """\
import os
import signal
from pathlib import Path

NOTES = Path(os.environ["NOTES"])


def note(name):
    with (NOTES / name).open("a") as file:
        file.write("x")


def once(name):
    try:
        os.close(os.open(NOTES / name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def plainly(work, *args):
    note("done")
    return work(*args)


def dying_once(work, *args):
    note("done")
    if once("died"):
        os.kill(os.getpid(), signal.SIGKILL)
    return work(*args)


def failing(work, *args):
    note("done")
    raise ConnectionError("the line went dead")


def squared(number):
    if number == 13:
        note("unlucky")
        raise ArithmeticError("thirteen")
    if number < 0:
        raise __import__("bakeoff.errors").errors.DataError(f"{number} is below 0.")
    return number * number
"""


class Meddling(LocalExecutor):
    """Processes whose work is done by way of a function of the module above."""

    def __init__(self, way: str) -> None:
        super().__init__(LocalExecutor.Params(processes=2))
        self._way, self.starts, self.closes = way, 0, 0

    def start(self) -> str:
        self.starts += 1
        return super().start()

    def submit(self, work: Callable[..., Any], *args: Any, **needs: Any) -> Any:
        import meddlesome  # type: ignore[import-not-found]

        return super().submit(partial(getattr(meddlesome, self._way), work), *args, **needs)

    def close(self) -> None:
        self.closes += 1
        super().close()


@pytest.fixture
def notes(written: Callable[[str, str, str], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where workers leave notes."""
    monkeypatch.setattr(scheduler, "PAUSES", (0.05, 0.1))
    return written("meddlesome", MODULE, "NOTES")


@pytest.fixture
def meddling(notes: Path) -> Iterator[Callable[[str], Meddling]]:
    made: list[Meddling] = []

    def make(way: str = "plainly") -> Meddling:
        made.append(Meddling(way))
        return made[-1]

    yield make
    for one in made:
        one.close()


# --- the mechanism ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_answers_come_in_the_order_of_the_blocks(meddling: Callable[..., Meddling]) -> None:
    import meddlesome

    told: list[int] = []
    found = map_blocks(meddling(), meddlesome.squared, iter(range(12)), "squares", told.append)
    assert found == [number * number for number in range(12)] and sorted(told) == list(range(12))


@pytest.mark.slow
def test_a_killed_worker_costs_its_block_only(meddling: Callable[..., Meddling], notes: Path) -> None:
    import meddlesome

    assert map_blocks(meddling("dying_once"), meddlesome.squared, range(8), "squares") == [
        n * n for n in range(8)
    ]
    assert (notes / "died").exists()


@pytest.mark.slow
def test_a_block_that_always_fails_is_named(meddling: Callable[..., Meddling], notes: Path) -> None:
    import meddlesome

    with pytest.raises(SystemFailure, match=r"squares: block 3 failed 3 times, .*ArithmeticError: thirteen"):
        map_blocks(meddling(), meddlesome.squared, [1, 2, 13, 4], "squares")
    assert (notes / "unlucky").read_text() == "xxx"


@pytest.mark.slow
def test_what_the_user_gave_wrong_is_not_tried_again(meddling: Callable[..., Meddling]) -> None:
    import meddlesome

    with pytest.raises(DataError, match=r"-1.*0"):
        map_blocks(meddling(), meddlesome.squared, [-1], "squares")


@pytest.mark.slow
def test_helpers_go_home_and_come_again(meddling: Callable[..., Meddling]) -> None:
    import meddlesome

    executor = meddling()
    called = WorkerPool(executor)
    for _ in range(2):
        assert called(meddlesome.squared, [2, 3], "squares") == [4, 9]
    assert executor.closes == 2
    with called.keep_running():
        called(meddlesome.squared, [2], "squares")
        assert executor.closes == 2, "sent home while somebody else needs them"
    assert executor.closes == 3
    assert worker_pool(LocalExecutor(LocalExecutor.Params())) is None and worker_pool(None) is None


# --- exact truth ------------------------------------------------------------------------------------


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "BLOCK_BYTES", 2048 * 8 * 4)
    monkeypatch.setattr(neighbours, "WORTH", 0)


def _doubled(metric: Metric) -> Any:
    """Vectors of which many are equal, so that ties lie across the blocks."""
    dataset = open_dataset("synthetic:1500x8", queries=30, metric=metric)
    base = np.concatenate([dataset.base[:900], np.repeat(dataset.base[:60], 90, axis=0)])
    return replace(dataset, base=base[np.random.default_rng(2).permutation(len(base))])


@pytest.mark.slow
@pytest.mark.parametrize("metric", list(Metric))
def test_truth_by_workers_is_that_of_one_process(
    metric: Metric, meddling: Callable[..., Meddling], small_blocks: None, tmp_path: Path, notes: Path
) -> None:
    dataset = _doubled(metric)
    found = truth_of(dataset, 100, Cache(tmp_path / "cache"), WorkerPool(meddling()))
    alone = exact_neighbours(dataset.base, dataset.queries, metric, 100)
    assert (notes / "done").exists(), "nobody was called"
    assert found.ids.tobytes() == alone.ids.tobytes()
    assert found.distances.tobytes() == alone.distances.tobytes()


@pytest.mark.slow
def test_truth_with_a_killed_worker(
    meddling: Callable[..., Meddling], small_blocks: None, tmp_path: Path, notes: Path
) -> None:
    dataset = _doubled(Metric.L2)
    found = truth_of(dataset, 100, Cache(tmp_path / "cache"), WorkerPool(meddling("dying_once")))
    assert (notes / "died").exists()
    assert (
        found.ids.tobytes() == exact_neighbours(dataset.base, dataset.queries, Metric.L2, 100).ids.tobytes()
    )


@pytest.mark.slow
def test_truth_that_was_broken_off_goes_on(
    meddling: Callable[..., Meddling],
    small_blocks: None,
    tmp_path: Path,
    notes: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dataset, cache = _doubled(Metric.COSINE), Cache(tmp_path / "cache")
    with monkeypatch.context() as patch:
        patch.setattr(neighbours, "_merge_blocks", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            truth_of(dataset, 100, cache, WorkerPool(meddling()))
    assert not (tmp_path / "cache" / "neighbours").exists()
    before = (notes / "done").read_text()
    found = truth_of(dataset, 100, Cache(tmp_path / "cache"), WorkerPool(meddling()))
    assert (notes / "done").read_text() == before, "a block was searched again"
    alone = exact_neighbours(dataset.base, dataset.queries, Metric.COSINE, 100)
    assert found.ids.tobytes() == alone.ids.tobytes()


@pytest.mark.slow
def test_truth_that_always_fails_is_named(
    meddling: Callable[..., Meddling], small_blocks: None, tmp_path: Path
) -> None:
    with pytest.raises(SystemFailure, match=r"exact neighbours: shard \w{8} of .* failed 3 times"):
        truth_of(_doubled(Metric.L2), 100, Cache(tmp_path), WorkerPool(meddling("failing")))


def test_a_small_search_calls_nobody(meddling: Callable[..., Meddling], tmp_path: Path) -> None:
    executor = meddling()
    truth_of(open_dataset("synthetic:800x8", queries=20), 100, Cache(tmp_path), WorkerPool(executor))
    assert executor.starts == 0


# --- statistics -------------------------------------------------------------------------------------


def _matrix() -> ScoreMatrix:
    """36 systems, so that their 630 pairs are two blocks; some scores are missing."""
    random = np.random.default_rng(8)
    values = np.round(random.random((36, 40)), 2)
    values[3, :5] = np.nan
    systems, queries = (tuple(f"{kind}{i}" for i in range(n)) for kind, n in (("s", 36), ("q", 40)))
    return ScoreMatrix(systems, queries, values, measure="nDCG@10(document)")


@pytest.mark.parametrize("way", [pytest.param("plainly", marks=pytest.mark.slow), "dying_once"])
@pytest.mark.slow
def test_a_comparison_by_workers_is_that_of_one_process(
    way: str, meddling: Callable[..., Meddling], notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "PARALLEL_FROM", 0)
    settings = CompareSettings(BootstrapSettings(3, 500), alpha=0.25)  # fewer flips than at 0.05
    alone = compare_systems(_matrix(), settings)
    assert not (notes / "done").exists()
    assert compare_systems(_matrix(), settings, WorkerPool(meddling(way))) == alone
    assert len((notes / "done").read_text()) >= 4, "bootstrap and test have two blocks each"


@pytest.mark.slow
def test_a_comparison_that_always_fails_is_named(
    meddling: Callable[..., Meddling], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "PARALLEL_FROM", 0)
    with pytest.raises(SystemFailure, match=r"bootstrap: block \d .*the line went dead"):
        compare_systems(
            _matrix(), CompareSettings(BootstrapSettings(3, 500)), WorkerPool(meddling("failing"))
        )


def test_few_pairs_call_nobody(meddling: Callable[..., Meddling]) -> None:
    executor = meddling()
    compare_systems(_matrix(), CompareSettings(BootstrapSettings(3, 500)), WorkerPool(executor))
    assert executor.starts == 0


# --- scores -----------------------------------------------------------------------------------------

TABLES = ("scores", "rankings", "queries", "passages", "losses", "ties")


def _tables(folder: Path) -> dict[str, bytes]:
    return {name: (folder / f"{name}.parquet").read_bytes() for name in TABLES}


@pytest.fixture
def much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two queries are a block, and nothing is too little for workers."""
    monkeypatch.setattr("bakeoff.runs.measure_loop.WORTH_ROWS", 0)
    monkeypatch.setattr(score_queries, "BLOCK_QUERIES", 2)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["plainly", "dying_once"])
def test_a_run_scored_by_workers_is_the_same_bytes(
    way: str,
    meddling: Callable[..., Meddling],
    much: None,
    tmp_path: Path,
    laid_out: Callable[..., Path],
    ran: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    executor, events = meddling(way), list[Event]()
    monkeypatch.setattr("bakeoff.runs.run._executor", lambda *_: executor)
    result = run(laid_out(tmp_path), out=tmp_path / "run", home=tmp_path / "home", emit=events.append)
    assert result.done == ran.result.done and _tables(result.path) == _tables(ran.result.path)
    starts = [e for e in events if isinstance(e, StageFinished) and e.stage == "start"]
    assert len(starts) == 2, "once to chunk and embed, once more to score"
    begun = {e.label: e.total for e in events if isinstance(e, StageStarted) and e.stage == "score"}
    done = dict.fromkeys(begun, 0)
    for event in events:
        if isinstance(event, StageAdvanced) and event.stage == "score":
            done[event.label] += event.count
    assert begun and done == begun


@pytest.mark.slow
def test_scores_that_always_fail_are_named(
    meddling: Callable[..., Meddling], much: None, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run(small, out="runs/one")
    assert result.done
    executor = meddling("failing")
    monkeypatch.setattr("bakeoff.runs.run._executor", lambda *_: executor)
    failed = run(small, out="runs/two")  # its chunks and vectors are in the cache
    assert not failed.done
    assert "failed 3 times" in next(iter(failed.failed.values()))
