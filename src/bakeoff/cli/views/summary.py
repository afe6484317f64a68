"""A result on the terminal: the table of systems, the verdict, what failed, what to do next."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from bakeoff.cli import console
from bakeoff.cli.views.key_measures import key_measures_json, say_key_measures
from bakeoff.cli.views.sanitise import one_line
from bakeoff.measures.names import parse
from bakeoff.presets.decisions import decision_lines, preset_lines
from bakeoff.report.sections.pairs import too_many
from bakeoff.report.sections.sanity import sanity_notes
from bakeoff.report.sections.systems import order_systems
from bakeoff.runs.analysis import Result
from bakeoff.runs.score_grid import read_grid
from bakeoff.runs.stored_times import SPEED, embed_speeds
from bakeoff.runs.verdict import (
    explain_variation,
    false_alarms,
    held_out_score,
    leak_sentence,
    loss_waterfall,
    tie_notes,
    verdict_without_leaks,
)
from bakeoff.stats.clusters import EffectiveQuestions
from bakeoff.stats.comparison import SystemSummary
from bakeoff.stats.verdict import Verdict

SHOWN = 25
PRESET_LINES = 3
LABEL = 9
KEY_SYSTEMS = 5
HARD_SPACE = "\u00a0"


def say_result(result: Result, report: Path | None) -> None:
    """Print everything a person wants to know first."""
    if not result.done:
        _say_failed(result)
        return
    console.print_line()
    _say_table(result)
    console.print_line()
    if _comparable(result):
        _say_judged(result)
    else:
        say_field("Verdict", f"{len(result.done):,} systems are too many to compare all pairs of them here.")
        say_field("", "Compare two of them: bakeoff compare RUN A B")
    _say_failed(result)
    for note in (*result.record.notes, *tie_notes(result), *sanity_notes(result, read_grid(result))):
        if note:
            say_field("Note", note)
    if report is not None:
        say_field("Report", str(report))


def _say_judged(result: Result) -> None:
    """The verdict, and what it rests on."""
    _say_verdict(result)
    best = result.verdict.system or result.comparison.best
    if best is not None:
        _say_negatives(result, best)
        _say_loss(result, best)
    _say_spread(result)
    for line in [*decision_lines(result), *preset_lines(result)][:PRESET_LINES]:
        say_field("Preset", line)
    say_key_measures(result, _order(result)[:KEY_SYSTEMS])


def _comparable(result: Result) -> bool:
    return not too_many(len(result.done), result.queries.num_rows)


def result_json(result: Result) -> dict[str, Any]:
    """The outcome for a script."""
    rows, speeds = [], embed_speeds(result)
    for system in result.done:
        means = {
            name: {
                **mean_json(result.summaries(name)[system]),
                "incomplete_truth": len(result.incomplete(name)),
            }
            for name in result.record.measures
        }
        p50 = result.timing(system, "total", "p50_ms")
        speed = speeds[system].speed if system in speeds else None
        rows.append(
            {
                "system": system,
                "measures": means,
                "p50_ms": p50,
                "index_bytes": _size(result, system),
                "embeddings_per_second": speed.value if speed else None,
                "embeddings_measured": (speed.note or None) if speed else None,
            }
        )
    found: dict[str, Any] = {"run": str(result.path), "systems": rows, "failed": result.failed}
    if result.done and _comparable(result):
        found["verdict"] = {**verdict_json(result.verdict), "without_leaks": _without_leaks(result)}
        found["questions"] = _questions_json(result.comparison.questions)
    if keys := key_measures_json(result):
        found["key_measures"] = keys
    return found


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict for a script."""
    return {
        "kind": str(verdict.kind),
        "rule": verdict.rule,
        "system": verdict.system,
        "recommended": list(verdict.recommended),
        "holds_level": verdict.holds_level,
        "possible": list(verdict.group),
        "sentence": verdict.sentence,
        "reasons": list(verdict.reasons),
        "would_settle": verdict.would_settle,
    }


def _without_leaks(result: Result) -> dict[str, Any] | None:
    """The verdict without the queries that occur in a document, where some do."""
    verdict = verdict_without_leaks(result)
    if verdict is None:
        return None
    return {
        "leaked": list(result.record.leaked),
        "kind": str(verdict.kind),
        "system": verdict.system,
        "sentence": verdict.sentence,
    }


