"""The commands and their groups. Commands call the library; heavy imports are inside functions."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from bakeoff import __version__
from bakeoff.cli import (
    ann,
    cache,
    checks,
    compare,
    evaluate,
    examples,
    gate,
    imports,
    init,
    lists,
    load,
    mcp,
    models,
    reports,
    runs,
    scale,
    servers,
    take,
    watch,
)
from bakeoff.cli.review import commands, serve, suggest
from bakeoff.cli.trials import part

GROUPS: Mapping[str, Sequence[str]] = {
    "Start here": ("demo", "init", "examples"),
    "Run and read": (
        "run",
        "status",
        "report",
        "compare",
        "diff",
        "dashboard",
        "gate",
        "watch",
        "history",
        "export",
        "ask",
        "take",
        "log",
    ),
    "Truth and review": ("suggest", "validate", "import", "review", "final-report", "evaluate", "explain"),
    "Speed": ("load", "ann", "scale", "page", "data"),
    "Housekeeping": ("list", "models", "servers", "test", "cache", "mcp", "version"),
}
"""The commands of `bakeoff --help`, most used first."""


class _Commands(TyperGroup):
    """All commands, listed by group; reads --json before anything can fail."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the signature of the base class
        """Write each group as a section; all descriptions start in the same column."""
        width = max(len(name) for names in GROUPS.values() for name in names)
        for title, names in GROUPS.items():
            with formatter.section(title):
                limit = formatter.width - width - 6
                formatter.write_dl(
                    [(name.ljust(width), self.commands[name].get_short_help_str(limit)) for name in names]
                )

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        from bakeoff.cli import console

        words = sys.argv[1:] if args is None else args
        console.report_failures_in_json("--json" in words)
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


def _print_version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    show_version: Annotated[  # noqa: ARG001 - the callback prints it
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks and debug logs.")] = False,
    home: Annotated[
        Path | None,
        typer.Option(
            envvar="BAKEOFF_HOME", help="Folder for the cache and model weights. [default: ~/.cache/bakeoff]"
        ),
    ] = None,
) -> None:
    """Which embedding model, chunker, vector database and retrieval mode suits your documents?"""
    from bakeoff.cli import console

    if not ctx.resilient_parsing:
        console.configure(debug=debug, home=home)


@app.command()
def version() -> None:
    """Print the version."""
    from bakeoff.cli import console

    console.print_line(f"bakeoff {__version__}")


for module in (
    runs,
    examples,
    reports,
    compare,
    take,
    gate,
    watch,
    ann,
    scale,
    load,
    init,
    checks,
    evaluate,
    imports,
    commands,
    serve,
    suggest,
    lists,
    models,
    servers,
    part,
    cache,
    mcp,
):
    module.register(app)


def main() -> None:
    """Entry point of `bakeoff`. Exit codes: 0, 1 (a system failed), 2 (wrong input), 130 (interrupted)."""
    from bakeoff.runtime.signals import TerminationGuard

    ending = TerminationGuard()
    try:
        ending.listen()
        from bakeoff.cli import console

        code = console.run_guarded(lambda: app(standalone_mode=False))
    except KeyboardInterrupt:  # before anything started or after it ended: nothing to report
        code = 128 + signal.SIGINT
    sys.exit(ending.code(code))
