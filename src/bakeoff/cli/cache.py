"""bakeoff cache: what is kept, and how to remove it."""

from __future__ import annotations

from typing import Annotated

import typer

cache_app = typer.Typer(help="What is kept from earlier runs.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.add_typer(cache_app, name="cache")


@cache_app.command()
def info(as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False) -> None:
    """Show how much each stage keeps, and where."""
    from bakeoff.cache import Cache
    from bakeoff.cli import console
    from bakeoff.weights import home

    cache = Cache(home() / "cache")
    rows = cache.use()
    if as_json:
        stages = [{"stage": row.stage, "artifacts": row.artifacts, "bytes": row.bytes} for row in rows]
        console.say_json({"folder": str(cache.root), "stages": stages})
        return
    if rows:
        table = [[row.stage, f"{row.artifacts:,}", f"{row.bytes / 1e6:,.1f} MB"] for row in rows]
        console.table(["stage", "artifacts", "size"], table, right=(1, 2))
    total = sum(row.bytes for row in rows) / 1e6
    console.say(f"{total:,.1f} MB in {cache.root}")


@cache_app.command()
def clear(
    stage: Annotated[str | None, typer.Option(help="Only this stage.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove what is kept; the next run makes it again."""
    from bakeoff.cache import Cache
    from bakeoff.cli import console
    from bakeoff.errors import SettingError
    from bakeoff.weights import home

    cache = Cache(home() / "cache")
    known = [row.stage for row in cache.use()]
    if stage is not None and stage not in known:
        raise SettingError(f"the cache has no stage {stage!r}. Stages: {', '.join(known) or 'none'}.")
    if not yes:
        typer.confirm(f"Remove {stage or 'everything'} from {cache.root}?", abort=True)
    console.say(f"{cache.clear(stage) / 1e6:,.1f} MB freed.")
