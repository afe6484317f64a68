"""bakeoff demo, run, status."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli import console
from bakeoff.cli.options.consent import with_consent
from bakeoff.cli.options.output import with_json
from bakeoff.cli.options.truth import Reviews
from bakeoff.errors import SettingError

if TYPE_CHECKING:
    from bakeoff.config.plan import Plan
    from bakeoff.runs.analysis import Result

Out = Annotated[Path | None, typer.Option("--out", help="Folder for the run. [default: runs/NAME-TIME]")]
Where = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="NAME",
        help="Where to chunk, embed and score: local, ray, or with parameters '{ray: {address: HOST:6379}}'.",
    ),
]
Repeats = Annotated[int | None, typer.Option("--runs", min=1, max=100, help="Repeats of the timings.")]
Force = Annotated[
    bool,
    typer.Option("--force", help="Move a run of another experiment in --out aside."),
]
Models = Annotated[
    Path | None,
    typer.Option(
        "--models", help="Run the models of this models.toml instead of the experiment's embedders."
    ),
]
OnlyModels = Annotated[
    str | None,
    typer.Option("--models-only", metavar="A,B", help="Run only these models of the models.toml."),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print the evidence, lost points and notes too.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not print progress.")]


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(demo)
    app.command()(with_consent(run))
    app.command()(status)


@with_json
def demo(
    name: Annotated[str, typer.Argument(help="One of `bakeoff examples`.")] = "stdlib",
    out: Out = None,
    executor: Where = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Run a bundled example and print its recommendation."""
    from bakeoff.cli.examples import compare_stores, fetch_weights
    from bakeoff.examples import find

    example = find(name)
    if not quiet:
        console.print_line(f"bakeoff demo · {example.name}: {example.title}")
        console.print_line()
    if example.vectors is not None and executor:
        raise SettingError(f"{name} compares stores on given vectors and takes no --executor.")
    if example.vectors is not None:
        code = compare_stores(example.vectors, out)
    else:
        fetch_weights(example.weights, quiet)
        code = _run(example.experiment, out, executor, quiet, verbose=verbose)
    console.print_line(f"Next     {_program()} init YOUR_FOLDER")
    return code


@with_json
def run(
    experiment: Annotated[
        Path, typer.Argument(help="An experiment file, or the folder that holds it.")
    ] = Path("bakeoff.yaml"),
    out: Out = None,
    executor: Where = None,
    runs: Repeats = None,
    models: Models = None,
    models_only: OnlyModels = None,
    force: Force = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Measure every system in bakeoff.yaml and recommend one."""
    plan = _plan(experiment, models, models_only, runs)
    return _run(plan, out, executor, quiet, force=force, verbose=verbose)


@with_json
def status(
    folder: Annotated[Path, typer.Argument(help="A run's folder, or the folder that holds the runs.")] = Path(
        "runs"
    ),
    review: Reviews = None,
) -> None:
    """Show what is done, what failed and what to do next."""
    from bakeoff.cli.status import print_status, status_json

    if not console.print_json(lambda: status_json(folder, review or ())):
        print_status(folder, review or ())


def _run(
    what: Path | Plan,
    out: Path | None,
    executor: str | None,
    quiet: bool,
    *,
    force: bool = False,
    verbose: bool = False,
) -> int:
    from bakeoff import run as run_experiment
    from bakeoff.cli.views.summary import print_result
    from bakeoff.cli.views.summary_json import result_json

    same = "the same command" if out is not None else "the same command with --out FOLDER"
    console.on_interrupt(f"Finished systems are kept; run {same} to resume (see `bakeoff status`).")
    listening = console.listener(quiet)
    try:
        result: Result = run_experiment(what, out=out, emit=listening, executor=executor, force=force)
    finally:
        console.finish(listening)
    report = _report(result)
    if not console.print_json(lambda: {**result_json(result), **_depths_json(result)}):
        print_result(result, report, verbose=verbose)
        _print_depths(result)
    return 1 if result.failed else 0


def _print_depths(result: Result) -> None:
    """Print what repeated configurations show about speed, if the run has any."""
    from bakeoff.cli.views.summary import print_field

    if "configurations" in result.record.tables:
        from bakeoff.benchmark.results.configurations import read_configurations
        from bakeoff.report.sections.depths import speed_sentences

        configurations = read_configurations(result)
        for place, text in enumerate(
            speed_sentences(configurations, result.record.seed) if configurations else ()
        ):
            print_field("" if place else "Speed", text)


def _depths_json(result: Result) -> dict[str, object]:
    """The speed comparisons at every depth; empty if none were measured."""
    if "configurations" not in result.record.tables:
        return {}
    from bakeoff.benchmark.results.configurations import read_configurations

    configurations = read_configurations(result)
    if configurations is None:
        return {}
    depths = sorted({k for system in configurations.systems for k in configurations.depths(system)})
    pairs = [
        {"top_k": k, **asdict(pair)}
        for k in depths
        for pair in configurations.compare("qps", k, result.record.seed)
    ]
    return {"speed_comparisons": pairs}


def _plan(experiment: Path, models: Path | None, only: str | None, runs: int | None) -> Plan:
    """The plan of an experiment, with the models and repeats of the command line."""
    from bakeoff.config.experiment import load
    from bakeoff.config.plan import ModelFile

    names = tuple(name.strip() for name in (only or "").split(",") if name.strip())
    plan = load(experiment, ModelFile(models, names))
    return plan if runs is None else plan.with_runs(runs)


def _report(result: Result) -> Path:
    from bakeoff.report.render.html import write_html

    return write_html(result)


def _program() -> str:
    """How to call this program: by its path if it is not on PATH, for example after `make demo`."""
    called = Path(sys.argv[0])
    if called.name != "bakeoff" or shutil.which("bakeoff"):
        return "bakeoff"
    return shlex.quote(os.path.relpath(called))
