from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.pipeline.context import MOST_INPUTS, StageContext, batch_of, stage_progress
from bakeoff.runtime.events import Event, StageAdvanced, StageFinished, StageStarted
from bakeoff.storage.cache import Cache


def test_start_progress_and_end_are_told_in_order(tmp_path: Path) -> None:
    events: list[Event] = []
    with stage_progress(
        StageContext(Cache(tmp_path), events.append), "embed", "m · c", 10, "chunks"
    ) as report:
        report.advance(4)
        report.advance(6)
        report.summary = "10 × 3"
    assert events[0] == StageStarted("embed", "m · c", 10, "chunks")
    assert events[1:3] == [
        StageAdvanced("embed", "m · c", 4, cached=True),
        StageAdvanced("embed", "m · c", 6, cached=False),
    ]
    assert isinstance(events[3], StageFinished) and events[3].summary == "10 × 3"
    assert report.seconds == events[3].seconds > 0


def test_a_stage_that_fails_does_not_end(tmp_path: Path) -> None:
    events: list[Event] = []
    with (
        pytest.raises(ValueError, match="no"),
        stage_progress(StageContext(Cache(tmp_path), events.append), "a", "", 1, "b"),
    ):
        raise ValueError("no")
    assert [type(event) for event in events] == [StageStarted]


def test_small_inputs_share_a_batch_and_large_ones_do_not() -> None:
    assert batch_of(64, inputs=100_000, size=100_000 * 200) == 10_000
    assert batch_of(64, inputs=100_000, size=100_000 * 10) == MOST_INPUTS
    assert batch_of(64, inputs=1_000, size=1_000 * 10_000) == 200
    assert batch_of(64, inputs=10, size=10 * 20_000_000) == 64
    assert batch_of(64, inputs=0, size=0) == MOST_INPUTS
