"""Bars of the dashboard: means by group of queries, wins of the two leaders, semantic lift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd

from bakeoff.report.dashboard.frames import COLOURS, GREY
from bakeoff.report.sections.breakdown import Breakdown
from bakeoff.runs.score_grid import GridMean
from bakeoff.stats.comparison import PairComparison

SYSTEMS = 5
"""Systems with bars of their own in a group."""
BAR = 15
"""Pixels of a bar."""
LEGEND = 60
"""Pixels of an axis and the edge of the names under it; each name takes 30 more."""
INTERVAL = "#777c80"


def measures(part: Breakdown) -> tuple[str, ...]:
    """The measures that a breakdown has, the primary one first."""
    primary = part.rows[0][1][0].measure
    return (primary, *dict.fromkeys(measure for measure, _, _ in part.others))


def group_rows(part: Breakdown, measure: str) -> list[tuple[str, tuple[GridMean, ...]]]:
    """The first systems with their means of a measure by group."""
    others = [(system, means) for name, system, means in part.others if name == measure]
    return list(others or part.rows)[:SYSTEMS]


def group_bars(part: Breakdown, measure: str) -> alt.LayerChart:
    """Means of the first systems by group, with their intervals."""
    rows = group_rows(part, measure)
    frame = pd.DataFrame(
        _row(mean, system) | {"group": group}
        for system, means in rows
        for group, mean in zip(part.groups, means, strict=True)
        if mean.value is not None
    )
    names = [system for system, _ in rows]
    axis = alt.Axis(labelLimit=160, labelOverlap=False)
    base = alt.Chart(frame).encode(
        y=alt.Y("group:N", sort=list(part.groups), title=None, axis=axis),
        yOffset=alt.YOffset("system:N", sort=names),
    )
    return _with_intervals(base, names, measure).properties(
        height=BAR * len(part.groups) * (len(names) + 1) + LEGEND + 30 * len(names)
    )


def lift_bars(lifts: Mapping[str, GridMean]) -> alt.LayerChart:
    """Semantic lift of every system, with its interval."""
    frame = pd.DataFrame(_row(mean, system) for system, mean in lifts.items())
    names, measure = list(lifts), next(iter(lifts.values())).measure
    axis = alt.Axis(labels=False, ticks=False)
    base = alt.Chart(frame).encode(y=alt.Y("system:N", sort=names, title=None, axis=axis))
    return _with_intervals(base, names, measure).properties(
        height=3 * BAR * len(names) + LEGEND + 30 * len(names)
    )


def _row(mean: GridMean, system: str) -> dict[str, str | float | None]:
    return {
        "system": system,
        "mean": mean.value,
        "low": mean.interval.low,
        "high": mean.interval.high,
        "n": mean.n,
    }


def _with_intervals(base: alt.Chart, names: Sequence[str], measure: str) -> alt.LayerChart:
    """Bars in the colours of their systems, with a line from end to end of each interval."""
    colour = alt.Color(
        "system:N",
        sort=list(names),
        scale=alt.Scale(domain=list(names), range=[*COLOURS, *[GREY] * len(names)][: len(names)]),
        legend=alt.Legend(orient="bottom", columns=1, labelLimit=320, title=None),
    )
    tooltip = ["system", alt.Tooltip("mean:Q", format=".3f"), "low", "high", "n"]
    bars = base.mark_bar(opacity=0.75).encode(x=alt.X("mean:Q", title=measure), color=colour, tooltip=tooltip)
    ends = base.mark_rule(color=INTERVAL, strokeWidth=2).encode(x="low:Q", x2="high:Q")
    return bars + ends


def win_bar(pair: PairComparison) -> alt.LayerChart:
    """On how many questions each of two systems is better, and on how many they are equal."""
    kinds = (f"better: {pair.a}", "equal", f"better: {pair.b}")
    counts = (pair.wins, pair.ties, pair.losses)
    starts = (0, pair.wins, pair.wins + pair.ties)
    frame = pd.DataFrame(
        {"kind": kinds, "questions": counts, "order": (0, 1, 2)}
        | {"middle": [start + count / 2 for start, count in zip(starts, counts, strict=True)]}
    )
    colour = alt.Color(
        "kind:N",
        sort=list(kinds),
        scale=alt.Scale(domain=list(kinds), range=[COLOURS[0], GREY, COLOURS[1]]),
        legend=alt.Legend(orient="bottom", columns=1, labelLimit=320, title=None),
    )
    bars = (
        alt.Chart(frame)
        .mark_bar(size=40)
        .encode(
            x=alt.X("questions:Q", stack="zero", title="questions", scale=alt.Scale(domain=[0, pair.n])),
            color=colour,
            order="order:O",
            tooltip=["kind", "questions"],
        )
    )
    shown = frame[frame["questions"] > 0]
    numbers = (
        alt.Chart(shown)
        .mark_text(fontSize=14, fontWeight="bold", color="white")
        .encode(x="middle:Q", text="questions:Q")
    )
    return (bars + numbers).properties(height=180)
