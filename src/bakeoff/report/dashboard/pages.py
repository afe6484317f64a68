"""The pages of the dashboard."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import streamlit as st
from markupsafe import Markup

from bakeoff.errors import BakeoffError
from bakeoff.report import run_history
from bakeoff.report.dashboard import folder, frames
from bakeoff.report.dashboard.frames import literal
from bakeoff.report.render import charts_svg, figures
from bakeoff.report.render.charts_svg import draw_plot
from bakeoff.report.render.html import templates
from bakeoff.report.sections import dashboard_charts, explorer, findings, optional_sections
from bakeoff.report.sections.pairs import pair_facts
from bakeoff.report.sections.parts import Chart, Plot, ReportSection, TextTable
from bakeoff.report.sections.reviewed import lift_means
from bakeoff.report.sections.systems import SHOWN as SYSTEMS
from bakeoff.runs.analysis import Result
from bakeoff.runtime.progress_file import RunProgress, process_is_alive, read_progress

MOST = 500


def overview(result: Result) -> None:
    """The verdict, the systems and their costs."""
    key = folder.key(result)
    quick = folder.glance(*key)
    st.title(literal(result.record.name))
    verdict = st.container()
    table = st.empty()
    with table:
        _show_systems(quick)
    left, right = st.columns(2)
    with left:
        st.subheader(literal(f"{quick.primary} with 95 % intervals"))
        show_plot(dashboard_charts.overview_means(quick), quick.primary)
    with right:
        st.subheader("Quality against latency")
        trade = dashboard_charts.overview_trade(quick)
        if trade.dots:
            show_plot(trade, "quality against latency")
        else:
            st.info("No latency: this run has too few questions for a percentile.")
        if (vectors := dashboard_charts.vector_trade(quick)) is not None:
            st.subheader("Quality against bytes per vector")
            show_plot(vectors, "quality against bytes per vector")
    for system, reason in result.failed.items():
        st.warning(literal(f"failed: {system}: {reason}"))
    with verdict:
        _say_verdict(result)
    if result.recommendation is not None:
        with table:
            _show_systems(quick, result.recommendation.system)
    _show_leaders(result)
    _show_groups(result)


def _show_systems(quick: explorer.QueryOverview, recommended: str | None = None) -> None:
    frame = frames.systems(quick, recommended)
    scores = (quick.primary, "low", "high", *quick.others)
    formats = {
        name: st.column_config.NumberColumn(format=frames.score_format(frame, name)) for name in scores
    }
    st.dataframe(frame, hide_index=True, width="stretch", column_config=formats)


def _say_verdict(result: Result) -> None:
    report = folder.report(*folder.key(result))
    headline = report.headline
    st.caption(literal(headline.question))
    if headline.banner:
        st.warning(literal(headline.banner))
    action, stop, why = headline.sentence.partition(". ")
    (st.success if headline.decided else st.info)(f"**{literal(action + stop.rstrip())}** {literal(why)}")
    for label, text in headline.lines:
        st.markdown(f"**{literal(label)}** {literal(text)}")
    for line in report.decision:
        st.markdown(f"- {literal(line)}")
    if result.reviewed is not None:
        st.caption(literal(result.reviewed.sentence))
    if headline.could_change:
        with st.expander("More notes on this result"):
            for line in headline.could_change:
                st.text(line)


def _show_leaders(result: Result) -> None:
    """Wins, losses and ties of the two leaders, and the semantic lift of all systems."""
    report = folder.report(*folder.key(result))
    left, right = st.columns(2)
    if report.pairs is not None and report.pairs.against:
        leaders = replace(report.pairs, against=report.pairs.against[:1])
        with left:
            st.subheader("Questions won by the two leaders")
            st.caption(literal(f"{leaders.best} against"))
            show_drawing(figures.wins(leaders, findings.of_differences(leaders)))
    right.subheader("Semantic lift")
    shown = [row.system for row in report.systems.rows]
    lifts = lift_means(result, folder.grid(*folder.key(result)), shown)
    if lifts:
        with right:
            show_plot(dashboard_charts.lift_chart(lifts), "semantic lift")
        count = next(iter(lifts.values())).n
        noun = "question" if count == 1 else "questions"
        right.caption(f"On {count:,} {noun} that people judged completely for every system")
    else:
        right.info(literal(f"Human review not yet completed: bakeoff review serve {result.path}"))


def _show_groups(result: Result) -> None:
    """Bars by category or another label, and the preset's key measure of each category."""
    report = folder.report(*folder.key(result))
    if report.breakdowns:
        st.header("By kind of question")
        first, second = st.columns(2)
        parts = {part.label: part for part in report.breakdowns}
        part = parts[first.selectbox("By", list(parts), key="label")]
        measure = second.selectbox("Measure", dashboard_charts.group_measures(part), key="grouped measure")
        show_plot(dashboard_charts.group_means(part, measure), f"{measure} by {part.label}")
        st.caption("Lines: 95 % intervals over questions. Differences inside a group are not tested here.")
    for section in report.extras:
        if section.id in ("weighted-scores", "key-measures", "minimums", "vectors"):
            _section(section)


