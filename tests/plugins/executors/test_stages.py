"""Whole runs by workers in processes of their own: the same bytes as in one process, and told in the same way."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bakeoff.cli.status import print_status, status_json
from bakeoff.config import experiment
from bakeoff.errors import ExperimentError, MissingExtraError, UnknownPluginError
from bakeoff.runs.run import run
from bakeoff.runtime.events import Event, StageAdvanced, StageFinished, StageStarted, WarningRaised
from bakeoff.runtime.progress_file import ProgressFile

TABLES = ("scores", "rankings", "queries", "passages", "losses")
TWO = "{local: {processes: 2}}"


def tables(folder: Path) -> dict[str, bytes]:
    return {name: (folder / f"{name}.parquet").read_bytes() for name in TABLES}


@pytest.mark.slow
def test_a_run_by_workers_is_the_same_bytes(tmp_path: Path, laid_out: Callable[..., Path], ran: Any) -> None:
    events: list[Event] = []
    result = run(
        laid_out(tmp_path), out=tmp_path / "run", home=tmp_path / "home", emit=events.append, executor=TWO
    )
    assert tables(result.path) == tables(ran.result.path)
    assert any("made by 2 processes" in note for note in result.record.notes)
    made = [path.parent.name for path in (tmp_path / "home/cache/tokens").glob("??/*/manifest.json")]
    assert made, "tokens were counted by the driver"
    mine, theirs = tmp_path / "home", ran.result.path.parent / "home"  # other tests may have added to theirs
    lengths = [path.relative_to(mine) for path in (mine / "cache/lengths").rglob("lengths.json")]
    assert lengths and all((mine / one).read_text() == (theirs / one).read_text() for one in lengths)
    for stage in ("chunk", "embed"):
        begun = {e.label: e.total for e in events if isinstance(e, StageStarted) and e.stage == stage}
        done = dict.fromkeys(begun, 0)
        for event in events:
            if isinstance(event, StageAdvanced) and event.stage == stage:
                done[event.label] += event.count
        assert begun and all(done[label] == total for label, total in begun.items() if "queries" not in label)
    assert [e.summary for e in events if isinstance(e, StageFinished) and e.stage == "start"] == [
        "2 processes"
    ]


@pytest.mark.slow
def test_a_plug_in_of_this_process_only_runs_here(small: Path, counts: Any) -> None:
    small.write_text(small.read_text().replace("{wordllama: {dims: 64}}", "{counted: {dims: 64}}"))
    events: list[Event] = []
    result = run(small, out="runs/one", emit=events.append, executor=TWO)
    assert result.done and counts.documents
    assert any("this process" in event.message for event in events if isinstance(event, WarningRaised))


def test_where_it_runs_is_no_part_of_what_is_measured(small: Path) -> None:
    before = experiment.load(small)
    small.write_text(small.read_text() + "executor: {local: {processes: 3}}\n")
    after = experiment.load(small)
    assert after.executor is not None and after.executor.params.model_dump()["processes"] == 3
    assert before.executor is None and before.fingerprint() == after.fingerprint()


def test_an_executor_that_cannot_be(small: Path) -> None:
    small.write_text(small.read_text() + "executor: {local: {process: 3}}\n")
    with pytest.raises(ExperimentError, match=r"bakeoff.yaml.*process"):
        experiment.load(small)
    with pytest.raises(UnknownPluginError, match=r"--executor.*'rey'.*'ray'"):
        experiment.executor("rey")
    with pytest.raises(ExperimentError):
        experiment.executor("[ray]")


def test_ray_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.delitem(sys.modules, "bakeoff.plugins.executors.ray", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'bakeoff\[ray\]'"):
        experiment.executor("ray")


def test_status_sees_a_run_that_goes_on(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []

    def look(event: Event) -> None:
        if isinstance(event, StageStarted) and event.stage == "embed" and not seen:
            thread = threading.Thread(target=lambda: seen.append(_status(capsys)))
            thread.start()
            thread.join()

    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr("bakeoff.runtime.progress_file.EVERY_SECONDS", 0.0)
        run(small, out="runs/one", emit=look)
    assert "running" in seen[0] and "in process" in seen[0]
    print_status(Path("runs"))
    assert "report.html" in capsys.readouterr().out


def _status(capsys: pytest.CaptureFixture[str]) -> str:
    print_status(Path("runs"))
    return capsys.readouterr().out


def test_status_reports_rate_and_time_left(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(small, out="runs/one")
    record = json.loads(Path("runs/one/run.json").read_text())
    Path("runs/one/run.json").write_text(json.dumps({**record, "status": "running"}))
    now = [1000.0]
    journal = ProgressFile(Path("runs/one"), lambda: now[0])
    journal(StageStarted("embed", "minilm · line", 4000, "chunks"))
    now[0] += 10
    journal(StageAdvanced("embed", "minilm · line", 1000))
    assert "embed    minilm · line  1,000/4,000 chunks  100/s  30 s left" in _status(capsys)
    (stage,) = status_json(Path("runs"))[0]["stages"]
    assert (stage["rate"], stage["seconds_left"]) == (100.0, 30.0)
    journal.close()
    assert "stages" not in status_json(Path("runs"))[0], "it has ended"


@pytest.mark.slow
def test_the_driver_waits_for_a_shared_folder(
    tmp_path: Path, laid_out: Callable[..., Path], ran: Any
) -> None:
    """It goes when a stage begins, and comes back while the driver waits for what is in it."""
    cache, away, gone = tmp_path / "home" / "cache", tmp_path / "home" / "away", []
    waits = threading.Event()

    class Told(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "shared cache is gone" in record.getMessage():
                waits.set()

    def back() -> None:
        waits.wait(60)
        away.rename(cache)

    def go(event: Event) -> None:
        if isinstance(event, StageStarted) and event.stage in ("chunk", "embed") and event.stage not in gone:
            gone.append(event.stage)
            waits.clear()
            cache.rename(away)
            threading.Thread(target=back).start()

    told = Told()
    logging.getLogger("bakeoff.storage.shared_location").addHandler(told)
    try:
        result = run(laid_out(tmp_path), out=tmp_path / "run", home=tmp_path / "home", emit=go, executor=TWO)
    finally:
        logging.getLogger("bakeoff.storage.shared_location").removeHandler(told)
    assert gone == ["chunk", "embed"] and not away.exists()
    assert tables(result.path) == tables(ran.result.path)
