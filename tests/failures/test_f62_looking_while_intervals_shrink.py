"""F62: intervals watched while they shrink, without a correction for looking."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from bakeoff.cli import console
from bakeoff.cli.app import app
from bakeoff.errors import DataError
from bakeoff.runs.analysis import open_run
from bakeoff.runs.run import run
from bakeoff.runtime.events import Event, SystemFinished


def test_f62_a_run_shows_no_score_before_it_is_finished(tiny: Path) -> None:
    """After each measured system somebody looks: the run cannot be opened, compared or gated, and events hold no score."""
    looks: list[str] = []
    codes: list[int] = []

    def look(event: Event) -> None:
        if isinstance(event, SystemFinished):
            with pytest.raises(DataError) as refused:
                _ = open_run("going").verdict
            looks.append(str(refused.value))
            if len(codes) < 2:
                words = (["compare", "going"], ["gate", "going", "--baseline", "going"])[len(codes)]
                codes.append(console.run_guarded(lambda: app(words, standalone_mode=False)))

    finished = run(tiny, out=Path("going"), emit=look)
    assert len(looks) == len(finished.systems) and all("running" in one for one in looks)
    assert codes == [2, 2]
    assert {field.name for field in fields(SystemFinished)} == {
        "system",
        "done",
        "total",
        "failed",
        "resumed",
    }
    assert open_run("going").verdict.sentence == finished.verdict.sentence
