"""Where systems lose points, step by step, and how they score queries without a right answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.errors import ComparisonError
from bakeoff.runs.analysis import Result
from bakeoff.runs.table_rows import row_count
from bakeoff.runs.verdict import FalseAlarmStats, false_alarms, loss_waterfall
from bakeoff.stats.loss import Waterfall
from bakeoff.storage.schemas import RANKINGS

ROWS = 20_000_000
"""Above this number of ranking rows, top scores are not read: they would not fit into memory."""


@dataclass(frozen=True, slots=True)
class LossTable:
    """The mean score lost at each step, by system; None if a system has no such step."""

    steps: tuple[str, ...]
    rows: tuple[tuple[str, Waterfall], ...]

    def losses_of(self, waterfall: Waterfall) -> tuple[float | None, ...]:
        """One system's losses, in the order of the table's steps."""
        lost = {step.step: step.lost for step in waterfall.steps}
        return tuple(lost.get(step) for step in self.steps)


def loss_table(result: Result, systems: Sequence[str]) -> LossTable | None:
    """The losses of systems with recorded steps; None if there are none."""
    rows = [(system, found) for system in systems if (found := _waterfall(result, system)) is not None]
    if not rows:
        return None
    longest = sorted((waterfall.steps for _, waterfall in rows), key=len, reverse=True)
    names = dict.fromkeys(step.step for steps in longest for step in steps[:-1])
    last = dict.fromkeys(steps[-1].step for steps in longest)
    return LossTable((*(name for name in names if name not in last), *last), tuple(rows))


def alarm_rows(result: Result, systems: Sequence[str]) -> tuple[tuple[str, FalseAlarmStats], ...]:
    """How often a query without a right answer scores like one that has one; empty if unknown."""
    if row_count(result, RANKINGS) > ROWS:
        return ()
    rates = ((system, false_alarms(result, system)) for system in systems)
    return tuple((system, alarms) for system, alarms in rates if alarms is not None)


def _waterfall(result: Result, system: str) -> Waterfall | None:
    try:
        return loss_waterfall(result, system)
    except ComparisonError:
        # no query has values for every step
        return None
