"""F40: results written only at the end, so that a crash loses every finished case. See also tests/e2e/test_kill.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bakeoff.events import Event, SystemFinished
from bakeoff.results import RunFolder, read_record
from bakeoff.runner import run


class Crash(BaseException):
    """The process goes down."""


def test_f40_each_system_is_durable_when_it_is_told(tiny: Path, ran: Any) -> None:
    durable: list[int] = []

    def crash_after_four(event: Event) -> None:
        if isinstance(event, SystemFinished):
            durable.append(len(list(Path("run/cells").glob("*/manifest.json"))))
            if event.done == 4:
                raise Crash

    with pytest.raises(Crash):
        run(tiny, out=Path("run"), emit=crash_after_four)
    assert durable == [1, 2, 3, 4]
    assert read_record(Path("run")).status == "running"
    keys = [path.parent.name for path in Path("run/cells").glob("*/manifest.json")]
    cells = [RunFolder(Path("run")).cell(key) for key in keys]
    assert all(cell is not None and cell.scores.num_rows == 14 * 3 for cell in cells)

    events: list[Event] = []
    result = run(tiny, out=Path("run"), emit=events.append)
    assert [e.resumed for e in events if isinstance(e, SystemFinished)] == [True] * 4 + [False] * 6
    assert result.scores.equals(ran.result.scores) and result.record.status == "done"
