"""bakeoff test: try one store, model, retriever or reader before an experiment uses it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bakeoff.cli import console
from bakeoff.cli.options.consent import with_consent
from bakeoff.cli.options.output import with_json
from bakeoff.cli.trials.store import store
from bakeoff.errors import ModelNotFoundError, SettingError
from bakeoff.runtime.count_text import count, shorten
from bakeoff.types import JsonObject

if TYPE_CHECKING:
    from bakeoff.config.models_toml import ModelChoice
    from bakeoff.config.plan import Plan, PluginSpec
    from bakeoff.runs.live.part_trials import RetrieverTrial
    from bakeoff.testing.check_embedder import ModelCheck
    from bakeoff.types import ModelInfo

WIDTH = 44
test_app = typer.Typer(help="Test one store, model, retriever or reader on its own.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add these commands."""
    test_app.command("store")(with_consent(store))
    test_app.command()(with_consent(model))
    test_app.command()(with_consent(retriever))
    test_app.command()(reader)
    app.add_typer(test_app, name="test")


@test_app.callback()
def group() -> None:
    """Test one store, model, retriever or reader on its own."""


@with_json
def model(
    name: Annotated[
        str, typer.Argument(help="A model of `bakeoff models list`, a folder, or a model with --backend.")
    ],
    backend: Annotated[
        str | None, typer.Option(help="Engine that runs the model: fastembed, mistralrs.")
    ] = None,
    quantization: Annotated[str | None, typer.Option(help="Precision of the weights: none, q8, q4k.")] = None,
    param: Annotated[list[str] | None, typer.Option(help="A parameter as key=value. Repeatable.")] = None,
) -> None:
    """Check the vectors, speed and token limit of a model."""
    from bakeoff import registry
    from bakeoff.testing.check_embedder import check

    choice = _choice(name, backend, _values(param or [], quantization))
    if choice.missing:
        raise ModelNotFoundError(f"{choice.missing}.")
    plugin = registry.load("embedders", choice.embedder)
    embedder = plugin(plugin.Params(**choice.params))
    try:
        info = embedder.info
        console.print_line(_heading(choice, info))
        checks = check(embedder)
    finally:
        embedder.close()
    _show(info, checks)
    if any(row.fine is False for row in checks):
        raise typer.Exit(1)


@with_json
def reader(
    name: Annotated[str, typer.Argument(help="A reader of `bakeoff list readers`.")],
    file: Annotated[Path, typer.Argument(help="The file to read.")],
    param: Annotated[list[str] | None, typer.Option(help="A parameter as key=value. Repeatable.")] = None,
) -> None:
    """Read one file with the limits of a run, and show its text."""
    from bakeoff.runs.live.part_trials import try_reader
    from bakeoff.types import Skipped

    read = try_reader(name, _values(param or [], None), file)
    document = read.answer
    console.print_json(read.as_json())
    if isinstance(document, Skipped):
        console.print_line(f"{document.id} was not read: {document.reason}")
    else:
        words = len(document.text.split())
        title = f", title {document.title!r}" if document.title else ""
        console.print_line(
            f"{name} read {document.id} in {read.seconds:.2f} s: {words:,} words, kind {document.kind}{title}"
        )
        for line in document.text.splitlines():
            console.print_line(line)
    if isinstance(document, Skipped):
        raise typer.Exit(1)


def _values(params: list[str], quantization: str | None) -> JsonObject:
    values: JsonObject = {"quantization": quantization} if quantization else {}
    for pair in params:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise SettingError(f"--param {pair!r} is not key=value.")
        values[key.strip()] = given_value(value, f"--param {pair}")
    return values


def given_value(text: str, name: str) -> object:
    """A value as YAML reads it; text is kept as typed, including colons and spaces, and an empty value is null."""
    from bakeoff.config.yaml_document import parse

    if not text.strip():
        return None
    typed = text.strip()[0].isalnum()
    try:
        value = parse(text, name, SettingError).data
    except SettingError:
        if typed:
            return text
        raise
    return text if typed and isinstance(value, str | dict | list) else value


def _choice(name: str, backend: str | None, values: dict[str, object]) -> ModelChoice:
    from bakeoff.config import models_toml

    if backend is None:
        return models_toml.choose_models(name, values, Path())
    return models_toml.choose_models(backend, {"model": name, **values}, Path())


def _heading(choice: ModelChoice, info: ModelInfo) -> str:
    limit = f"{info.max_tokens:,} tokens" if info.max_tokens else "no token limit given"
    return f"{info.name} on {choice.embedder}: {info.dims} dimensions, {limit}, weights {info.weights[:40]}"


def _show(info: ModelInfo, checks: list[ModelCheck]) -> None:
    console.print_json({"model": info, "checks": checks})
    marks = {True: "ok", False: "FAILED", None: ""}
    console.table(["check", "", "result"], [[row.name, marks[row.fine], row.seen] for row in checks])


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
    k: Annotated[int, typer.Option("--k", min=1, help="Number of results to ask for.")] = 5,
) -> None:
    """Ask one question and show where each result is in the corpus."""
    from bakeoff.config import experiment as experiments
    from bakeoff.runs.live.part_trials import try_retriever

    plan = experiments.load(experiment)
    trial = try_retriever(plan, _retriever_part(plan, name), question, k)
    _print_retriever(trial)
    if not trial.rows or trial.lost:
        raise typer.Exit(1)


def _retriever_part(plan: Plan, name: str) -> PluginSpec:
    retrievers = {system.label: system.retriever for system in plan.systems if system.retriever is not None}
    retriever = retrievers.get(name)
    if retriever is None:
        listed = ", ".join(retrievers) or "none; list them under retrievers"
        raise SettingError(f"no retriever of {plan.file} is called {name!r}. It has: {listed}.")
    return retriever


def _print_retriever(trial: RetrieverTrial) -> None:
    console.print_json(trial)
    results = count(len(trial.rows), "result")
    took = "" if trial.milliseconds is None else f" in {trial.milliseconds:.3g} ms"
    console.print_line(f"{trial.retriever}: {results}{took} for {trial.question!r}")
    rows: list[list[Any]] = [
        [
            str(rank),
            f"{one.score:.4g}" if one.score is not None else "–",
            one.how,
            _place(one),
            shorten(" ".join(one.text.split()), WIDTH),
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