def compare(result: Result) -> None:
    """Two systems, paired by query."""
    st.title("Compare two systems")
    quick = folder.glance(*folder.key(result))
    names = [row.system for row in quick.rows]
    if len(names) < 2:
        st.info("Only one system finished: there is nothing to compare it with.")
        return
    left, right = st.columns(2)
    a = left.selectbox("First", names, index=0)
    b = right.selectbox("Second", [name for name in names if name != a], index=0)
    measure = st.selectbox("Measure", list(result.record.measures))
    pair = result.compare(measure).pair(a, b)
    facts = TextTable(("", " "), tuple(pair_facts(pair, measure)))
    st.dataframe(frames.grid(facts), hide_index=True, width="stretch")
    rows = explorer.query_scores(result, measure, [a, b], folder.grid(*folder.key(result)))
    frame = frames.queries(rows, [a, b])
    show_plot(dashboard_charts.question_scatter(rows, a, b), f"{measure} of each question")
    frame["difference"] = frame[a] - frame[b]
    st.subheader("Questions that differ most")
    widest = frame.dropna().sort_values("difference", key=abs, ascending=False)
    st.dataframe(widest.head(MOST), hide_index=True, width="stretch")


def queries(result: Result) -> None:
    """Every query with its scores and, side by side, what systems returned."""
    st.title("Questions")
    quick = folder.glance(*folder.key(result))
    names = [row.system for row in quick.rows]
    shown = st.multiselect("Systems", names, default=names[:2])
    first, second, third = st.columns(3)
    measure = first.selectbox("Measure", list(result.record.measures))
    rows = explorer.query_scores(result, measure, shown, folder.grid(*folder.key(result)))
    words = second.text_input("Search", placeholder="words of a question").lower().split()
    picked = third.multiselect("Category", sorted({row.category for row in rows if row.category}))
    queries_shown = [
        row
        for row in rows
        if (not picked or row.category in picked) and all(w in f"{row.id} {row.text}".lower() for w in words)
    ]
    st.caption(f"{len(queries_shown):,} of {len(rows):,} questions")
    st.dataframe(frames.queries(queries_shown[:MOST], shown), hide_index=True, width="stretch")
    if queries_shown and shown:
        _side_by_side(result, queries_shown, shown)


def _side_by_side(result: Result, rows: list[explorer.ExploredQuery], systems: list[str]) -> None:
    labels = {row.id: f"{row.id} · {row.text}" for row in rows[:MOST]}
    query = st.selectbox("Question", list(labels), format_func=labels.__getitem__)
    text = next(row.text for row in rows if row.id == query)
    passages = explorer.returned_passages(result, query, text, systems)
    for system, column in zip(systems, st.columns(len(systems)), strict=True):
        column.subheader(literal(system))
        for passage in passages[system]:
            column.html(frames.passage(passage))
        if not passages[system]:
            column.info("returned nothing")


def load(result: Result) -> None:
    """Speed under load, resources, and growth with size."""
    st.title("Load")
    quick = folder.glance(*folder.key(result))
    sections = optional_sections.collect_optional_sections(
        result, [row.system for row in quick.rows[:SYSTEMS]]
    )
    if not any(section.id == "load" for section in sections):
        st.info(literal(f"No load was measured yet: bakeoff load {result.path}"))
    for section in sections:
        _section(section)


def _section(section: ReportSection) -> None:
    """A section of the report: its finding, its figures two by two with their numbers, its tables, its notes."""
    st.header(literal(section.title))
    if section.finding:
        st.text(section.finding)
    for number in range(0, len(section.charts), 2):
        for chart, column in zip(section.charts[number : number + 2], st.columns(2), strict=False):
            with column:
                _chart(chart)
    for grid in section.grids:
        st.dataframe(frames.grid(grid), hide_index=True, width="stretch")
    for note in section.notes:
        st.caption(literal(note))


