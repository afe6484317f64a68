"""bakeoff init: an experiment for one's own folder."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(init)


def _other_kinds(others: Counter[str]) -> str:
    """Files that are not read for their kind, and how to have them read."""
    shown = [f"{count:,} {ending or 'without an ending'}" for ending, count in others.most_common(4)]
    rest = others.total() - sum(count for _, count in others.most_common(4))
    counted = ", ".join([*shown, *([f"{rest:,} more"] if rest else [])])
    files = f"{others.total():,} file{'' if others.total() == 1 else 's'}"
    ending = next(iter(others.most_common(1)))[0]
    pattern = f"**/*{ending}" if ending else "**/README"
    return f'{files} of other kinds ({counted}). To read them add patterns to `include`, as "{pattern}".'


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
    for item in seen.skipped[:5]:
        console.say(f"left out  {item.id}: {item.reason}")
    if len(seen.skipped) > 5:
        console.say(f"left out  … and {len(seen.skipped) - 5} more")
    if seen.others:
        console.say(f"left out  {_other_kinds(seen.others)}")
    console.say(f"wrote     {experiment} and {queries}")
    run = "bakeoff run" if into == Path() else f"bakeoff run {into}"
    console.say(f"Next      write questions in {queries} (bakeoff suggest drafts some), then: {run}")
