"""bakeoff examples: the bundled examples, including the one that compares stores on vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bakeoff.cli import console
from bakeoff.cli.options.output import with_json
from bakeoff.errors import ModelNotFoundError

if TYPE_CHECKING:
    from bakeoff.examples import ExampleVectors


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command("examples")(examples)


@with_json
def examples() -> None:
    """List the bundled examples and what each one teaches."""
    from bakeoff.examples import examples as installed

    bundled = installed()
    console.print_json([{"name": one.name, "what": one.title, "lesson": one.lesson} for one in bundled])
    for one in bundled:
        console.print_line(f"{one.name:<11}{one.title}")
        console.print_line(f"{'':<11}{one.lesson}", style="dim")
        console.print_line(f"{'':<11}bakeoff demo {one.name}")
        console.print_line()


def fetch_weights(names: tuple[str, ...], quiet: bool) -> None:
    """Download the weights that an example needs and this machine lacks; without them their systems fail."""
    from bakeoff.storage.catalogue import find_entry
    from bakeoff.storage.pull import pull
    from bakeoff.storage.weights import here

    for name in names:
        if here(find_entry(name)) is None:
            try:
                pull(name, progress=None if quiet else console.print_line)
            except ModelNotFoundError as exc:
                console.warn(f"{exc.lines[0]} Its systems will fail.")


def compare_stores(vectors: ExampleVectors, out: Path | None) -> int:
    """Compare stores on an example's vectors; the exit code is 1 if one failed."""
    from bakeoff.cli.ann import ann

    try:
        ann(vectors.dataset, vectors.stores, target=vectors.target_recall, out=out)
    except typer.Exit as exc:
        return exc.exit_code
    return 0
