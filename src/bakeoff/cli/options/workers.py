"""The --executor option of large computations, and the workers it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bakeoff.runtime.scheduler import WorkerPool
    from bakeoff.storage.cache import Cache

Truth = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="NAME",
        help="Where to compute the exact neighbours of a large dataset: '{local: {processes: 8}}', ray, "
        "or '{ray: {address: HOST:6379}}'. Workers are stopped before anything is timed.",
    ),
]
Statistics = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="NAME",
        help="Where to compute the statistics: '{local: {processes: 8}}', ray, or '{ray: {address: HOST:6379}}'.",
    ),
]


def workers_of(executor: str | None) -> WorkerPool | None:
    """The workers that the option names; None for this process alone."""
    if executor is None:
        return None
    from bakeoff import registry
    from bakeoff.config import experiment
    from bakeoff.runtime.scheduler import worker_pool

    part = experiment.executor(executor)
    return worker_pool(registry.load("executors", part.name)(part.params))


def cache_for(executor: str | None) -> Cache:
    """The user's cache, or a cache that the executor's workers can share."""
    from bakeoff.storage.cache import Cache
    from bakeoff.storage.shared_cache import open_cache
    from bakeoff.storage.weights import home_folder

    return (
        Cache(home_folder() / "cache")
        if executor is None
        else open_cache(home_folder() / "cache", spread=True)
    )
