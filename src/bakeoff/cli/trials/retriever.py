"""bakeoff test retriever: one question to a retriever of an experiment, and where its results are in the corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bakeoff.cli import console
from bakeoff.cli.options.output import with_json
from bakeoff.errors import SettingError

if TYPE_CHECKING:
    from bakeoff.config.plan import Plan, PluginSpec
    from bakeoff.runs.live.part_trials import RetrieverTrial

WIDTH = 44


@with_json
def retriever(
    name: Annotated[str, typer.Argument(help="A retriever of the experiment, by its name or `as:`.")],
    experiment: Annotated[
        Path, typer.Option("--experiment", "-e", help="Experiment file or folder.")
    ] = Path(),
    question: Annotated[
        str | None,
        typer.Option("--question", "-q", help="What to ask. [default: the first of the query file]"),
    ] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="How many results to ask for.")] = 5,
) -> None:
    """Ask one question and show where each result is in the corpus."""
    from bakeoff.config import experiment as experiments
    from bakeoff.runs.live.part_trials import try_retriever

    plan = experiments.load(experiment)
    trial = try_retriever(plan, _part(plan, name), question, k)
    _show(trial)
    if not trial.rows or trial.lost:
        raise typer.Exit(1)


def _part(plan: Plan, name: str) -> PluginSpec:
    known = {system.label: system.retriever for system in plan.systems if system.retriever is not None}
    found = known.get(name)
    if found is None:
        listed = ", ".join(known) or "none; list them under retrievers"
        raise SettingError(f"no retriever of {plan.file} is called {name!r}. It has: {listed}.")
    return found


def _show(trial: RetrieverTrial) -> None:
    console.print_json(trial)
    results = "1 result" if len(trial.rows) == 1 else f"{len(trial.rows)} results"
    took = "" if trial.milliseconds is None else f" in {trial.milliseconds:.3g} ms"
    console.print_line(f"{trial.retriever}: {results}{took} for {trial.question!r}")
    rows: list[list[Any]] = [
        [
            str(rank),
            f"{one.score:.4g}" if one.score is not None else "–",
            one.how,
            _place(one),
            _short(one.text),
        ]
        for rank, one in enumerate(trial.rows, 1)
    ]
    if rows:
        console.table(["rank", "score", "placed by", "document", "text"], rows)
    for note in trial.notes:
        console.print_line(f"Note      {note}")


def _place(one: Any) -> str:
    where = f" {one.start}–{one.end}" if one.end else ""
    return f"{one.document or one.given or '–'}{where}"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= WIDTH else f"{flat[: WIDTH - 1]}…"
