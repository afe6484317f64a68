"""Shards done by real processes of this machine: the same segments, whatever happens to a worker."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from doubling import APART, KEY, WORDS, done, fill, hashes, here, order

from bakeoff.errors import CacheError, EmbedderError, SettingError
from bakeoff.plugins.executors.local import LocalExecutor
from bakeoff.runtime import scheduler
from bakeoff.storage.cache import Cache
from bakeoff.storage.row_cache import RowCache


@pytest.fixture
def executor(trouble: Path) -> Iterator[LocalExecutor]:
    made = LocalExecutor(LocalExecutor.Params(processes=2))
    yield made
    made.close()


def test_segments_are_those_of_one_process(executor: LocalExecutor, trouble: Path, tmp_path: Path) -> None:
    told: list[int] = []
    fill(executor, Cache(tmp_path / "apart"), WORDS, told.append)
    here(tmp_path / "here", WORDS)
    assert hashes(tmp_path / "apart") == hashes(tmp_path / "here")
    assert sum(told) == len(WORDS)
    opened = {path.name.split("-")[1] for path in trouble.glob("opened-*")}
    assert len(list(trouble.glob("opened-*"))) == len(opened) <= 3, "a worker made its plug-in twice"


@pytest.mark.slow
def test_a_killed_worker_costs_its_shard_only(executor: LocalExecutor, trouble: Path, tmp_path: Path) -> None:
    words = [*WORDS, "dies once"]
    told: list[int] = []
    fill(executor, Cache(tmp_path / "apart"), words, told.append)
    assert (trouble / "died").exists() and sum(told) == len(words)
    here(tmp_path / "here", words)
    assert hashes(tmp_path / "apart") == hashes(tmp_path / "here")


@pytest.mark.slow
def test_a_shard_that_fails_once_is_tried_again(
    executor: LocalExecutor, trouble: Path, tmp_path: Path
) -> None:
    pool = fill(executor, Cache(tmp_path), ["a", "fails once", "b"])
    assert pool.counts(["a", "fails once", "b"]).tolist() == [2, 2, 2]


@pytest.mark.slow
def test_a_shard_that_always_fails_is_tried_three_times_and_named(
    executor: LocalExecutor, trouble: Path, tmp_path: Path
) -> None:
    with pytest.raises(EmbedderError, match=r"double: shard \w{8} of .* failed 3 times, .* it never works\."):
        fill(executor, Cache(tmp_path), ["a", "b", "c", "fails"])
    assert (trouble / "fails").read_text() == "xxx"
    assert RowCache(Cache(tmp_path), "double", KEY).counts(["a", "b"]).tolist() == [2, 2], (
        "finished shards are kept"
    )


@pytest.mark.slow
def test_a_driver_that_was_stopped_does_nothing_twice(
    executor: LocalExecutor, trouble: Path, tmp_path: Path
) -> None:
    def stop(_: int) -> None:
        if len(list((tmp_path / "cache" / "double").glob("??/*"))) >= 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill(executor, Cache(tmp_path / "cache"), WORDS, stop)
    executor.close()
    before = done(trouble)
    kept = sum(RowCache(Cache(tmp_path / "cache"), "double", KEY).inputs_by_segment(WORDS).values())
    again = LocalExecutor(LocalExecutor.Params(processes=1))
    try:
        fill(again, Cache(tmp_path / "cache"), WORDS)
    finally:
        again.close()
    assert 0 < kept <= len(before) <= len(WORDS)
    assert set(done(trouble)) == set(WORDS) and len(done(trouble)) - len(before) == len(WORDS) - kept


@pytest.mark.slow
def test_the_shared_folder_is_waited_for(executor: LocalExecutor, trouble: Path, tmp_path: Path) -> None:
    root, words = tmp_path / "shared", ["a", "b", "waits", "c"]

    def leaves_for_a_while() -> None:
        while not (trouble / "waiting").exists():
            time.sleep(0.01)
        root.rename(tmp_path / "gone")
        (trouble / "go").touch()
        time.sleep(1)
        assert not root.exists(), "work was written where nobody finds it"
        (tmp_path / "gone").rename(root)

    thread = threading.Thread(target=leaves_for_a_while)
    thread.start()
    pool = fill(executor, Cache(root), words)
    thread.join()
    assert pool.counts(words).tolist() == [2] * 4
    assert done(trouble) == sorted(words), "what was computed is not computed again"


def test_a_worker_that_sees_another_folder_is_refused(
    executor: LocalExecutor, trouble: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bakeoff.storage import shared_location

    folder = shared_location.ensure_marker(tmp_path / "cache")
    (folder.root / shared_location.MARKER).write_text("of another machine")
    monkeypatch.setattr(shared_location, "FIRST_SECONDS", 0.3)
    with pytest.raises(CacheError):
        shared_location.retry_until_available(folder, lambda: pytest.fail("written elsewhere"))


@pytest.mark.slow
def test_a_slow_worker_does_not_hold_up_the_end(
    executor: LocalExecutor, trouble: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "SLOW_SECONDS", 1.0)
    monkeypatch.setattr(scheduler, "SLOW_TIMES", 0.0)
    told: list[int] = []
    fill(executor, Cache(tmp_path), ["a", "b", "slow", "c"], told.append)
    assert not (trouble / "go").exists() and sum(told) == 4, "the slow one was waited for, or counted twice"
    (trouble / "go").touch()


def test_rows_that_are_not_there_are_missed(trouble: Path, tmp_path: Path) -> None:
    pool = RowCache(Cache(tmp_path), "double", KEY)
    with pytest.raises(CacheError, match=r"2.*2"):
        pool.fill(["a", "b"], lambda _: pytest.fail(), batch=2, spread=lambda *_: 0.0)


def test_another_version_of_the_program_is_refused(trouble: Path, tmp_path: Path) -> None:
    import pickle
    from dataclasses import replace

    from bakeoff.runtime.shards import Shard, run_shard
    from bakeoff.storage.row_cache import SegmentLocation, to_bytes
    from bakeoff.storage.shared_location import ensure_marker

    rows = to_bytes(pa.table({"word": ["a"]}))
    shard = Shard(
        shared=ensure_marker(tmp_path),
        place=SegmentLocation("double", KEY[:16]),
        order=pickle.dumps(order()),
        batches=(("a",),),
        rows=rows,
    )
    assert run_shard(shard) > 0
    assert run_shard(shard) == 0, "the segment is there"
    with pytest.raises(SettingError, match=r"0\.0\.0"):
        run_shard(replace(shard, version="0.0.0"))
    shutil.rmtree(tmp_path / "double")


def test_threads_unless_work_wants_a_process(trouble: Path) -> None:
    import os

    executor = LocalExecutor(LocalExecutor.Params(workers=2))
    try:
        assert executor.slots == 0
        assert executor.submit(os.getpid, needs=APART).result() == os.getpid()
        futures = [executor.submit(time.sleep, 0.0) for _ in range(3)]
        assert len(list(executor.as_completed(futures))) == 3
    finally:
        executor.close()


def test_after_its_end_it_can_be_started_again(trouble: Path) -> None:
    import os

    executor = LocalExecutor(LocalExecutor.Params(workers=1, processes=1))
    for _ in range(2):
        executor.start()
        assert executor.submit(os.getpid).result() == os.getpid()
        assert executor.submit(os.getpid, needs=APART).result() != os.getpid()
        executor.close()


@pytest.mark.slow
def test_close_does_not_wait_for_work_in_a_process(executor: LocalExecutor) -> None:
    future = executor.submit(time.sleep, 120, needs=APART)
    while not future.running():
        time.sleep(0.05)
    begin = time.monotonic()
    executor.close()
    assert time.monotonic() - begin < 60 and future.exception() is not None
