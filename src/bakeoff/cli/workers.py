"""Workers for what a command computes much of: its option, and who it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bakeoff.blocks import Helpers
    from bakeoff.cache import Cache

Truth = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="NAME",
        help="Who finds the exact neighbours of a large dataset: '{local: {processes: 8}}', ray, "
        "or '{ray: {address: HOST:6379}}'. They go home before anything is timed.",
    ),
]
Statistics = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="NAME",
        help="Who compares very many systems: '{local: {processes: 8}}', ray, or '{ray: {address: HOST:6379}}'.",
    ),
]


def workers_of(executor: str | None) -> Helpers | None:
    """The workers an option names; None where it names none but this process."""
    if executor is None:
        return None
    from bakeoff import experiment, registry
    from bakeoff.blocks import helpers

    part = experiment.executor(executor)
    return helpers(registry.load("executors", part.name)(part.params))


def cache_for(executor: str | None) -> Cache:
    """The cache of this user: one that workers share, where an option names some."""
    from bakeoff.cache import Cache
    from bakeoff.sharedcache import open_cache
    from bakeoff.weights import home

    return Cache(home() / "cache") if executor is None else open_cache(home() / "cache", spread=True)
