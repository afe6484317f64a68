"""The commands. Each does one thing by calling the library; what is heavy is imported inside."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from bakeoff import __version__
from bakeoff.cli import (
    ann,
    cache,
    checks,
    dashboard,
    data,
    evaluate,
    examples,
    gate,
    imports,
    init,
    lists,
    load,
    models,
    reports,
    review,
    review_serve,
    review_suggest,
    runs,
    scale,
    servers,
    try_part,
)


class _Commands(TyperGroup):
    """All commands; whether a script asked for JSON is known before anything can fail."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        from bakeoff.cli import console

        words = sys.argv[1:] if args is None else args
        console.answer_in_json("--json" in words)
        return super().main(args, *rest, **options)


app = typer.Typer(
    name="bakeoff",
    cls=_Commands,
    help="Which embedding model, chunker, vector database and retrieval mode suits your documents?",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


@app.callback()
def options(
    ctx: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks and log details.")] = False,
    home: Annotated[
        Path | None,
        typer.Option(envvar="BAKEOFF_HOME", help="Folder of cache and models. [default: ~/.cache/bakeoff]"),
    ] = None,
) -> None:
    """Which embedding model, chunker, vector database and retrieval mode suits your documents?"""
    from bakeoff.cli import console

    if not ctx.resilient_parsing:
        console.configure(debug=debug, home=home)


@app.command()
def version() -> None:
    """Show the version."""
    from bakeoff.cli import console

    console.print_line(f"bakeoff {__version__}")


for module in (
    runs,
    examples,
    reports,
    gate,
    dashboard,
    ann,
    scale,
    load,
    data,
    init,
    checks,
    evaluate,
    imports,
    review,
    review_serve,
    review_suggest,
    lists,
    models,
    servers,
    try_part,
    cache,
):
    module.register(app)


def main() -> None:
    """Entry point of `bakeoff`; the exit code is 0, 1 (a system failed) or 2 (the input is wrong)."""
    from bakeoff.runtime.signals import TerminationGuard

    ending = TerminationGuard()
    try:
        ending.listen()
        from bakeoff.cli import console

        code = console.run_guarded(lambda: app(standalone_mode=False))
    except KeyboardInterrupt:  # before anything was begun, or after it ended: nothing to say
        code = 128 + signal.SIGINT
    sys.exit(ending.code(code))
