"""bakeoff validate, suggest: before a run."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bakeoff.cli.options.consent import with_consent

Experiment = Annotated[Path, typer.Argument(help="An experiment file, or the folder that holds it.")]
DEFAULT = Path("bakeoff.yaml")


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(with_consent(validate))
    app.command()(suggest)


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
        Path | None, typer.Option(help="Folder of an earlier run: its spread says what the queries can show.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Every query and every rule.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> int:
    """Check an experiment before any model is loaded: truth, targets, leaks, and what its queries can show."""
    from bakeoff.cli import console
    from bakeoff.cli.views.findings import report_json, say_report
    from bakeoff.errors import SettingError
    from bakeoff.runs.checks.checking import validate as check

    if queries is not None:
        return _validate_queries(queries, format_, strict=strict, verbose=verbose, as_json=as_json)
    if format_:
        raise SettingError(f"--format {format_} needs --queries FILE.")
    listening = console.listener(quiet or as_json)
    try:
        report = check(experiment, pilot=pilot, emit=listening)
    finally:
        console.finish(listening)
    if as_json:
        console.say_json(report_json(report, strict=strict))
    else:
        say_report(report, experiment, strict=strict, verbose=verbose)
    return 2 if report.faults(strict=strict) else 0


def _validate_queries(path: Path, format_: str, *, strict: bool, verbose: bool, as_json: bool) -> int:
    from bakeoff.cli import console
    from bakeoff.cli.views.findings import report_json, say_query_file
    from bakeoff.presets.import_formats import read_foreign_queries
    from bakeoff.runs.checks.query_file import validate_queries

    report = (
        validate_queries(path, partial(read_foreign_queries, format_)) if format_ else validate_queries(path)
    )
    if as_json:
        console.say_json(report_json(report, strict=strict))
    else:
        say_query_file(report, strict=strict, verbose=verbose)
    return 2 if report.faults(strict=strict) else 0


def suggest(
    experiment: Experiment = DEFAULT,
    n: Annotated[int, typer.Option("--n", min=1, help="How many queries to draft.")] = 60,
    out: Annotated[Path, typer.Option(help="The query file to write.")] = Path("suggested.yaml"),
    masked: Annotated[
        Path | None,
        typer.Option(help="Also write the corpus here, without the sentences the queries were made of."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed chooses others.")] = 7,
    dialect: Annotated[
        str, typer.Option(help="SQL dialect, as sqlglot names it; empty for a general one.")
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> int:
    """Draft queries with truth from docstrings, headings and SQL lineage, marked synthetic."""
    from bakeoff.cli import console
    from bakeoff.runs.draft_queries import DraftRequest
    from bakeoff.runs.draft_queries import suggest as draft

    made = draft(experiment, DraftRequest(n, seed, dialect), out, masked=masked, force=force)
    for kind, count in made.counts.items():
        console.print_line(f"{count:>5}  {kind}")
    for note in made.notes:
        console.print_line(f"note   {note}")
    console.print_line(
        f"wrote  {out}: {made.total} synthetic queries" + (f", and {masked}" if masked else "")
    )
    console.print_line(f"Next   read them, {_use(experiment, out)}then: bakeoff validate")
    return 0


def _use(experiment: Path, queries: Path) -> str:
    """What to write into the experiment so that it takes these queries; nothing where it does."""
    from bakeoff.config.experiment import load

    taken = load(experiment).queries.resolve() == queries.resolve()
    return "" if taken else f"set queries: {queries.name} in {experiment}, "
