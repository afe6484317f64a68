"""bakeoff validate, suggest: check an experiment and draft questions before a run."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bakeoff.cli import console
from bakeoff.cli.options.consent import with_consent
from bakeoff.cli.options.output import with_json
from bakeoff.errors import SettingError

Experiment = Annotated[Path, typer.Argument(help="An experiment file, or the folder that holds it.")]
DEFAULT = Path("bakeoff.yaml")


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(with_consent(validate))
    app.command()(suggest)


@with_json
def validate(
    experiment: Experiment = DEFAULT,
    queries: Annotated[
        Path | None,
        typer.Option("--queries", metavar="FILE", help="Check this query file alone, without an experiment."),
    ] = None,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            help="With --queries: read it as `bakeoff import` does: lineage | code | vectordb | goldsql",
        ),
    ] = "",
    pilot: Annotated[
        Path | None, typer.Option(help="Folder of an earlier run, to estimate the detectable difference.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Treat warnings as errors.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every query and every rule.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not print progress.")] = False,
) -> int:
    """Check an experiment before you run it.

    Checks truth, targets and leaks, and reports which differences the questions can detect. No model is loaded.
    """
    from bakeoff.cli.views.findings import print_report, report_json
    from bakeoff.runs.checks.checking import validate as check

    if queries is not None:
        return _validate_queries(queries, format_, strict=strict, verbose=verbose)
    if format_:
        raise SettingError(f"--format {format_} needs --queries FILE.")
    listening = console.listener(quiet)
    try:
        report = check(experiment, pilot=pilot, emit=listening)
    finally:
        console.finish(listening)
    console.print_json(lambda: report_json(report, strict=strict))
    print_report(report, experiment, strict=strict, verbose=verbose)
    return 2 if report.faults(strict=strict) else 0


def _validate_queries(path: Path, format_: str, *, strict: bool, verbose: bool) -> int:
    from bakeoff.cli.views.findings import print_query_file, report_json
    from bakeoff.presets.import_formats import read_foreign_queries
    from bakeoff.runs.checks.checking import validate_queries

    report = (
        validate_queries(path, partial(read_foreign_queries, format_)) if format_ else validate_queries(path)
    )
    console.print_json(lambda: report_json(report, strict=strict))
    print_query_file(report, strict=strict, verbose=verbose)
    return 2 if report.faults(strict=strict) else 0


def suggest(
    experiment: Experiment = DEFAULT,
    n: Annotated[int, typer.Option("--n", min=1, help="Number of questions to draft.")] = 60,
    out: Annotated[Path, typer.Option(help="The query file to write.")] = Path("suggested.yaml"),
    masked: Annotated[
        Path | None,
        typer.Option(help="Also write a copy of the corpus without the sentences that became questions."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed; a different seed drafts different questions.")] = 7,
    dialect: Annotated[
        str, typer.Option(help="SQL dialect as named by sqlglot; empty for generic SQL.")
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> int:
    """Draft questions from headings, titles, docstrings and SQL.
    Drafts are marked synthetic: read them before you use them.
    """
    from bakeoff.runs.draft_queries import DraftRequest
    from bakeoff.runs.draft_queries import suggest as draft

    drafted = draft(experiment, DraftRequest(n, seed, dialect), out, masked=masked, force=force)
    for kind, count in drafted.counts.items():
        console.print_line(f"{count:>5}  {kind}")
    for note in drafted.notes:
        console.print_line(f"note   {note}")
    requested = f"{drafted.total}" if drafted.total == n else f"{drafted.total} of the {n} requested"
    console.print_line(
        f"wrote  {out}: {requested} synthetic question{'' if drafted.total == 1 else 's'}"
        + (f", and {masked}" if masked else "")
    )
    console.print_line(f"Next   read them, {_queries_setting(experiment, out)}then: bakeoff validate")
    return 0


def _queries_setting(experiment: Path, queries: Path) -> str:
    """The line to write into the experiment so that it uses these queries; empty if it does."""
    from bakeoff.config.experiment import load

    used = load(experiment).queries.resolve() == queries.resolve()
    return "" if used else f"set queries: {queries.name} in {experiment}, "
