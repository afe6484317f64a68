"""bakeoff cache: show and clear the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli import console
from bakeoff.cli.options.output import with_json
from bakeoff.errors import SettingError

if TYPE_CHECKING:
    from pathlib import Path

    from bakeoff.storage.cache import StageUse

cache_app = typer.Typer(help="Show or clear the cache.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.add_typer(cache_app, name="cache")


@cache_app.command()
@with_json
def info() -> None:
    """Show the size of the cache, by stage."""
    from bakeoff.storage.shared_cache import RemoteBackedCache, open_cache
    from bakeoff.storage.weights import home_folder

    cache = open_cache(home_folder() / "cache")
    rows = cache.use()
    shared = cache.remote.use() if isinstance(cache, RemoteBackedCache) else []
    url = cache.url if isinstance(cache, RemoteBackedCache) else None
    summary = {"folder": str(cache.root), "stages": _stages(rows)}
    console.print_json(summary | ({"shared": url, "shared_stages": _stages(shared)} if url else {}))
    _show(rows, str(cache.root))
    if url:
        console.print_line()
        _show(shared, f"{url}, shared")


@cache_app.command()
def clear(
    stage: Annotated[str | None, typer.Option(help="Clear only this stage.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Clear the cache; the next run rebuilds what it needs."""
    from bakeoff.storage.shared_cache import RemoteBackedCache, open_cache
    from bakeoff.storage.weights import home_folder

    cache = open_cache(home_folder() / "cache")
    stages = [row.stage for row in cache.use()]
    if stage is not None and stage not in stages:
        raise SettingError(f"the cache has no stage {stage!r}. Stages: {', '.join(stages) or 'none'}.")
    if not yes:
        typer.confirm(f"Remove {stage or 'everything'} from {cache.root}?", abort=True)
    on_servers = _on_servers(cache.root) if stage in (None, "index") else 0
    console.print_line(f"{cache.clear(stage) / 1e6:,.1f} MB freed.")
    if on_servers:
        console.print_line(
            f"Collections on servers stay ({on_servers}). Remove them: bakeoff servers collections STORE --drop"
        )
    if isinstance(cache, RemoteBackedCache):
        console.print_line(
            f"The shared cache at {cache.url} was not touched; artifacts are downloaded from it again."
        )


def _on_servers(root: Path) -> int:
    """Count indexes that have only a manifest here: a server holds them."""
    folders = (root / "index").glob("??/*")
    return sum({path.name for path in folder.iterdir()} == {"manifest.json"} for folder in folders)


def _stages(rows: list[StageUse]) -> list[dict[str, str | int]]:
    return [{"stage": row.stage, "artifacts": row.artifacts, "bytes": row.bytes} for row in rows]


def _show(rows: list[StageUse], where: str) -> None:
    if rows:
        table = [[row.stage, f"{row.artifacts:,}", f"{row.bytes / 1e6:,.1f} MB"] for row in rows]
        console.table(["stage", "artifacts", "size"], table, right=(1, 2))
    total = sum(row.bytes for row in rows) / 1e6
    console.print_line(f"{total:,.1f} MB in {where}")
