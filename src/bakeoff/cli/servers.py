"""bakeoff servers: start and stop real engines on this machine, for tests and trials."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli.options.consent import with_consent
from bakeoff.cli.server_collections import collections

if TYPE_CHECKING:
    from bakeoff.servers.control import ServerStatus

servers_app = typer.Typer(help="Start and stop real engines here, without containers.", no_args_is_help=True)
Names = Annotated[
    list[str] | None, typer.Argument(help="Servers, by the name of their store. [default: all]")
]


def register(app: typer.Typer) -> None:
    """Add these commands."""
    servers_app.command()(with_consent(collections))
    app.add_typer(servers_app, name="servers")


@servers_app.command()
def up(
    names: Names = None,
    install: Annotated[
        bool, typer.Option("--install", help="Install a missing engine, if possible.")
    ] = False,
) -> None:
    """Start servers and wait until they answer; without names, all that are installed."""
    from bakeoff.cli import console
    from bakeoff.errors import BakeoffError
    from bakeoff.servers import control

    failed = False
    for server in control.choose_servers(names or []):
        if not names and not install and server.find() is None:
            console.print_line(f"– {server.name} is not installed. {server.how}", style="dim")
            continue
        try:
            started = control.up(
                server, install=install, tell=lambda text: console.err.print(text, markup=False)
            )
        except BakeoffError as exc:
            if len(names or []) == 1:
                raise
            console.warn(str(exc))
            failed = True
            continue
        console.print_line(
            f"{started.name} {started.state} at {started.address} ({started.version})", style="bold"
        )
        console.print_line(f"  bakeoff.yaml:  stores: [{started.line}]")
    if failed:
        raise typer.Exit(1)


@servers_app.command()
def down(
    names: Names = None,
    data: Annotated[bool, typer.Option("--data", help="Also delete their data.")] = False,
) -> None:
    """Stop servers and all their processes; their data stays."""
    from bakeoff.cli import console
    from bakeoff.servers import control

    for server in control.choose_servers(names or []):
        stopped = control.down(server, data=data)
        if stopped or names:
            console.print_line(f"{server.name} {'stopped' if stopped else 'was not running'}")


@servers_app.command()
def status(
    names: Names = None, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """Show which servers run; exit code 1 if one crashed or does not answer."""
    from dataclasses import asdict

    from bakeoff.cli import console
    from bakeoff.servers import control

    found = [control.status(server) for server in control.choose_servers(names or [])]
    if as_json:
        console.print_json([asdict(one) for one in found])
    else:
        headers = ["server", "state", "version", "address", "pid", "MB", "since"]
        console.table(headers, [_cells(one) for one in found], right=(4, 5))
        for one in found:
            if one.note:
                console.print_line(f"{one.name}: {one.note}", style="dim")
    if any(one.state in ("crashed", "not answering") for one in found):
        raise typer.Exit(1)


def _cells(one: ServerStatus) -> list[str]:
    since = f"{datetime.fromtimestamp(one.since, UTC).astimezone():%Y-%m-%d %H:%M:%S}" if one.since else ""
    memory = "" if one.memory_mb is None else f"{one.memory_mb:,.0f}"
    running = one.state not in ("down", "not installed")
    return [one.name, one.state, one.version, one.address, str(one.pid) if running else "", memory, since]
