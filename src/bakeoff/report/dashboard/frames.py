"""Report rows → what Streamlit shows: tables and charts."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

import altair as alt
import pandas as pd

from bakeoff.report.render.svg import Scale, padded_range
from bakeoff.report.run_history import HistoryEntry as Past
from bakeoff.report.sections.explorer import ExploredQuery, QueryOverview, ShownPassage
from bakeoff.report.sections.parts import Axis, BarChart, Chart, LineChart, TextTable, middles
from bakeoff.review.ledger import LedgerEntry
from bakeoff.stats.comparison import PairComparison

INK = "#1f6f8b"
COLOURS = ("#2f8fc4", "#d55e00", "#1b9e77", "#c566a0", "#b39b00", "#7fb8e0", "#b5702a", "#8a9194")
"""Colours that differ for every kind of colour vision, on light and dark."""
GREY = "#9aa0a3"
HEIGHT = 310
"""Pixels of a figure of curves with its axis; the names under it come on top."""
STYLE = "white-space:pre-wrap;overflow-wrap:anywhere;font-size:.8rem;max-height:16rem;overflow:auto;margin:.2rem 0 1rem"


def systems(table: QueryOverview) -> pd.DataFrame:
    """One row a system, best first."""
    rows = []
    for place, row in enumerate(table.rows, start=1):
        size = None if row.index_bytes is None else row.index_bytes / 1e6
        named: dict[str, Any] = {"": place, "system": row.system, table.primary: row.mean}
        named |= {"low": row.low, "high": row.high, "questions": row.n}
        named |= dict(zip(table.others, row.others, strict=True))
        rows.append(named | {"p50 ms": row.p50_ms, "p95 ms": row.p95_ms, "index MB": size})
    return pd.DataFrame(rows)


def intervals(table: QueryOverview, most: int = 25) -> alt.Chart:
    """Means with their intervals, best on top."""
    rows = [{"system": r.system, "mean": r.mean, "low": r.low, "high": r.high} for r in table.rows[:most]]
    frame = pd.DataFrame(rows).dropna(subset=["mean"])
    base = alt.Chart(frame).encode(
        y=alt.Y("system:N", sort=None, title=None, axis=alt.Axis(labelLimit=320, labelOverlap=False))
    )
    bars = base.mark_rule(color=INK).encode(
        x=alt.X("low:Q", title=table.primary).scale(zero=False), x2="high:Q"
    )
    dots = base.mark_circle(color=INK, size=60).encode(x="mean:Q", tooltip=["system", "mean", "low", "high"])
    return (bars + dots).properties(height=alt.Step(24))


def over_time(entries: Sequence[Past]) -> alt.LayerChart:
    """The leader's mean of each run; only runs compared query by query are joined by a line."""
    known = [entry for entry in entries if entry.mean is not None]
    rows = []
    stretch = 0
    for place, entry in enumerate(known):
        stretch += place > 0 and entry.change is None
        rows.append({"run": entry.run, "mean": entry.mean, "system": entry.system, "stretch": stretch})
    measures = " and ".join(dict.fromkeys(entry.measure for entry in known))
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X(
            "run:N",
            sort=None,
            title=None,
            axis=alt.Axis(labelLimit=160, labelAngle=0 if len(rows) < 7 else -45),
        ),
        y=alt.Y("mean:Q", title=measures),
    )
    dots = base.mark_circle(color=INK, size=70).encode(tooltip=["run", "mean", "system"])
    return (base.mark_line(color=INK).encode(detail="stretch:N") + dots).properties(height=HEIGHT)


def trade(table: QueryOverview) -> alt.Chart:
    """Quality against latency; up and to the left is better."""
    rows = [{"system": r.system, "mean": r.mean, "p50 ms": r.p50_ms} for r in table.rows]
    frame = pd.DataFrame(rows).dropna()
    return (
        alt.Chart(frame)
        .mark_circle(size=90, color=INK)
        .encode(
            x=alt.X("p50 ms:Q", scale=alt.Scale(type="log"), title="p50 in ms (log scale)"),
            y=alt.Y("mean:Q", title=table.primary).scale(zero=False),
            tooltip=["system", "mean", "p50 ms"],
        )
    )


