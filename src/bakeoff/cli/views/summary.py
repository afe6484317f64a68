"""A run's result on the terminal: the table of systems, the verdict, failures, notes."""

from __future__ import annotations

import shlex
from pathlib import Path

from bakeoff.cli import console
from bakeoff.cli.views.key_measures import print_key_measures
from bakeoff.cli.views.summary_json import index_size
from bakeoff.config.modes import RETRIEVER
from bakeoff.measures.names import parse
from bakeoff.presets.decisions import decision_lines
from bakeoff.report.sections.sanity import sanity_notes
from bakeoff.runs.analysis import Result
from bakeoff.runs.decisive_systems import compares_all
from bakeoff.runs.score_grid import read_grid
from bakeoff.runs.stored_times import SPEED, START, embed_speeds
from bakeoff.runs.vector_forms import form_families
from bakeoff.runs.verdict import (
    explain_variation,
    false_alarms,
    held_out_score,
    leak_sentence,
    loss_waterfall,
    tie_notes,
)
from bakeoff.runtime.count_text import count
from bakeoff.stats.comparison import SystemSummary
from bakeoff.stats.loss import BEYOND_DEPTH, Waterfall
from bakeoff.stats.number_format import join_names, letter
from bakeoff.stats.recommendation_text import Recommendation
from bakeoff.stats.verdict import Verdict

SHOWN = 25
LABEL = 9
WIDE_LABEL = 16
KEY_SYSTEMS = 5
Column = tuple[str, list[str]]
LOSSES = {
    BEYOND_DEPTH: "beyond the depth (raise `depth`)",
    "in no chunk": "in no chunk",
    "search misses": "missed by the search",
    "not placed": "not placed in the corpus",
    "model misses": "missed by the model",
    "index misses": "missed by the index",
    "fused or reranked away": "dropped by fusion or reranking",
    "ranked too low": "found but ranked too low",
}
"""Plain words for the steps at which points are lost."""


def print_result(result: Result, report: Path | None, *, verbose: bool = False) -> None:
    """Print the table, the recommendation with its three lines, and the report's path; with `verbose`, everything."""
    if not result.done:
        print_failed(result)
        return
    console.print_line()
    _print_table(result)
    console.print_line()
    print_recommendation(result.recommendation)
    print_failed(result)
    if verbose:
        console.print_line()
        _print_details(result)
    if report is not None:
        print_field("Report", str(report))
        if _can_be_taken(result):
            print_field("Use it", f"bakeoff take {shlex.quote(str(result.path))}")


def _can_be_taken(result: Result) -> bool:
    """Whether the recommended system can be taken: an existing search has no parts to write."""
    modes = dict(zip(result.systems["system"].to_pylist(), result.systems["mode"].to_pylist(), strict=True))
    recommendation = result.recommendation
    return recommendation is not None and modes[recommendation.system] != RETRIEVER.name


def print_recommendation(recommendation: Recommendation | None) -> None:
    """Print the recommendation, any warning that outweighs it, and its three lines."""
    if recommendation is None:
        return
    if recommendation.banner:
        print_field("DRAFTS", recommendation.banner)
    print_field("", recommendation.sentence, indent=0)
    for label, text in recommendation.lines:
        print_field(f"  {label}", text, indent=WIDE_LABEL)


def _print_details(result: Result) -> None:
    """Print the evidence behind the recommendation, and every note."""
    if compares_all(result):
        _print_judged(result)
    for note in (*result.record.notes, *tie_notes(result), *sanity_notes(result, read_grid(result))):
        if note:
            print_field("Note", note)


def _print_judged(result: Result) -> None:
    """Print the verdict and its evidence."""
    _print_verdict(result)
    best = result.recommendation.system if result.recommendation else None
    if best is not None:
        _print_negatives(result, best)
        _print_loss(result, best)
    _print_spread(result)
    for line in decision_lines(result):
        print_field("Preset", line)
    print_key_measures(result, result.ordered[:KEY_SYSTEMS])


