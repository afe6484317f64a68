"""bakeoff init: an experiment for one's own folder."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bakeoff.skipped_files import LeftOut

SHOWN = 8


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(init)


def _skipped(one: LeftOut) -> str:
    """Files of a format that are not read, and how to have them read where that is a matter of a pattern."""
    from bakeoff.kinds import NOT_INCLUDED

    suffix = PurePosixPath(one.example).suffix
    pattern = f"**/*{suffix}" if suffix else f"**/{one.example}"
    advice = f'; add "{pattern}" to read them as text' if one.reason == NOT_INCLUDED else ""
    return f"{one.files:,} {one.kind}, e.g. {one.example} ({one.reason}{advice})"


def init(
    folder: Annotated[Path, typer.Argument(help="The folder of your documents.")],
    into: Annotated[Path, typer.Option(help="Where to write the two files.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Look at a folder and write bakeoff.yaml and queries.yaml for it."""
    from bakeoff import starter
    from bakeoff.cli import console

    seen = starter.look(folder)
    experiment, queries = starter.write(seen, into, force=force)
    kinds = ", ".join(f"{count} {kind}" for kind, count in seen.kinds.most_common(6))
    console.say(f"{seen.files} files, {seen.bytes / 1e6:.1f} MB: {kinds}")
    for one in seen.skipped[:SHOWN]:
        console.say(f"skipped   {_skipped(one)}")
    if rest := sum(one.files for one in seen.skipped[SHOWN:]):
        console.say(f"skipped   {rest:,} more of {len(seen.skipped) - SHOWN} other kinds")
    console.say(f"wrote     {experiment} and {queries}")
    run = "bakeoff run" if into == Path() else f"bakeoff run {into}"
    console.say(f"Next      write questions in {queries} (bakeoff suggest drafts some), then: {run}")
