"""A report's tables for a paper: LaTeX with booktabs, one file per table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bakeoff.report.build import Report, charts
from bakeoff.report.render.number_text import format_incomplete, p_value, score
from bakeoff.report.sections.breakdown import Breakdown
from bakeoff.report.sections.cost_quality import CostQualityPoint
from bakeoff.report.sections.findings import of_trade
from bakeoff.report.sections.pairs import PairTable
from bakeoff.report.sections.parts import Chart
from bakeoff.report.sections.systems import SystemsTable
from bakeoff.runs.score_grid import GridMean

_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "·": r"$\cdot$", "–": "--", "≤": r"$\leq$",
    "×": r"$\times$", "<": r"$<$", ">": r"$>$", "|": r"$|$",
}  # fmt: skip


def files(report: Report) -> dict[str, str]:
    """Files by name; tables without data are left out."""
    texts = {"systems.tex": _systems(report.systems)}
    if report.pairs is not None:
        texts["pairs.tex"] = _pairs(report.pairs)
    for part in report.breakdowns:
        texts[f"by_{part.label}.tex"] = _breakdown(part)
        if part.others:
            texts[f"by_{part.label}_measures.tex"] = _other_measures(part)
    for trade in report.trades:
        texts[f"quality_{trade.name}.tex"] = _trade(trade, report.systems)
    for chart in charts(report):
        texts[f"{chart.name}.tex"] = _chart(chart)
    return texts


def plain(text: object) -> str:
    """Text with LaTeX escaped; characters its fonts may lack need a Unicode engine."""
    return "".join(_SPECIAL.get(character, character) for character in " ".join(str(text).split()))


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], caption: str, left: int = 1) -> str:
    """A table with `left` text columns, then number columns; cells are already escaped."""
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{caption}}}",
        rf"  \begin{{tabular}}{{{'l' * left}{'r' * (len(headings) - left)}}}",
        r"    \toprule",
        f"    {' & '.join(headings)} \\\\",
        r"    \midrule",
        *(f"    {' & '.join(row)} \\\\" for row in rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "% needs \\usepackage{booktabs}\n" + "\n".join(lines) + "\n"


def _systems(systems: SystemsTable) -> str:
    headings = ["System", *(plain(note.heading) for note in systems.measures), "p50 (ms)"]
    rows = [
        [plain(row.system), *(_mean(mean) for mean in row.means), _number(row.p50_ms)] for row in systems.rows
    ]
    counts = sorted({mean.n for row in systems.rows for mean in row.means})
    n = "--".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1]))) if counts else "0"
    caption = f"Means with 95\\% bootstrap intervals over questions ($n = {n}$)."
    missing = max((mean.incomplete for row in systems.rows for mean in row.means), default=0)
    if missing:
        caption += f" *: the truth of {missing:,} questions names files that were not read."
    return table(headings, rows, caption)


def _pairs(pairs: PairTable) -> str:
    headings = [
        "Pair",
        "$n$",
        "Difference",
        "95\\% interval",
        "Better/worse/equal",
        f"$p$ ({pairs.correction})",
    ]
    rows = []
    for pair in pairs.against:
        low, high = pair.interval.low, pair.interval.high
        interval = f"[{_number(low)}, {_number(high)}]" if low is not None and high is not None else "--"
        counts = f"{pair.wins}/{pair.losses}/{pair.ties}"
        name = f"{plain(pair.a)} $-$ {plain(pair.b)}"
        p = plain(p_value(pair.p_corrected))
        rows.append([name, f"{pair.n:,}", _number(pair.difference), interval, counts, p])
    caption = f"The best system against each other one, paired by question; $p$ corrected over {pairs.total:,} pairs."
    return table(headings, rows, caption)


def _breakdown(part: Breakdown) -> str:
    headings = ["System", *(plain(group) for group in part.groups)]
    rows = [[plain(system), *map(_group, means)] for system, means in part.rows]
    return table(headings, rows, f"Means by {plain(part.label)}, each with the number of questions.")


def _other_measures(part: Breakdown) -> str:
    headings = ["Measure", "System", *(plain(group) for group in part.groups)]
    rows = [[plain(measure), plain(system), *map(_group, means)] for measure, system, means in part.others]
    caption = f"Other measures by {plain(part.label)}, each with the number of questions."
    return table(headings, rows, caption, 2)


def _group(mean: GridMean) -> str:
    return f"{_mean(mean)} ({mean.n:,})"


def _trade(trade: CostQualityPoint, systems: SystemsTable) -> str:
    headings = ["System", plain(systems.measures[0].label), plain(trade.axis), "On the front"]
    rows = [
        [
            plain(point.system),
            _mean(systems.rows[point.place - 1].primary),
            plain(trade.say(point.cost)),
            "yes" if point.on_front else "no",
        ]
        for point in trade.points
    ]
    return table(headings, rows, plain(f"{of_trade(trade)}."))


def _chart(chart: Chart) -> str:
    """The numbers of a figure, with its finding as the caption."""
    rows = [[plain(cell) for cell in row] for row in chart.grid.rows]
    return table(
        [plain(name) for name in chart.grid.headings], rows, plain(f"{chart.finding}."), chart.grid.left
    )


def _mean(mean: GridMean) -> str:
    low, high = mean.interval.low, mean.interval.high
    if mean.value is None:
        return "--"
    shown = plain(format_incomplete(mean.value, mean.incomplete))
    return (
        f"{shown} [{plain(score(low))}, {plain(score(high))}]"
        if low is not None and high is not None
        else shown
    )


def _number(value: float | None) -> str:
    return "--" if value is None else plain(f"{value:.3f}".replace("-", "−"))