def _questions_json(found: EffectiveQuestions | None) -> dict[str, Any] | None:
    """How many questions there are, in how many clusters, and what they are worth."""
    return None if found is None else {**asdict(found), "effective": found.effective}


def _say_table(result: Result) -> None:
    """Systems best first, with as many measures as the terminal is wide."""
    ordered = _order(result)
    shown = ordered[:SHOWN]
    first = [("", [str(i) for i in range(1, len(shown) + 1)]), ("system", shown)]
    measures = [_measure_column(result, name, shown) for name in result.record.measures]
    last = [
        ("p50", [_milliseconds(result, system) for system in shown]),
        ("index", [_megabytes(_size(result, system)) for system in shown]),
        *_speed_columns(result, shown),
        *_cost_columns(result, shown),
    ]
    kept = measures[:1]
    for column in measures[1:]:
        if _width([*first, *kept, column, *last]) <= console.out.width:
            kept.append(column)
    columns = [*first, *kept, *last]
    rows = [list(cells) for cells in zip(*(cells for _, cells in columns), strict=True)]
    console.table([header for header, _ in columns], rows, right=(0, *range(2, len(columns))))
    left = [f"{len(ordered) - SHOWN} more systems"] if len(ordered) > SHOWN else []
    hidden = len(measures) - len(kept)
    left += [f"{hidden} more measure{'s' if hidden > 1 else ''}"] if hidden else []
    if left:
        console.print_line(f"… and {' and '.join(left)} in the report")
    _say_prices(result)


def _say_prices(result: Result) -> None:
    """Of when the prices are, at which speed, and why a cost is missing."""
    from bakeoff.benchmark.results.cost import prices_of, run_costs

    prices = prices_of(result)
    if prices is None:
        return
    console.print_line(f"Costs at prices of {prices.date}, queries at the speed of one thread", style="dim")
    for note in dict.fromkeys(note for one in run_costs(result, prices).values() for note in one.notes):
        console.print_line(f"– {note}", style="dim")


def _speed_columns(result: Result, systems: list[str]) -> list[tuple[str, list[str]]]:
    """Chunks embedded per second, where a system embeds; dated where an earlier run made the vectors."""
    found = embed_speeds(result)
    if not found:
        return []
    cells = [found[system].speed_text if system in found else "–" for system in systems]
    return [(SPEED, cells)]


def _cost_columns(result: Result, systems: list[str]) -> list[tuple[str, list[str]]]:
    """What a million queries and a refresh cost, where the experiment has prices."""
    from bakeoff.benchmark.results.cost import prices_of, run_costs
    from bakeoff.cli.views.load import cost_cells

    prices = prices_of(result)
    if prices is None:
        return []
    costs = run_costs(result, prices)
    cells = [cost_cells(costs.get(system)) for system in systems]
    names = (f"{prices.currency} a\n1M queries", f"{prices.currency} a\nrefresh")
    columns = [(name, [row[i] for row in cells]) for i, name in enumerate(names)]
    return [
        (name, values) for name, values in columns if set(values) != {"–"}
    ]  # the reason stands below the table


def _measure_column(result: Result, name: str, systems: list[str]) -> tuple[str, list[str]]:
    found, interval = result.summaries(name), name == result.record.primary
    mark = "*" if result.incomplete(name) else ""
    return _heading(name), [mean_text(found[system], interval=interval, mark=mark) for system in systems]


def _width(columns: list[tuple[str, list[str]]]) -> int:
    gap = 2
    return sum(max(len(text) for text in (*header.split("\n"), *cells)) + gap for header, cells in columns)


def _say_verdict(result: Result) -> None:
    say_verdict_of(result.verdict)
    if sentence := leak_sentence(result):
        say_field("", sentence)
    _say_synthetic(result)


def say_verdict_of(verdict: Verdict) -> None:
    """A verdict with what would settle it, next to the sentence it is about, and its reasons."""
    say_field("Verdict", verdict.sentence)
    if verdict.would_settle:
        say_field("", verdict.would_settle)
    for reason in verdict.reasons:
        say_field("", reason)


def _say_synthetic(result: Result) -> None:
    """How many questions no person asked: a verdict on drafts is about drafts."""
    drafts, every = sum(result.queries["synthetic"].to_pylist()), result.queries.num_rows
    if drafts:
        which = (
            f"All {every:,} questions are" if drafts == every else f"{drafts:,} of {every:,} questions are"
        )
        say_field("", f"{which} synthetic drafts: this says that systems work, not what your users need.")


