"""The journal: what a run tells is found again by another process, and a reader never sees half a file."""

import os
from pathlib import Path

from bakeoff.runtime.events import StageAdvanced, StageFinished, StageStarted, SystemFinished, WarningRaised
from bakeoff.runtime.progress_file import FILE, ProgressFile, process_is_alive, read_progress, tee


class Clock:
    """Time that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_stages_rates_and_time_left(tmp_path: Path) -> None:
    clock = Clock()
    journal = ProgressFile(tmp_path, clock)
    journal(StageStarted("embed", "minilm", 400, "chunks"))
    journal(StageAdvanced("embed", "minilm", 100, cached=True))
    clock.now += 10
    journal(StageAdvanced("embed", "minilm", 50))
    progress = read_progress(tmp_path)
    assert progress is not None and progress.pid == os.getpid()
    (stage,) = progress.stages
    assert (stage.done, stage.cached, stage.total) == (150, 100, 400)
    assert stage.rate(clock.now) == 5.0 and stage.left(clock.now) == 50.0
    assert process_is_alive(progress)


def test_what_ended_and_what_failed(tmp_path: Path) -> None:
    journal = ProgressFile(tmp_path)
    journal(StageStarted("read", "", 3, "files"))
    journal(StageFinished("read", "", 0.1, "3 files"))
    journal(SystemFinished("a", 1, 2))
    journal(SystemFinished("b", 2, 2, failed="connection refused"))
    journal(WarningRaised("mind this"))
    journal.close()
    progress = read_progress(tmp_path)
    assert progress is not None
    assert progress.failed == (("b", "connection refused"),) and progress.warnings == ("mind this",)
    assert (progress.done, progress.total) == (2, 2) and progress.stages[0].summary == "3 files"
    assert progress.ended and not process_is_alive(progress)


def test_it_writes_no_more_than_twice_a_second(tmp_path: Path) -> None:
    clock = Clock()
    journal = ProgressFile(tmp_path, clock)
    journal(StageStarted("embed", "m", 10, "chunks"))
    first = (tmp_path / FILE).stat().st_ino
    for _ in range(5):
        journal(StageAdvanced("embed", "m", 1))
    assert (tmp_path / FILE).stat().st_ino == first
    clock.now += 0.6
    journal(StageAdvanced("embed", "m", 1))
    progress = read_progress(tmp_path)
    assert progress is not None and progress.stages[0].done == 6


def test_nothing_or_half_a_file_is_no_progress(tmp_path: Path) -> None:
    assert read_progress(tmp_path) is None
    (tmp_path / FILE).write_text('{"pid": 1, "upd')
    assert read_progress(tmp_path) is None


def test_a_folder_that_is_gone_does_not_stop_a_run(tmp_path: Path) -> None:
    journal = ProgressFile(tmp_path / "gone")
    journal(WarningRaised("x"))
    journal.close()


def test_two_listeners() -> None:
    heard: list[str] = []
    tee(lambda _: heard.append("one"), lambda _: heard.append("other"))(WarningRaised("x"))
    assert heard == ["one", "other"]