def queries(rows: Sequence[ExploredQuery], names: Sequence[str]) -> pd.DataFrame:
    """One row a query with its scores."""
    frame = [
        {"question": row.id, "text": row.text, "category": row.category, "difficulty": row.difficulty}
        | dict(zip(names, row.values, strict=True))
        for row in rows
    ]
    return pd.DataFrame(frame, columns=["question", "text", "category", "difficulty", *names])


def scatter(frame: pd.DataFrame, a: str, b: str) -> alt.Chart:
    """Each query by its two scores, in the colour of its category; above the line the first is better."""
    points = frame.rename(columns={a: "score of a", b: "score of b"}).dropna(
        subset=["score of a", "score of b"]
    )
    dots = (
        alt.Chart(points)
        .mark_circle(opacity=0.6, size=60, color=INK)
        .encode(
            x=alt.X("score of b:Q", title=b),
            y=alt.Y("score of a:Q", title=a),
            **_category_colour(frame),
            tooltip=["question", "text", "category", "score of a", "score of b"],
        )
    )
    line = (
        alt.Chart(pd.DataFrame({"x": [0, 1]}))
        .mark_line(color="#999", strokeDash=[4, 4])
        .encode(x="x:Q", y="x:Q")
    )
    return dots + line


def _category_colour(frame: pd.DataFrame) -> dict[str, alt.Color]:
    """A colour per category, grey from the ninth on; nothing where queries have no category."""
    names = [name for name in dict.fromkeys(frame["category"]) if name]
    if not names:
        return {}
    scale = alt.Scale(domain=names, range=[*COLOURS, *[GREY] * len(names)][: len(names)])
    legend = alt.Legend(orient="bottom", columns=3, title=None, values=names[: len(COLOURS)])
    return {"color": alt.Color("category:N", scale=scale, legend=legend)}


def pair_rows(pair: PairComparison) -> pd.DataFrame:
    """What a comparison found, a line each."""
    low, high = pair.interval.low, pair.interval.high
    interval = f"[{low:.4f}, {high:.4f}]" if low is not None and high is not None else "no interval"
    rows = [
        ("mean of the first", _format_value(pair.mean_a)),
        ("mean of the second", _format_value(pair.mean_b)),
        ("difference", f"{_format_value(pair.difference)} {interval}"),
        ("better, worse, equal", f"{pair.wins}, {pair.losses}, {pair.ties} of {pair.n} questions"),
        ("p (Holm over all pairs)", f"{pair.p_holm:.4f}"),
        ("p (Wilcoxon, this pair alone)", f"{pair.p_wilcoxon:.4f}"),
        ("smallest difference these questions show", _format_value(pair.mdd)),
        ("separated", f"yes: {pair.better}" if pair.better else "no"),
    ]
    return pd.DataFrame(rows, columns=["", " "])


def grid(table: TextTable) -> pd.DataFrame:
    """A table of texts, as the report has it."""
    return pd.DataFrame(table.rows, columns=list(table.headings))


def chart(found: Chart) -> alt.Chart:
    """A figure of the report."""
    return _lines(found.plot) if isinstance(found.plot, LineChart) else _bars(found.plot)


def _lines(plot: LineChart) -> alt.Chart:
    """Curves by system, with their fitted lines; the report's colours, in its order."""
    names = [one.name for one in plot.curves]
    dots = [(one.name, x, y) for one in plot.curves for x, y in one.points]
    joined = [(one.name, x, y) for one in plot.curves for x, y in one.fit or middles(one)]
    frame, line = (pd.DataFrame(rows, columns=["system", "x", "y"]) for rows in (dots, joined))
    frame["shown"] = [f"{plot.x.say(x)}, {plot.y.say(y)}" for _, x, y in dots]
    colour = alt.Color(
        "system:N",
        sort=names,
        scale=alt.Scale(domain=names, range=[*COLOURS, *[GREY] * len(names)][: len(names)]),
        legend=alt.Legend(
            orient="bottom", labelLimit=320, columns=1, title=None, values=names[: len(COLOURS)]
        ),
    )
    x = _position("x", plot.x, [x for _, x, _ in dots])
    y = _position("y", plot.y, [y for _, _, y in dots])
    dashed = [5, 3] if any(one.fit for one in plot.curves) else [1, 0]
    tooltip = ["system", alt.Tooltip("shown", title="value")]
    drawn = alt.Chart(line).mark_line(strokeWidth=1.5, strokeDash=dashed).encode(x=x, y=y, color=colour)
    dotted = alt.Chart(frame).mark_circle(size=45).encode(x="x:Q", y="y:Q", color=colour, tooltip=tooltip)
    return (drawn + dotted).properties(height=HEIGHT + 30 * min(len(names), len(COLOURS)))


