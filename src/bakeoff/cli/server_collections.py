"""bakeoff servers collections: list and remove the collections of runs on a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer


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
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the collections that runs created on a server; with --drop, remove them.

    Nothing else on the server is touched.
    """
    from bakeoff.cli import console
    from bakeoff.storage.temp_dir import TempDir

    with TempDir("collections") as folder:
        store = _store(name, set_ or [], folder)
        try:
            found = [(one, _belongs_to_cache(one)) for one in store.collections()]
            shown = [(one, known) for one, known in found if not (unused and known)]
            _show(name, shown, as_json)
            if drop and shown and (yes or typer.confirm(f"Remove {_count(shown)} from {name}?", abort=True)):
                for one, _ in shown:
                    store.drop(one)
                console.err.print(f"{_count(shown)} removed from {name}.", markup=False)
        finally:
            store.close()


def _store(name: str, given: list[str], folder: Any) -> Any:
    """The connected store; SettingError if it keeps nothing on a server."""
    from bakeoff import registry
    from bakeoff.cli.try_store import params_of
    from bakeoff.errors import SettingError
    from bakeoff.protocols import SupportsDrop

    plugin = registry.load("stores", name)
    if not issubclass(plugin, SupportsDrop):
        able = [one for one in registry.names("stores") if _drops(one)]
        raise SettingError(
            f"{name} keeps its collections in the cache (`bakeoff cache clear` removes them) or cannot list them. "
            f"Stores that can: {', '.join(able)}."
        )
    return plugin(plugin.Params(**params_of(plugin, given)), folder)


def _drops(name: str) -> bool:
    from bakeoff import registry
    from bakeoff.errors import MissingExtraError
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


def _show(name: str, rows: Sequence[tuple[str, bool]], as_json: bool) -> None:
    from bakeoff.cli import console

    if as_json:
        console.print_json([{"collection": one, "in_cache": known} for one, known in rows])
    elif rows:
        console.table(
            ["collection", "in this cache"], [[one, "yes" if known else "no"] for one, known in rows]
        )
    else:
        console.print_line(f"{name} has no collections to list.")


def _count(rows: Sequence[object]) -> str:
    return f"{len(rows)} collection{'s' if len(rows) != 1 else ''}"
