"""bakeoff gate, history: runs over time."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from bakeoff.cli import console
from bakeoff.cli.options.output import with_json
from bakeoff.cli.options.truth import AllowMixed, Reviews, Truth, TruthChoice, comparable_runs, print_truth
from bakeoff.errors import SettingError

Renamed = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="OLD=NEW", help="A system that was renamed in the new run. Repeatable."),
]


def read_renamed(texts: list[str] | None) -> dict[str, str]:
    """The old and the new name of each system."""
    pairs = [text.partition("=") for text in texts or []]
    for old, mark, new in pairs:
        if not (old.strip() and mark and new.strip()):
            raise SettingError(
                f"--map {old}{mark}{new}: write OLD=NEW, for example --map 'line bm25=chunks bm25'."
            )
    return {old.strip(): new.strip() for old, _, new in pairs}


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(gate)
    app.command()(history)


Margin = Annotated[float, typer.Option("--margin", help="The largest loss of the measure that passes.")]
Measure = Annotated[
    str | None, typer.Option("--measure", "-m", help="Measure to compare. [default: the primary one]")
]
System = Annotated[
    str | None,
    typer.Option(
        "--system", help="A system: its letter in the table, or words that match only it. [default: all]"
    ),
]
CategoryMargin = Annotated[
    float | None,
    typer.Option("--category-margin", help="Fail if a category is shown to lose more than this."),
]
Summary = Annotated[
    Path | None, typer.Option("--summary", help="Write a Markdown summary for a pull request here.")
]


@with_json
def gate(
    baseline: Annotated[Path, typer.Argument(help="The folder of the run to compare with.")],
    run: Annotated[Path, typer.Argument(help="The new run's folder.")],
    margin: Margin = 0.02,
    measure: Measure = None,
    system: System = None,
    renamed: Renamed = None,
    category_margin: CategoryMargin = None,
    summary: Summary = None,
    allow_mixed: AllowMixed = False,
    truth: Truth = TruthChoice.REVIEWED,
    review: Reviews = None,
) -> int:
    """Test that a new run is not worse than its baseline.

    Exit 0 only if every system is shown to lose less than --margin of the measure.
    """
    from bakeoff.report import gate_summary
    from bakeoff.runs.gate import GateRules
    from bakeoff.runs.gate import run_gate as test

    rules = GateRules(margin, category_margin)
    opened = comparable_runs([baseline, run], review, truth)
    before, after = opened.results
    outcome = test(
        before,
        after,
        rules,
        system=system,
        measure=measure,
        allow_mixed=allow_mixed,
        renamed=read_renamed(renamed),
    )
    full = replace(outcome, notes=(opened.sentence, *outcome.notes))
    if summary is not None:
        summary.write_text(gate_summary.summary(full), encoding="utf-8")
    console.print_json({**asdict(full), "passed": outcome.passed})
    console.table(*gate_summary.table(outcome), right=(1, 2, 3, 4, 5))
    print_truth(opened.sentence)
    for note in outcome.notes:
        console.warn(note)
    console.print_line(gate_summary.sentence(outcome))
    return 0 if outcome.passed else 1


@with_json
def history(
    folder: Annotated[Path, typer.Argument(help="The folder that holds the runs.")] = Path("runs"),
    measure: Annotated[
        str | None, typer.Option("--measure", "-m", help="Measure to list. [default: each run's primary]")
    ] = None,
    system: Annotated[
        str | None, typer.Option("--system", help="Words that match one system. [default: each run's best]")
    ] = None,
    truth: Truth = TruthChoice.REVIEWED,
) -> None:
    """List runs over time: which system led, and what changed."""
    from bakeoff.report import run_history

    entries = run_history.list_runs(folder, measure, system, truth.value)
    console.print_json(entries)
    console.table(*run_history.table(entries), right=(5, 6))
    for number, note in enumerate(run_history.footnotes(entries), start=1):
        console.print_line(f"[{number}] {note}", style="dim")
