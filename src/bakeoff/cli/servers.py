"""bakeoff servers: start and stop real engines on this machine, and list what runs created on them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from bakeoff.cli import console
from bakeoff.cli.options.consent import with_consent
from bakeoff.cli.options.output import with_json
from bakeoff.errors import BakeoffError, MissingExtraError, SettingError
from bakeoff.protocols import CompleteStore
from bakeoff.runtime.count_text import count

if TYPE_CHECKING:
    from bakeoff.runtime.servers.control import ServerStatus

servers_app = typer.Typer(help="Start and stop database servers on this machine.", no_args_is_help=True)
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
    """Start servers and wait until they answer.

    Without names: all that are installed.
    """
    from bakeoff.runtime.servers import control

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
    from bakeoff.runtime.servers import control

    for server in control.choose_servers(names or []):
        stopped = control.down(server, data=data)
        if stopped or names:
            console.print_line(f"{server.name} {'stopped' if stopped else 'was not running'}")


@servers_app.command()
@with_json
def status(names: Names = None) -> None:
    """Show which servers are running.

    The exit code is 1 if one crashed or does not answer.
    """
    from bakeoff.runtime.servers import control

    states = [control.status(server) for server in control.choose_servers(names or [])]
    console.print_json(states)
    headers = ["server", "state", "pid", "MB", "since"]
    console.table(headers, [_cells(one) for one in states], right=(2, 3))
    for one in states:
        if one.address:
            console.print_line(f"{one.name}: {one.address} ({one.version})")
        if one.note:
            console.print_line(f"{one.name}: {one.note}", style="dim")
    if any(one.state in ("crashed", "not answering") for one in states):
        raise typer.Exit(1)


def _cells(one: ServerStatus) -> list[str]:
    since = f"{datetime.fromtimestamp(one.since, UTC).astimezone():%Y-%m-%d %H:%M:%S}" if one.since else ""
    memory = "" if one.memory_mb is None else f"{one.memory_mb:,.0f}"
    running = one.state not in ("down", "not installed")
    return [one.name, one.state, str(one.pid) if running else "", memory, since]


@with_json
def collections(
    name: Annotated[str, typer.Argument(help="A store whose engine is a server.")],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter as key=value, such as url=http://host:9200."),
    ] = None,
    unused: Annotated[
        bool, typer.Option("--unused", help="Only collections that this cache does not use.")
    ] = False,
    drop: Annotated[bool, typer.Option("--drop", help="Remove the listed collections.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """List or drop the collections that runs created on a server.

    Other collections are never listed or dropped.
    """
    from bakeoff.storage.temp_dir import TempDir

    with TempDir("collections") as folder:
        store = _connected_store(name, set_ or [], folder)
        try:
            found = [(collection, _belongs_to_cache(collection)) for collection in store.collections()]
            shown = [(one, used) for one, used in found if not (unused and used)]
            _show_collections(name, shown)
            listed = count(len(shown), "collection")
            if drop and shown and (yes or typer.confirm(f"Remove {listed} from {name}?", abort=True)):
                for collection, _ in shown:
                    store.drop(collection)
                console.err.print(f"{listed} removed from {name}.", markup=False)
        finally:
            store.close()


def _connected_store(name: str, settings: list[str], folder: Path) -> CompleteStore:
    """The connected store; SettingError if it keeps nothing on a server."""
    from bakeoff import registry
    from bakeoff.cli.trials.store import params_of
    from bakeoff.protocols import SupportsDrop

    plugin = registry.load("stores", name)
    if not issubclass(plugin, SupportsDrop):
        droppable = [store for store in registry.names("stores") if _drops(store)]
        raise SettingError(
            f"{name} keeps its collections in the cache (`bakeoff cache clear` removes them) or cannot list them. "
            f"Stores that can: {', '.join(droppable)}."
        )
    return cast("CompleteStore", plugin(plugin.Params(**params_of(plugin, settings)), folder))


def _drops(name: str) -> bool:
    from bakeoff import registry
    from bakeoff.protocols import SupportsDrop

    try:
        return issubclass(registry.load("stores", name), SupportsDrop)
    except MissingExtraError:
        return False


def _belongs_to_cache(collection: str) -> bool:
    """Whether this cache uses a collection; some engines truncate long names."""
    from bakeoff.storage.cache import Cache
    from bakeoff.storage.weights import home_folder

    return len(collection) >= 16 and bool(Cache(home_folder() / "cache").keys("index", collection))


def _show_collections(name: str, rows: Sequence[tuple[str, bool]]) -> None:
    console.print_json([{"collection": one, "in_cache": used} for one, used in rows])
    if rows:
        console.table(["collection", "in this cache"], [[one, "yes" if used else "no"] for one, used in rows])
    else:
        console.print_line(f"{name} has no collections to list.")