def _print_table(result: Result) -> None:
    """Print the systems, best first, with as many measures as fit the terminal."""
    ordered = result.ordered
    shown = list(ordered[:SHOWN])
    first = [("", [letter(i) for i in range(1, len(shown) + 1)]), ("system", shown)]
    measures = [_measure_column(result, name, shown) for name in result.record.measures]
    last = [
        ("p50", [_milliseconds(result, system) for system in shown]),
        ("index", [_megabytes(index_size(result, system)) for system in shown]),
        *_form_columns(result, shown),
        *_speed_columns(result, shown),
        *_cost_columns(result, shown),
    ]
    columns = _fitting([*first, measures[0], *last[:2]], [*last[2:], *measures[1:]])
    columns = [column for column in (*first, *measures, *last) if column in columns]
    rows = [list(cells) for cells in zip(*(cells for _, cells in columns), strict=True)]
    console.table([header for header, _ in columns], rows, right=tuple(range(2, len(columns))))
    left = [f"{len(ordered) - SHOWN} more systems"] if len(ordered) > SHOWN else []
    hidden = sum(column not in columns for column in measures)
    left += [count(hidden, "more measure")] if hidden else []
    left += [header.replace("\n", " ") for header, cells in last if (header, cells) not in columns]
    if left:
        console.print_line(f"… and {join_names(tuple(left))} in the report")
    _print_prices(result)


def _fitting(columns: list[Column], optional: list[Column]) -> list[Column]:
    """The required columns, then optional ones while they fit the terminal.

    A model's start is shown only next to its speed.
    """
    for column in optional:
        if column[0] == START and SPEED not in (heading for heading, _ in columns):
            continue
        if _width([*columns, column]) <= console.out.width:
            columns = [*columns, column]
    return columns


def _print_prices(result: Result) -> None:
    """Print the date of the prices, the assumed speed and why a cost is missing."""
    from bakeoff.runs.cost import prices_of, run_costs

    prices = prices_of(result)
    if prices is None:
        return
    console.print_line(f"Costs at prices of {prices.date}, queries at the speed of one thread", style="dim")
    for note in dict.fromkeys(note for cost in run_costs(result, prices).values() for note in cost.notes):
        console.print_line(f"– {note}", style="dim")


def _form_columns(result: Result, systems: list[str]) -> list[Column]:
    """Bytes per vector, only if systems differ in them."""
    if not form_families(result):
        return []
    stored = {row["system"]: row["vector_bytes"] for row in result.systems.to_pylist()}
    return [("bytes per\nvector", [f"{stored[system]:,}" if stored[system] else "–" for system in systems])]


def _speed_columns(result: Result, systems: list[str]) -> list[Column]:
    """Chunks embedded per second (dated if an earlier run computed the vectors) and model start times."""
    speeds = embed_speeds(result)
    if not speeds:
        return []
    rows = [speeds.get(system) for system in systems]
    return [
        (SPEED, [row.speed_text if row else "–" for row in rows]),
        (START, [row.start_text if row else "–" for row in rows]),
    ]


def _cost_columns(result: Result, systems: list[str]) -> list[Column]:
    """The cost of a million queries and of a refresh; empty if the experiment has no prices."""
    from bakeoff.runs.cost import prices_of, run_costs

    prices = prices_of(result)
    if prices is None:
        return []
    costs = run_costs(result, prices)
    cells = [costs[system].texts if system in costs else ["–"] * 3 for system in systems]
    names = (f"{prices.currency} per\n1M queries", f"{prices.currency} per\nrefresh")
    columns = [(name, [row[i] for row in cells]) for i, name in enumerate(names)]
    return [(name, values) for name, values in columns if set(values) != {"–"}]  # a note gives the reason


def _measure_column(result: Result, name: str, systems: list[str]) -> Column:
    summaries, interval = result.summaries(name), name == result.record.primary
    mark = "*" if result.incomplete(name) else ""
    return _heading(name), [mean_text(summaries[system], interval=interval, mark=mark) for system in systems]


def _width(columns: list[Column]) -> int:
    gap = 2
    return sum(max(len(text) for text in (*header.split("\n"), *cells)) + gap for header, cells in columns)


def _print_verdict(result: Result) -> None:
    print_verdict_of(result.verdict)
    if sentence := leak_sentence(result):
        print_field("", sentence)
    _print_synthetic(result)


def print_verdict_of(verdict: Verdict) -> None:
    """Print a verdict, what would settle it, and its reasons."""
    print_field("Verdict", verdict.sentence)
    if verdict.would_settle:
        print_field("", verdict.would_settle)
    for place, reason in enumerate(verdict.reasons):
        print_field("" if place else "Why", reason)


