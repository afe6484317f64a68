"""bakeoff report, final-report, dashboard: read stored runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from bakeoff.cli import console
from bakeoff.cli.options.output import Trust
from bakeoff.cli.options.truth import Review, Reviews, Truth, TruthChoice
from bakeoff.cli.options.workers import Statistics, workers_of
from bakeoff.errors import DataError, MissingExtraError, SettingError


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(report)
    app.command("final-report")(final_report)
    app.command()(dashboard)


FORMATS = ("html", "md", "latex", "svg", "png", "pdf")
USUAL_FORMATS = "html,md"


Run = Annotated[Path, typer.Argument(help="A run's folder.")]
Out = Annotated[Path | None, typer.Option("--out", help="Folder for the files. [default: the run's]")]
Formats = Annotated[str, typer.Option("--format", help=f"Comma-separated: {', '.join(FORMATS)}.")]
With = Annotated[
    list[Path] | None,
    typer.Option("--with", help="A result folder of `bakeoff scale`, copied to RUN/scale. Repeatable."),
]


def report(
    run: Run,
    out: Out = None,
    formats: Formats = USUAL_FORMATS,
    brief: Annotated[
        bool,
        typer.Option(
            "--brief", help="Write a one-page summary for decision makers: brief.html, .md and .pdf."
        ),
    ] = False,
    measured: With = None,
    current: Annotated[
        str | None,
        typer.Option(
            "--current",
            metavar="SYSTEM",
            help="Preset lineage: the system in use today, for the decision matrix.",
        ),
    ] = None,
    also: Annotated[
        list[Path] | None,
        typer.Option("--also", metavar="RUN", help="Another run with the same truth. Repeatable."),
    ] = None,
    truth: Truth = TruthChoice.REVIEWED,
    review: Reviews = None,
    executor: Statistics = None,
    trust: Trust = False,
) -> None:
    """Write the report of a run: HTML, Markdown, LaTeX, figures."""
    from bakeoff.presets.lineage.decision_matrix import is_lineage
    from bakeoff.report.render.brief import write_brief
    from bakeoff.report.render.write import write
    from bakeoff.report.run_history import runs_section
    from bakeoff.report.sections.scaling import attach
    from bakeoff.review.reviewed_run import open_runs, same_truth
    from bakeoff.runs.compare_runs import compare_runs

    chosen = _brief_formats(formats) if brief else _formats(formats)
    folder = out or run
    first, *others = open_runs(
        [run, *(also or ())], workers_of(executor), trust=trust, reviews=review or (), truth=truth.value
    )
    result = first.with_current(current)
    if current and not is_lineage(result):
        raise SettingError(f"--current needs a run of the preset lineage; {run} is not one.")
    for folder_of_sizes in measured or ():
        attach(run, folder_of_sizes)
    folder.mkdir(parents=True, exist_ok=True)
    runs = same_truth([result, *others])
    if brief:
        paths = write_brief(result, folder, chosen)
    else:
        more = (runs_section(compare_runs(runs.results), runs.sentence),) if others else ()
        paths = write(result, folder, chosen, more)
    console.print_paths("Report", paths)


def final_report(
    run: Run,
    out: Out = None,
    formats: Formats = USUAL_FORMATS,
    measured: With = None,
    review: Review = None,
    trust: Trust = False,
) -> None:
    """Write the report of a run, scored by its human review.

    Prints the recommendation that follows from the human judgments.
    """
    from bakeoff.cli.views.summary import print_result
    from bakeoff.report.render.write import write
    from bakeoff.report.sections.scaling import attach
    from bakeoff.review.review_folder import open_review
    from bakeoff.review.reviewed_run import open_runs

    open_review(review or run)
    chosen = _formats(formats)
    (result,) = open_runs([run], trust=trust, reviews=[review] if review else ())
    for folder_of_sizes in measured or ():
        attach(run, folder_of_sizes)
    folder = out or run
    folder.mkdir(parents=True, exist_ok=True)
    paths = write(result, folder, chosen)
    print_result(result, None, verbose=True)
    console.print_paths("Report", paths)


def _brief_formats(text: str) -> list[str]:
    """The formats of the one-page brief: those requested, or all that this machine can write."""
    from bakeoff.report.render.brief import FORMATS as PAGES
    from bakeoff.report.render.brief import usual_formats

    if text == USUAL_FORMATS:
        return usual_formats()
    chosen = _formats(text)
    if unknown := [word for word in chosen if word not in PAGES]:
        raise SettingError(f"--brief is not written as {unknown[0]}. Choose from {', '.join(PAGES)}.")
    return chosen


def _formats(text: str) -> list[str]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    unknown = [word for word in words if word not in FORMATS]
    if unknown or not words:
        raise SettingError(f"{text!r} is not a format. Choose from {', '.join(FORMATS)}.")
    return list(dict.fromkeys(words))


def dashboard(
    folder: Annotated[Path, typer.Argument(help="The folder that holds the runs, or one run.")] = Path(
        "runs"
    ),
    port: Annotated[int, typer.Option("--port", min=1024, max=65535, help="Port on this machine.")] = 8501,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
) -> None:
    """Browse runs: comparison, questions, load, review, history."""
    from importlib.util import find_spec

    from bakeoff.runtime.page_access import PARAMETER, new_token

    if find_spec("streamlit") is None:
        raise MissingExtraError("dashboard needs streamlit: pip install 'bakeoff[dashboard]'")
    if find_spec("streamlit.starlette") is None:
        raise MissingExtraError("dashboard needs a newer streamlit: pip install -U 'bakeoff[dashboard]'")
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder. Give the folder that holds the runs.")
    script = Path(__file__).parents[1] / "report" / "dashboard" / "served.py"
    command = [sys.executable, "-m", "bakeoff.report.dashboard", "run", str(script), "--server.address", "127.0.0.1",
               "--server.port", str(port), "--server.headless", "true",
               "--browser.gatherUsageStats", "false", "--server.fileWatcherType", "none",
               "--client.toolbarMode", "minimal", "--theme.light.primaryColor", "#1f6f8b",
               "--theme.dark.primaryColor", "#5fb3ce",
               "--server.enableXsrfProtection", "true", "--client.showErrorDetails", "none"]  # fmt: skip
    token = new_token()
    address = f"http://127.0.0.1:{port}/?{PARAMETER}={token}"
    console.print_line(f"Dashboard of {folder}, in a few seconds at {address}   Ctrl-C stops it")
    environment = {
        **os.environ,
        "BAKEOFF_DASHBOARD_RUNS": str(folder.resolve()),
        "BAKEOFF_DASHBOARD_TOKEN": token,
        **({"BAKEOFF_DASHBOARD_OPEN": address} if browser else {}),
    }
    sys.stdout.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
    os.execve(sys.executable, command, environment)  # noqa: S606 - replaces this process, so signals reach it directly
