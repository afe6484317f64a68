"""bakeoff report, compare: a run read again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli.workers import Statistics, workers_of

if TYPE_CHECKING:
    from bakeoff.stats.comparison import Comparison, PairComparison


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(report)
    app.command("final-report")(final_report)
    app.command()(compare)
    app.command()(diff)


FORMATS = ("html", "md", "latex", "svg", "png", "pdf")


Run = Annotated[Path, typer.Argument(help="A run's folder.")]
Out = Annotated[Path | None, typer.Option("--out", help="Folder for the files. [default: the run's]")]
Formats = Annotated[str, typer.Option("--format", help=f"Some of {', '.join(FORMATS)}, with commas between.")]
With = Annotated[
    list[Path] | None,
    typer.Option("--with", help="A folder of `bakeoff scale`; it is kept in RUN/scale. May be repeated."),
]

Trust = Annotated[bool, typer.Option("--trust", help="Read tables although they were changed after the run.")]


def report(
    run: Run,
    out: Out = None,
    formats: Formats = "html,md",
    beside: With = None,
    executor: Statistics = None,
    trust: Trust = False,
) -> None:
    """Write a run's report again from its stored rows: pages, LaTeX tables, figures for a paper."""
    from bakeoff.analysis import open_run
    from bakeoff.cli import console
    from bakeoff.report.scaling import attach
    from bakeoff.report.writing import write

    wanted = _formats(formats)
    folder = out or run
    result = open_run(run, workers_of(executor), trust=trust)
    for measured in beside or ():
        attach(run, measured)
    folder.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(write(result, folder, wanted)):
        console.say(f"{'Report' if number == 0 else '':<9}{path}")


def final_report(
    run: Run, out: Out = None, formats: Formats = "html,md", beside: With = None, trust: Trust = False
) -> None:
    """Write the report with people's review in it; it is an error where there is no review."""
    from bakeoff.review.desk import open_desk

    open_desk(run)
    report(run, out, formats, beside, trust=trust)


def _formats(text: str) -> list[str]:
    from bakeoff.errors import SettingError

    wanted = [word.strip() for word in text.split(",") if word.strip()]
    unknown = [word for word in wanted if word not in FORMATS]
    if unknown or not wanted:
        raise SettingError(f"{text!r} is no format. Choose some of {', '.join(FORMATS)}.")
    return list(dict.fromkeys(wanted))


def compare(
    run: Annotated[Path, typer.Argument(help="A run's folder.")],
    a: Annotated[str, typer.Argument(help="A system, or words that fit only it.")],
    b: Annotated[str, typer.Argument(help="Another system.")],
    measure: Annotated[str | None, typer.Option("--measure", "-m", help="[default: the primary one]")] = None,
    executor: Statistics = None,
    trust: Trust = False,
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
) -> None:
    """Compare two systems of a run, paired by query."""
    from dataclasses import asdict

    from bakeoff.analysis import compare as compare_systems
    from bakeoff.analysis import open_run
    from bakeoff.cli import console

    result = open_run(run, workers_of(executor), trust=trust)
    pair = compare_systems(result, a, b, measure)
    name = result.measure(measure or result.record.primary)
    incomplete = len(result.incomplete(name))
    if as_json:
        console.say_json({**asdict(pair), "effective_n": pair.effective_n, "incomplete_truth": incomplete})
        return
    mark = "*" if incomplete else ""
    low, high = pair.interval.low, pair.interval.high
    interval = f"[{low:.4f} {high:.4f}]" if low is not None and high is not None else "(no interval)"
    rows = [
        [f"{name} of {pair.a}", _shown(pair.mean_a) + mark],
        [f"{name} of {pair.b}", _shown(pair.mean_b) + mark],
        ["difference", f"{_shown(pair.difference)} {interval}"],
        ["better, worse, equal", f"{pair.wins}, {pair.losses}, {pair.ties} of {pair.n} questions"],
        *_cluster_rows(pair),
        ["p (Holm over all pairs)", f"{pair.p_holm:.4f}"],
        ["smallest difference shown", _shown(pair.mdd)],
        ["told apart", f"yes: {pair.better}" if pair.better else "no"],
    ]
    console.table(["", ""], rows)
    if incomplete:
        console.say(f"* the truth of {incomplete:,} questions names documents that were not read")
    if pair.dropped:
        console.say(
            f"not counted: {', '.join(one.query for one in pair.dropped[:8])} ({len(pair.dropped)} questions)"
        )


def _cluster_rows(pair: PairComparison) -> list[list[str]]:
    """What questions that depend on each other are worth; nothing where each is its own cluster."""
    depends = pair.dependence
    if depends is None or pair.clusters == pair.n:
        return []
    icc = "–" if depends.icc is None else f"{depends.icc:.2f}"
    effect = f"correlation within a cluster {icc}, design effect {depends.design_effect:.2f}"
    return [
        ["clusters of questions", f"{pair.clusters:,} ({effect})"],
        ["independent questions they are worth", f"{pair.effective_n:.0f}"],
    ]


def diff(
    before: Annotated[Path, typer.Argument(help="A run's folder.")],
    after: Annotated[Path, typer.Argument(help="Another run's folder.")],
    measure: Annotated[str | None, typer.Option("--measure", "-m", help="[default: the primary one]")] = None,
    allow_mixed: Annotated[
        bool, typer.Option("--allow-mixed", help="Compare although the conventions differ.")
    ] = False,
    trust: Trust = False,
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
) -> None:
    """Compare two runs: what each system they share gained or lost, paired by query."""
    from dataclasses import asdict

    from bakeoff.analysis import open_run
    from bakeoff.cli import console
    from bakeoff.errors import DataError
    from bakeoff.stats.wording import clustered
    from bakeoff.tworuns import across

    one, other = (open_run(folder, trust=trust) for folder in (before, after))
    comparison = across(one, other, measure, allow_mixed=allow_mixed)
    shared = [name.removesuffix(f" @ {one.record.run}") for name in _of(comparison, one.record.run)]
    pairs = [comparison.pair(f"{s} @ {other.record.run}", f"{s} @ {one.record.run}") for s in shared]
    if not any(pair.n for pair in pairs):
        raise DataError(
            f"{before} and {after} have no query in common that both scored by {comparison.measure}: nothing can"
            " be paired. Compare runs of the same query file."
        )
    if as_json:
        console.say_json([{**asdict(pair), "effective_n": pair.effective_n} for pair in pairs])
        return
    rows = []
    for system, pair in zip(shared, pairs, strict=True):
        low, high = pair.interval.low, pair.interval.high
        interval = f"[{low:.3f} {high:.3f}]" if low is not None and high is not None else "no spread"
        wins = f"{pair.wins} / {pair.losses} / {pair.ties}"
        rows.append(
            [system, _shown(pair.mean_b), _shown(pair.mean_a), _shown(pair.difference), interval, wins]
        )
    headers = ["system", "before", "after", "difference", "interval", "better / worse / equal"]
    console.say(f"{comparison.measure}: {one.record.run} → {other.record.run}")
    console.table(headers, rows, right=(1, 2, 3, 4, 5))
    if comparison.questions is not None and comparison.questions.clusters < comparison.questions.questions:
        console.say(f"{clustered(comparison.questions)}.")


def _of(comparison: Comparison, run: str) -> list[str]:
    return [summary.system for summary in comparison.systems if summary.system.endswith(f" @ {run}")]


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