def _print_synthetic(result: Result) -> None:
    """Print how many questions are machine-written drafts."""
    drafts, every = sum(result.queries["synthetic"].to_pylist()), result.queries.num_rows
    if drafts:
        drafted = (
            f"All {every:,} questions are" if drafts == every else f"{drafts:,} of {every:,} questions are"
        )
        print_field("", f"{drafted} synthetic drafts: they show that systems work, not what your users need.")


def _print_negatives(result: Result, system: str) -> None:
    alarms = false_alarms(result, system)
    if alarms is not None:
        separates = f"AUROC {number(alarms.auroc)}"
        if alarms.above is None:
            print_field("", f"{system}: {separates} for the one question without an answer.")
            return
        share = f"{system}: {alarms.above} of {alarms.negatives} questions without an answer"
        print_field("", f"{share} score above a threshold set on the other questions ({separates}).")


def _print_loss(result: Result, system: str) -> None:
    steps = loss_waterfall(result, system)
    if steps is not None:
        print_field("Loss", f"{loss_sentence(steps)} ({system}).")


def loss_sentence(waterfall: Waterfall) -> str:
    """Where a system loses points, largest loss first; steps below half a point are left out."""
    best = f"Best possible score {number(waterfall.start)}. " if waterfall.start < 1 - 5e-4 else ""
    steps = [step for step in waterfall.steps if abs(step.lost) >= 0.005]
    lost = [
        f"{100 * step.lost:.0f} % {LOSSES.get(step.step, step.step)}"
        for step in sorted(steps, key=lambda step: -step.lost)
    ]
    return f"{best}Lost points: {', '.join(lost) or 'none'}"


def _print_spread(result: Result) -> None:
    """Print which choice matters most, and what the winner would score on new questions."""
    shares = explain_variation(result)
    if shares is not None:
        parts = sorted(shares.factors, key=lambda factor: -factor.adjusted)
        factors = [
            f"{part.factor} ({part.adjusted * 100:.0f} % of the variation)"
            if part is parts[0]
            else f"{part.factor} {part.adjusted * 100:.0f} %"
            for part in parts
            if part.adjusted >= 0.005
        ]
        print_field("Factors", f"What matters most: {', '.join(factors) or 'no single choice'}.")
        for note in shares.confounding_notes:
            print_field("", note)
    chosen = held_out_score(result)
    if chosen is not None and chosen.candidates > 2:
        print_field("Choice", chosen.sentence)


def print_failed(result: Result) -> None:
    """Print which systems failed and why, and that the others are kept."""
    by_reason: dict[str, list[str]] = {}
    for system, reason in result.failed.items():
        by_reason.setdefault(reason, []).append(system)
    for reason, systems in by_reason.items():
        print_field("failed", f"{', '.join(systems)}: {reason}")
    if result.failed:
        done = len(result.done)
        finished = (
            "No system finished."
            if not done
            else "The other system finished; its results are kept."
            if done == 1
            else f"The other {done} systems finished; their results are kept."
        )
        print_field("", f"{finished} Run the same command to retry only the failed ones.")


def print_field(name: str, text: str, indent: int = LABEL) -> None:
    """Print a labelled paragraph, wrapped to the terminal."""
    console.print_paragraph(text, f"{name:<{indent}}")


def _heading(measure: str) -> str:
    parsed = parse(measure)
    unit, name = parsed.unit, str(parsed).split("(", maxsplit=1)[0]
    return f"{name}\n({unit})" if unit else name


def mean_text(summary: SystemSummary, *, interval: bool, mark: str = "") -> str:
    """A mean, with a mark if the truth of some queries is incomplete."""
    if summary.mean is None:
        return "–"
    text = number(summary.mean) + mark
    if interval and summary.interval.low is not None and summary.interval.high is not None:
        text += f"  [{number(summary.interval.low)} {number(summary.interval.high)}]"
    return text


def number(value: float) -> str:
    """A score in print: .81 below one, 1,234 above."""
    if abs(value) >= 10:
        return f"{value:,.0f}"
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def _milliseconds(result: Result, system: str) -> str:
    value = result.timing(system, "total", "p50_ms")
    return "–" if value is None else f"{value:.1f} ms" if value >= 1 else f"{value:.2f} ms"


def _megabytes(size: int | None) -> str:
    if size is None:
        return "–"
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"
