"""The phases of building each system as bars; what no run measured has no length."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.report.render import number_text as say
from bakeoff.report.sections.findings import of_phases
from bakeoff.report.sections.parts import Bar, BarChart, BarGroup, Chart, TextTable
from bakeoff.runs.stored_times import SPEED, START, WHOLE, PhaseRow

PARTLY = "not all of it was timed"
CAPTION = (
    "Seconds of each phase; systems that share a part share its time. What was in the cache has the time of the run "
    "that made it."
)


def phase_chart(phases: Sequence[str], rows: Sequence[PhaseRow]) -> Chart | None:
    """The bars with their table; None where nothing was built in this run."""
    kinds = tuple(phase for phase in phases if phase != WHOLE)
    if not any(time.value for row in rows for time in row.phases):
        return None
    groups = tuple(BarGroup(row.system, (_bar(phases, row),)) for row in rows)
    fast = any(row.speed.value is not None for row in rows)
    cells = (
        (
            row.system,
            *(say.seconds(time.value) for time in row.phases),
            *([row.start_text, row.speed_text] if fast else []),
        )
        for row in rows
    )
    grid = TextTable(("system", *phases, *([START, SPEED] if fast else [])), tuple(cells))
    return Chart(
        "ingestion", of_phases(phases, rows), CAPTION, BarChart(kinds, groups, say.seconds, "seconds"), grid
    )


def _bar(phases: Sequence[str], row: PhaseRow) -> Bar:
    times = {phase: time.value for phase, time in zip(phases, row.phases, strict=True)}
    whole = times.pop(WHOLE, None)
    return Bar("", tuple(times.values()), say.seconds(whole) if whole is not None else PARTLY)
