"""bakeoff log: send the figures of a run to an experiment tracker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bakeoff.cli.options.truth import Review, Truth, TruthChoice


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(log)


def log(
    run: Annotated[Path, typer.Argument(help="A run's folder.")],
    to: Annotated[str, typer.Option("--to", metavar="TRACKER", help="mlflow or wandb.")],
    project: Annotated[str, typer.Option(help="MLflow experiment, or W&B project.")] = "bakeoff",
    with_report: Annotated[
        bool,
        typer.Option("--with-report", help="Also send run.json and the report, which quotes your documents."),
    ] = False,
    truth: Truth = TruthChoice.REVIEWED,
    review: Review = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Read tables even if they were changed after the run.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Log a run to MLflow or Weights & Biases.

    Sends settings, scores, latencies and sizes of every system. Texts of documents and questions are not sent.
    """
    from dataclasses import asdict

    from bakeoff.cli import console
    from bakeoff.errors import SettingError
    from bakeoff.report.exports.trackers import Tracker, log_run
    from bakeoff.review.reviewed_run import open_runs

    if to not in list(Tracker):
        raise SettingError(f"--to is {to!r}; it must be one of {', '.join(Tracker)}.")
    (result,) = open_runs([run], trust=trust, reviews=[review] if review else (), truth=truth.value)
    files = _files(run) if with_report else ()
    logged = log_run(result, Tracker(to), project, files)
    if as_json:
        console.print_json(asdict(logged))
        return
    console.print_line(f"Logged   {logged.entries} systems of {result.record.run} to {logged.project}")
    console.print_line(f"See      {logged.place}")


def _files(run: Path) -> tuple[Path, ...]:
    from bakeoff.errors import SettingError

    missing = [name for name in ("run.json", "report.html") if not (run / name).is_file()]
    if missing:
        raise SettingError(f"{run} has no {missing[0]}. Make it with: bakeoff report {run}")
    return run / "run.json", run / "report.html"
