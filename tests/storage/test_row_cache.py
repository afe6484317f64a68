from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from bakeoff.errors import CacheError
from bakeoff.storage.cache import Cache
from bakeoff.storage.row_cache import BatchRows, RowCache


class Worker:
    """Gives each input as many rows as its number, and remembers what it was asked."""

    def __init__(self, keys: list[str]) -> None:
        self.keys, self.asked = keys, []

    def __call__(self, positions: list[int]) -> BatchRows:
        self.asked.append([self.keys[p] for p in positions])
        counts = [int(self.keys[p]) for p in positions]
        values = [self.keys[p] for p in positions for _ in range(int(self.keys[p]))]
        return BatchRows(counts, pa.table({"value": pa.array(values, pa.string())}))


def filled(pool: RowCache, keys: list[str], batch: int = 2) -> Worker:
    worker = Worker(keys)
    pool.fill(keys, worker, batch=batch)
    return worker


def values(pool: RowCache, keys: list[str]) -> list[str]:
    return [value for block in pool.gather(keys) for value in block["value"].to_pylist()]


def test_gathers_in_order_with_empty_and_repeated_keys(tmp_path: Path) -> None:
    pool = RowCache(Cache(tmp_path), "stage", "ab" * 16)
    keys = ["3", "0", "1", "3", "2"]
    worker = filled(pool, keys)
    assert sorted(key for batch in worker.asked for key in batch) == ["0", "1", "2", "3"]
    assert values(pool, keys) == ["3"] * 3 + ["1"] + ["3"] * 3 + ["2"] * 2
    assert pool.counts(keys).tolist() == [3, 0, 1, 3, 2]


def test_only_new_keys_cost_work(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    filled(RowCache(cache, "stage", "ab" * 16), ["1", "2"])
    worker = filled(RowCache(cache, "stage", "ab" * 16), ["2", "5", "1"])
    assert worker.asked == [["5"]]


def test_other_pool_shares_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    filled(RowCache(cache, "stage", "ab" * 16), ["1", "2"])
    assert filled(RowCache(cache, "stage", "cd" * 16), ["1", "2"]).asked == [["1", "2"]]


def test_an_interrupted_fill_goes_on_with_its_batches(tmp_path: Path) -> None:
    keys = ["1", "2", "3", "4", "5"]
    cache = Cache(tmp_path)
    worker = Worker(keys)

    def dies(positions: list[int]) -> BatchRows:
        if len(worker.asked) == 1:
            raise KeyboardInterrupt
        return worker(positions)

    def longest_first(positions: list[int]) -> list[int]:
        return sorted(positions, reverse=True)

    with pytest.raises(KeyboardInterrupt):
        RowCache(cache, "stage", "ab" * 16).fill(keys, dies, batch=2, order=longest_first)
    again = Worker(keys)
    pool = RowCache(cache, "stage", "ab" * 16)
    assert pool.fill(keys, again, batch=2, order=longest_first) == 3
    assert worker.asked + again.asked == [["5", "4"], ["3", "2"], ["1"]]
    assert len(values(pool, keys)) == 15


def test_a_damaged_segment_is_made_again(tmp_path: Path) -> None:
    keys = ["1", "2", "3"]
    filled(RowCache(Cache(tmp_path), "stage", "ab" * 16), keys)
    victim = next((tmp_path / "stage").rglob("rows.arrow"))
    victim.write_bytes(b"rubbish")
    pool = RowCache(Cache(tmp_path), "stage", "ab" * 16)
    assert len(filled(pool, keys).asked) == 1
    assert len(values(pool, keys)) == 6


def test_progress_counts_everything_once(tmp_path: Path) -> None:
    keys = [str(i) for i in range(7)]
    seen: list[int] = []
    RowCache(Cache(tmp_path), "stage", "ab" * 16).fill(keys, Worker(keys), batch=3, progress=seen.append)
    assert sum(seen) == 7


def test_work_that_loses_inputs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CacheError, match=r"2.*1"):
        RowCache(Cache(tmp_path), "stage", "ab" * 16).fill(
            ["1", "2"], lambda positions: BatchRows([1], pa.table({"value": np.zeros(1)})), batch=2
        )
