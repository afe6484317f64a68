"""Describes a measure, as data for `bakeoff explain` and `bakeoff list measures`."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.measures.definitions import Bounds, RequiredInput
from bakeoff.measures.names import Measure, parse

_BUDGET = (
    "Instead of the first k: whole results are read until the next one would exceed {:,} tokens; that one and all "
    "after it are left out."
)
_UNDECLARED = {True: "the value of an ideal ranking on the truth", False: "not known"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything a reader needs to know about one measure."""

    name: str
    meaning: str
    formula: str
    unit: str
    direction: str
    range: str
    ceiling: str
    unjudged: str
    needs: str
    also_called: tuple[str, ...]
    note: str


def explain(measure: str | Measure) -> Explanation:
    """What a measure means, how it is computed, and how to read it."""
    wanted = parse(measure)
    row = wanted.definition
    return Explanation(
        name=str(wanted),
        meaning=row.meaning,
        formula=row.formula,
        unit=f"counts {wanted.unit}s"
        if wanted.unit
        else f"counts the unit of the experiment ({', '.join(row.units)})",
        direction="higher is better" if row.higher_is_better else "lower is better",
        range=f"{row.low:g} to {row.high:g}",
        ceiling=row.ceiling or _UNDECLARED[row.needs is RequiredInput.JUDGMENTS],
        unjudged=row.bounds
        if row.bounds is Bounds.NONE
        else f"unjudged results count as not relevant; {row.bounds}",
        needs=row.needs,
        also_called=row.long_names,
        note=f"{_BUDGET.format(wanted.budget)} {row.note}".strip() if wanted.budget is not None else row.note,
    )