def _position(way: Literal["x", "y"], axis: Axis, known: Sequence[float]) -> alt.X | alt.Y:
    """One direction of a figure: its scale, and ticks written as in the report."""
    channel = {"x": alt.X, "y": alt.Y}[way]
    ticks = axis.ticks or padded_range(known, 0, 1, log=axis.log).ticks()
    scale = alt.Scale(type="log" if axis.log else "linear", nice=False, zero=False, padding=14)
    return channel(f"{way}:Q", title=axis.name, axis=_ticks(ticks, axis.say), scale=scale)


def _ticks(values: Sequence[float], say: Callable[[float], str]) -> alt.Axis:
    """An axis with these values, each by its name."""
    parts = [f"abs(datum.value - {value!r}) <= 1e-6 * {abs(value)!r} ? '{say(value)}'" for value in values]
    return alt.Axis(values=list(values), labelExpr=" : ".join([*parts, "''"]), labelOverlap=True)


def _bars(plot: BarChart) -> alt.Chart:
    """Bars by system and phase, made of their parts."""
    rows = [
        {
            "system": " · ".join(filter(None, (group.name, one.label))),
            "side": kind,
            "order": number,
            "value": part,
            "shown": plot.say(part),
        }
        for group in plot.groups
        for one in group.bars
        for number, (kind, part) in enumerate(zip(plot.kinds, one.parts, strict=True))
    ]
    names = list(dict.fromkeys(row["system"] for row in rows))
    legend = alt.Legend(orient="bottom", title=None) if len(plot.kinds) > 1 else None
    colour = alt.Color(
        "side:N",
        scale=alt.Scale(domain=list(plot.kinds), range=list(COLOURS[: len(plot.kinds)])),
        legend=legend,
    )
    axis = alt.Axis(labelLimit=300, labelOverlap=False)
    longest = max(
        (sum(part or 0.0 for part in one.parts) for group in plot.groups for one in group.bars), default=1.0
    )
    ticks = Scale(0.0, longest or 1.0, 0, 1).ticks(4)
    return (
        alt.Chart(pd.DataFrame(rows))
        .mark_bar()
        .encode(
            y=alt.Y("system:N", sort=names, title=None, axis=axis),
            x=alt.X("value:Q", title=plot.name, axis=_ticks(ticks, plot.say)),
            color=colour,
            order="order:O",
            tooltip=["system", "side", alt.Tooltip("shown", title="value")],
        )
        .properties(height=alt.Step(20))
    )


def literal(text: str) -> str:
    """A text that Markdown leaves as it is."""
    return re.sub(r"([\\`*_\[\]<>$:#|~^])", r"\\\1", text)


def reviewers(entries: Sequence[LedgerEntry]) -> pd.DataFrame:
    """How many lines each reviewer wrote, and when the last was."""
    latest: dict[str, tuple[int, str]] = {}
    for entry in entries:
        count, last = latest.get(entry.reviewer, (0, ""))
        latest[entry.reviewer] = (count + 1, max(last, entry.time))
    rows = [(name, count, last) for name, (count, last) in sorted(latest.items())]
    return pd.DataFrame(rows, columns=["reviewer", "entries", "last"])


def passage(shown: ShownPassage) -> str:
    """A passage as safe HTML: every text is escaped, the query's words are marked."""
    words = "".join(
        f"<mark>{html.escape(text)}</mark>" if hit else html.escape(text) for text, hit in shown.pieces
    )
    where = " · ".join(part for part in (shown.document, shown.section, shown.lines) if part)
    head = f"<strong>{shown.rank}</strong> {html.escape(where)} <small>{shown.score:.4f}</small>"
    body = words or "<em>the text of results below rank 10 is not stored</em>"
    return f"<div>{head}<pre style='{STYLE}'>{body}</pre></div>"


def _format_value(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
