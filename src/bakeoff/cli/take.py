"""bakeoff take, ask: use a measured system."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli import console
from bakeoff.cli.options.consent import with_consent
from bakeoff.cli.options.output import with_json
from bakeoff.errors import SettingError

if TYPE_CHECKING:
    from bakeoff.report.exports.project import TakenSystem
    from bakeoff.runs.live.live_system import FoundPassage
    from bakeoff.runs.live.replay import ReplayReport

Run = Annotated[Path, typer.Argument(help="The folder of a finished run.")]
Experiment = Annotated[
    Path | None, typer.Option("--experiment", help="The run's experiment file. [default: found near the run]")
]
SHOWN_CHARACTERS = 300
NARROWEST = 50
"""Characters a column must have for systems to be printed side by side."""


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(with_consent(take))
    app.command()(with_consent(ask))


@with_json
def take(
    run: Run,
    system: Annotated[
        str | None,
        typer.Argument(
            help="A system: its letter in the table, or words that match only it. [default: the recommended one]"
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="A new folder for the project.")] = Path("mysearch"),
    framework: Annotated[
        str, typer.Option("--as", metavar="NAME", help="python, langchain, llamaindex or haystack.")
    ] = "python",
    experiment: Experiment = None,
    test: Annotated[bool, typer.Option("--test/--no-test", help="Replay the run's questions.")] = True,
) -> int:
    """Write a measured system as a standalone project.

    The project has the settings, pinned versions, scripts, and a self-test that replays the run's rankings.
    """
    from bakeoff.report.exports.project import Framework, TakenSystem, write_project
    from bakeoff.review.reviewed_run import with_people
    from bakeoff.runs.live.live_system import chosen_system
    from bakeoff.runs.live.plan_of_run import plan_of_run

    if framework not in list(Framework):
        raise SettingError(f"--as is {framework!r}; it must be one of {', '.join(Framework)}.")
    plan, _, stored = plan_of_run(run, experiment)
    result = with_people(stored)
    chosen = chosen_system(plan, result, system)
    choice = TakenSystem(plan=plan, result=result, system=chosen, framework=Framework(framework))
    write_project(choice, out)
    if not test:
        _print_taken(choice, out)
        return 0
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(shutil.rmtree, out, ignore_errors=True)
        outcome, note = _replay(choice, out)
        on_failure.pop_all()
    sentence = f"{outcome.sentence}{note}"
    _print_taken(choice, out, sentence=sentence, passed=outcome.passed)
    for line in outcome.differences:
        console.print_line(f"  {line}")
    return 0 if outcome.passed else 1


def _replay(choice: TakenSystem, out: Path) -> tuple[ReplayReport, str]:
    """Run a project's self-test, through its framework if that is installed; the note explains if it is not."""
    from bakeoff.report.exports.project import SETTINGS, Framework, search_through
    from bakeoff.runs.live.live_system import open_system, tuned_weight
    from bakeoff.runs.live.replay import self_test

    weight = tuned_weight(choice.result, choice.system)
    with open_system(out / SETTINGS, as_measured=True, weight=weight) as live:
        if choice.framework is Framework.PYTHON:
            return self_test(out, live), ""
        try:
            find = search_through(out, live)
        except ImportError:
            missing = f" {choice.framework.package} is not installed here: run selftest.py where it is."
            return self_test(out, live), missing
        return self_test(out, live, find), f" The questions went through {choice.framework}."


def _print_taken(
    choice: TakenSystem,
    out: Path,
    *,
    sentence: str = "Not tested: run selftest.py.",
    passed: bool = True,
) -> None:
    from bakeoff.report.exports.project import model_downloads

    label = choice.system.label
    console.print_json({"system": label, "folder": str(out), "self_test": sentence, "passed": passed})
    console.print_line(f"Took     {label} into {out}/")
    console.print_line(f"Tested   {sentence}")
    steps = (
        f"cd {shlex.quote(str(out))}",
        "pip install -r requirements.txt",
        *model_downloads(choice.system),
    )
    console.print_line(f"Next     {' && '.join((*steps, 'python ingest.py'))}")


@with_json
def ask(
    run: Run,
    question: Annotated[str, typer.Argument(help="What to search for.")],
    systems: Annotated[
        str | None,
        typer.Option(
            "--systems",
            help="Comma-separated systems: letters of the table, or words of labels. [default: the recommended]",
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="Passages per system.")] = 3,
    experiment: Experiment = None,
) -> int:
    """Ask one question and read what measured systems find."""
    from bakeoff.review.reviewed_run import with_people
    from bakeoff.runs.live.live_system import LiveSystem, open_artifacts, recommended_label, tuned_weight
    from bakeoff.runs.live.plan_of_run import choose_systems, plan_of_run
    from bakeoff.truth.queries import read_queries

    if not question.strip():
        raise SettingError('the question is empty. Write it in quotes: bakeoff ask RUN "how do I …?"')
    plan, _, stored = plan_of_run(run, experiment)
    result = with_people(stored)
    chosen = choose_systems(plan, systems or recommended_label(result), result.letters)
    artifacts, _ = open_artifacts(plan, read_queries(plan.queries))
    try:
        answers = [
            (system.label, LiveSystem(artifacts, system, tuned_weight(result, system)).search(question, k))
            for system in chosen
        ]
    finally:
        artifacts.close()
    console.print_json(dict(answers))
    if console.has_room(len(answers), NARROWEST):
        _print_side_by_side(answers, question)
        return 0
    for label, passages in answers:
        _print_answer(label, passages, question)
    return 0


def _print_side_by_side(answers: list[tuple[str, list[FoundPassage]]], question: str) -> None:
    """Print one column per system, passages of the same rank next to each other."""
    rows = [[label for label, _ in answers]]
    for rank in range(max(1, *(len(found) for _, found in answers))):
        rows.append([_cell(found, rank, question) for _, found in answers])
    console.print_line("")
    console.print_side_by_side(rows, _words(question))


def _cell(passages: list[FoundPassage], rank: int, question: str) -> str:
    from bakeoff.cli.views.sanitise import one_line

    if rank >= len(passages):
        return "" if passages or rank else "nothing found"
    one = passages[rank]
    return f"{one_line(_place(one))}\n{_excerpt(one.text, question)}"


def _place(one: FoundPassage) -> str:
    return f"{one.rank}  {one.document}  characters {one.start}–{one.end}  {one.score:.4g}"


def _print_answer(label: str, passages: list[FoundPassage], question: str) -> None:
    console.print_line("")
    console.print_line(label)
    if not passages:
        console.print_line("  nothing found")
    for one in passages:
        console.print_line(f"  {_place(one)}")
        console.print_excerpt(_excerpt(one.text, question), _words(question), indent=5)


def _words(question: str) -> list[str]:
    """The words to highlight: those of four letters or more."""
    return [word for word in re.findall(r"\w+", question) if len(word) > 3]


def _excerpt(text: str, question: str) -> str:
    """The part of a passage around the question's first word, on one line."""
    line = " ".join(text.split())
    places = [at for word in _words(question) if (at := line.lower().find(word.lower())) >= 0]
    begin = max(0, min(places, default=0) - SHOWN_CHARACTERS // 3)
    cut = line[begin : begin + SHOWN_CHARACTERS]
    return f"{'… ' if begin else ''}{cut}{' …' if begin + SHOWN_CHARACTERS < len(line) else ''}"
