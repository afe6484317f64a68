"""bakeoff init: write an experiment for a folder."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bakeoff.corpus.skipped_files import SkippedFiles

SHOWN = 8


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(init)


def _skipped_line(one: SkippedFiles) -> str:
    """Describe skipped files of one format, and the pattern that would include them."""
    from bakeoff.corpus.document_kinds import NOT_INCLUDED

    suffix = PurePosixPath(one.example).suffix
    pattern = f"**/*{suffix}" if suffix else f"**/{one.example}"
    advice = f'; add "{pattern}" to read them as text' if one.reason == NOT_INCLUDED else ""
    return f"{one.files:,} {one.kind}, e.g. {one.example} ({one.reason}{advice})"


def init(
    folder: Annotated[Path, typer.Argument(help="The folder of your documents.")],
    into: Annotated[Path, typer.Option(help="Folder to write the two files to.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Write bakeoff.yaml and queries.yaml for your folder."""
    from bakeoff.cli import console
    from bakeoff.config import scaffold

    summary = scaffold.inspect_folder(folder)
    experiment, queries = scaffold.write_experiment(summary, into, force=force)
    kinds = ", ".join(f"{count} {kind}" for kind, count in summary.kinds.most_common(6))
    files = "1 file" if summary.files == 1 else f"{summary.files:,} files"
    console.print_line(f"{files}, {summary.bytes / 1e6:.1f} MB: {kinds}")
    for one in summary.skipped[:SHOWN]:
        console.print_line(f"skipped   {_skipped_line(one)}")
    if rest := sum(one.files for one in summary.skipped[SHOWN:]):
        console.print_line(f"skipped   {rest:,} more of {len(summary.skipped) - SHOWN} other kinds")
    console.print_line(f"wrote     {experiment} and {queries}")
    run = "bakeoff run" if into == Path() else f"bakeoff run {into}"
    console.print_line(f"Next      write questions in {queries} (bakeoff suggest drafts some), then: {run}")
