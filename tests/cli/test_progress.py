from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from bakeoff.cli.views import progress
from bakeoff.cli.views.progress import ProgressBars, ProgressLines
from bakeoff.runtime.count_text import per_second
from bakeoff.runtime.events import (
    Event,
    StageAdvanced,
    StageFinished,
    StageStarted,
    SystemFinished,
    WarningRaised,
)

EVENTS: list[Event] = [
    StageStarted("embed", "m[x] · line", 10, "chunks"),
    StageAdvanced("embed", "m[x] · line", 4, cached=True),
    StageAdvanced("embed", "m[x] · line", 6),
    StageFinished("embed", "m[x] · line", 1.25, "10 × 64"),
    WarningRaised("query q: nothing is judged yet [really]"),
    SystemFinished("a", 1, 3),
    SystemFinished("b", 2, 3, resumed=True),
    SystemFinished("c[ef=16]", 3, 3, failed="no memory"),
]


def shown(listener: type, **options: Any) -> str:
    out = io.StringIO()
    listening = listener(Console(file=out, width=100, highlight=False, **options))
    for event in EVENTS:
        listening(event)
    if hasattr(listening, "close"):
        listening.close()
    return out.getvalue()


def test_lines_say_each_thing_once() -> None:
    assert shown(ProgressLines).splitlines() == [
        "embed     m[x] · line  10 × 64  1.2 s",
        "warning   query q: nothing is judged yet [really]",
        "measured  a  (1 of 3)",
        "measured  b  (2 of 3, from the earlier run)",
        "failed    c[ef=16]  no memory",
    ]


def test_a_long_stage_says_how_long_it_will_take(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    out = io.StringIO()
    lines = ProgressLines(Console(file=out, width=100))
    lines(StageStarted("embed", "m", 100, "chunks"))
    for _ in range(3):
        now[0] += 6
        lines(StageAdvanced("embed", "m", 20))
    assert out.getvalue().splitlines() == ["embed     m  40/100  3.3/s  18 s left"]


def test_bars_show_the_same_on_a_terminal() -> None:
    said = shown(ProgressBars, force_terminal=True)
    for words in ("m[x] · line", "10 × 64", "c[ef=16]", "no memory", "[really]", "systems"):
        assert words in said


@pytest.mark.parametrize(("rate", "shown_as"), [(0.254, "0.25/s"), (3.33, "3.3/s"), (1234.5, "1,234/s")])
def test_a_slow_rate_is_not_shown_as_zero(rate: float, shown_as: str) -> None:
    assert per_second(rate) == shown_as