def _chart(chart: Chart) -> None:
    st.markdown(f"**{literal(chart.finding)}**")
    show_drawing(charts_svg.draw(chart))
    st.caption(literal(" · ".join(f"{place} {name}" for place, name in charts_svg.keys(chart))))
    st.caption(literal(f"{chart.caption} {chart.hint}"))
    with st.expander("Numbers"):
        st.dataframe(frames.grid(chart.grid), hide_index=True, width="stretch")
        for note in chart.notes:
            st.caption(literal(note))


def review(result: Result) -> None:
    """The progress of the review."""
    from bakeoff.review.review_folder import load_state, open_review

    st.title("Review")
    try:
        state = load_state(open_review(result.path))
    except BakeoffError as exc:
        st.info(literal(str(exc)))
        return
    total = len(state.pool.items)
    st.progress(state.decided / total if total else 0.0, f"{state.decided:,} of {total:,} results judged")
    st.dataframe(frames.reviewers(state.read.entries), hide_index=True)
    for note in state.notes:
        st.warning(literal(note))
    section = folder.report(*folder.key(result)).review
    if section is not None and section.grids:
        _section(section)


def monitor() -> None:
    """Active runs: stages, rates, time left, failed systems."""
    st.title("Active runs")
    _watch()


@st.fragment(run_every=1.0)
def _watch() -> None:
    going = [(path, read_progress(path)) for path, _ in folder.runs()]
    live = [
        (path.name, progress)
        for path, progress in going
        if progress is not None and process_is_alive(progress)
    ]
    if not live:
        st.info("No run is active in this folder.")
    for name, progress in live:
        st.subheader(literal(name))
        _show(progress)


def _show(progress: RunProgress) -> None:
    now = time.time()
    if progress.total:
        st.progress(progress.done / progress.total, f"{progress.done} of {progress.total} systems")
    for stage in progress.stages:
        if stage.finished is not None:
            st.caption(literal(f"{stage.stage} {stage.label}: {stage.summary}"))
            continue
        rate, left = stage.rate(now), stage.left(now)
        speed = f" · {rate:,.0f} {stage.what}/s" if rate else ""
        time_left = f" · {left:,.0f} s left" if left else ""
        share = min(1.0, stage.done / stage.total) if stage.total else 0.0
        st.progress(
            share,
            literal(f"{stage.stage} {stage.label}: {stage.done:,} of {stage.total:,}{speed}{time_left}"),
        )
    for system, reason in progress.failed:
        st.error(literal(f"{system}: {reason}"))
    for warning in progress.warnings:
        st.warning(literal(warning))


def history() -> None:
    """The runs of the folder over time."""
    import pandas as pd

    st.title("Runs over time")
    try:
        entries = run_history.list_runs(folder.folder())
    except BakeoffError as exc:
        st.info(literal(str(exc)))
        return
    headers, rows = run_history.table(entries)
    names = [header or "note" for header in headers]
    st.dataframe(pd.DataFrame(rows, columns=names), hide_index=True, width="stretch")
    for number, note in enumerate(run_history.footnotes(entries), start=1):
        st.caption(literal(f"[{number}] {note}"))
    if sum(entry.mean is not None for entry in entries) > 1:
        show_plot(dashboard_charts.history_chart(entries), "runs over time")
        st.caption(
            "A line joins runs that share questions and the leading system; other runs are not comparable."
        )


SIZE = re.compile(r'viewBox="0 0 \d+ (\d+)"')
POLICY = (
    """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">"""
)
"""Keeps scripts out of figures, whatever text they contain."""
LARGEST = 1.1
"""How far a figure may grow beyond its own size."""


def show_plot(plot: Plot, label: str) -> None:
    """Draw a chart as in the report."""
    show_drawing(draw_plot(plot, label))


def show_drawing(drawing: Markup) -> None:
    """Show an SVG of the report in a frame, because Streamlit strips SVG from its pages."""
    style = templates().get_template("dashboard.css").render(theme=st.context.theme.type or "light")
    size = SIZE.search(drawing)
    height = int(size[1]) if size else 300
    st.iframe(f"{POLICY}<style>{style}</style>{drawing}", height=round(height * LARGEST) + 8)