def _say_negatives(result: Result, system: str) -> None:
    alarms = false_alarms(result, system)
    if alarms is not None:
        separates = f"AUROC {number(alarms.auroc)}"
        if alarms.above is None:
            say_field("", f"{system}: {separates} for the one question without an answer against the others.")
            return
        share = f"{system}: {alarms.above} of {alarms.negatives} questions without an answer"
        say_field("", f"{share} score above a threshold set on the other questions ({separates}).")


def _say_loss(result: Result, system: str) -> None:
    steps = loss_waterfall(result, system)
    if steps is not None:
        say_field("Loss", f"{system}: {steps.sentence}")


def _say_spread(result: Result) -> None:
    """Which choice matters most, and what the winner scores where it was not chosen."""
    shares = explain_variation(result)
    if shares is not None:
        parts = sorted(shares.factors, key=lambda factor: -factor.adjusted)
        told = " · ".join(f"{part.factor} {part.adjusted:.0%}" for part in parts if part.adjusted >= 0.005)
        say_field("Spread", f"of the systems' means goes with: {told or 'no one choice'}")
        for note in shares.confounding_notes:
            say_field("", note)
    chosen = held_out_score(result)
    if chosen is not None and chosen.candidates > 2:
        say_field("Choice", chosen.sentence)


def _say_failed(result: Result) -> None:
    alike: dict[str, list[str]] = {}
    for system, reason in result.failed.items():
        alike.setdefault(reason, []).append(system)
    for reason, systems in alike.items():
        say_field("failed", f"{', '.join(systems)}: {reason}")
    if result.failed:
        done = len(result.done)
        say_field(
            "",
            f"The other {done} system{'' if done == 1 else 's'} finished; their results are kept. "
            "The same command tries only the failed again.",
        )


def say_field(name: str, text: str) -> None:
    """A labelled line, wrapped to the terminal."""
    import textwrap

    width = max(console.out.width - LABEL, 40)
    whole = one_line(text).replace(" %", f"{HARD_SPACE}%").replace(" ·", f"{HARD_SPACE}·")
    first, *rest = textwrap.wrap(whole, width, break_long_words=False, break_on_hyphens=False) or [""]
    console.print_line(f"{name:<{LABEL}}{first.replace(HARD_SPACE, ' ')}")
    for line in rest:
        console.print_line(" " * LABEL + line.replace(HARD_SPACE, " "))


def _order(result: Result) -> list[str]:
    """Systems best first, as the report has them: by the queries that all ranked ones share (F24)."""
    summaries = result.summaries(result.record.primary)
    means = {system: summaries[system].mean for system in result.done}
    ranking = result.comparison.ranking if _comparable(result) else ()
    return list(order_systems(means, ranking, parse(result.record.primary).definition.higher_is_better))


def _heading(measure: str) -> str:
    parsed = parse(measure)
    unit, name = parsed.unit, str(parsed).split("(", maxsplit=1)[0]
    name = f"M{name}" if name.startswith("RR") else name  # the mean of reciprocal ranks has a name of its own
    return f"{name}\n({unit})" if unit else name


def mean_text(summary: SystemSummary, *, interval: bool, mark: str = "") -> str:
    """A mean, with a mark where the truth of some of its queries is incomplete."""
    if summary.mean is None:
        return "–"
    text = number(summary.mean) + mark
    if interval and summary.interval.low is not None and summary.interval.high is not None:
        text += f"  [{number(summary.interval.low)} {number(summary.interval.high)}]"
    return text


def number(value: float) -> str:
    """A score as people write it: .81 below one, 1,234 above."""
    if abs(value) >= 10:
        return f"{value:,.0f}"
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def mean_json(summary: SystemSummary) -> dict[str, Any]:
    """A mean with its interval for a script."""
    interval = [summary.interval.low, summary.interval.high]
    return {"mean": summary.mean, "interval": interval, "n": summary.n, "excluded": len(summary.excluded)}


def _milliseconds(result: Result, system: str) -> str:
    value = result.timing(system, "total", "p50_ms")
    return "–" if value is None else f"{value:.1f} ms" if value >= 1 else f"{value:.2f} ms"


def _size(result: Result, system: str) -> int | None:
    sizes = zip(result.systems["system"].to_pylist(), result.systems["index_bytes"].to_pylist(), strict=True)
    return dict(sizes)[system]


def _megabytes(size: int | None) -> str:
    return "–" if size is None else f"{size / 1e6:.1f} MB"
