"""run: walks the plan. Shared work is done once; a measured system is durable; a failed one is recorded."""

from __future__ import annotations

import time
from pathlib import Path

from bakeoff import experiment, registry
from bakeoff.analysis import Result, open_run
from bakeoff.blocks import helpers
from bakeoff.errors import BakeoffError, told
from bakeoff.events import Emit, Warned, ignore
from bakeoff.journal import Journal, both
from bakeoff.plan import Plan
from bakeoff.preparing import prepare
from bakeoff.protocols import Executor
from bakeoff.recording import Ingredients, choose_folder, earlier_results, finished, started, write_tables
from bakeoff.results import RunFolder
from bakeoff.sharedcache import open_cache
from bakeoff.stages.encodings import encoding_sentence, other_encodings
from bakeoff.stages.kitchen import Kitchen
from bakeoff.stages.mask import without_leaks
from bakeoff.stages.read import Corpus, read
from bakeoff.stages.system_tables import Cell
from bakeoff.stages.work import Workshop, stage
from bakeoff.truth.queries import QuerySet, read_queries
from bakeoff.turns import cells
from bakeoff.weights import home as default_home


def run(
    what: str | Path | Plan,
    *,
    out: str | Path | None = None,
    home: str | Path | None = None,
    emit: Emit = ignore,
    executor: str | None = None,
    force: bool = False,
) -> Result:
    """Run an experiment and return its result; the finished systems of an interrupted run are kept.

    `executor` is used instead of the experiment's: `ray`, or `{ray: {address: auto}}`. With `force`, the run of
    another experiment in `out` is moved aside.
    """
    plan = what if isinstance(what, Plan) else experiment.load(Path(what))
    workers = _executor(plan, executor)
    queries = read_queries(plan.queries)
    folder = RunFolder(choose_folder(plan, Path(out) if out else None, force=force))
    earlier = earlier_results(plan, folder.path)
    record = started(plan, folder.path)
    folder.record(record)
    journal = Journal(folder.path)
    try:
        cache = open_cache(
            Path(home or default_home()) / "cache", spread=workers is not None and workers.slots > 0
        )
        shop = Workshop(cache, both(emit, journal), workers)
        if earlier:
            shop.emit(Warned(earlier))
        notes = _called(shop)
        made, measured = _measured(plan, queries, shop, folder)
        tables = write_tables(folder, made, measured)
        folder.record(finished(record, made, measured, notes).model_copy(update={"tables": tables}))
    except BakeoffError:
        folder.record(record.model_copy(update={"status": "stopped"}))
        raise
    finally:
        _send_home(workers)
        journal.close()
    return open_run(folder.path, helpers(workers))


def _executor(plan: Plan, given: str | None) -> Executor | None:
    """Where chunks and vectors are made; None for this process."""
    part = experiment.executor(given) if given else plan.executor
    return registry.load("executors", part.name)(part.params) if part is not None else None


def _called(shop: Workshop) -> list[str]:
    """Start the workers, so that no stage is charged for it; what the results must say about them."""
    if shop.executor is None or not shop.executor.slots:
        return []
    with stage(shop, "start", "workers", 1, "executors") as report:
        report.summary = shop.executor.start()
    return [f"Chunks and vectors were made by {report.summary}; the seconds that took are theirs."]


def _send_home(workers: Executor | None) -> None:
    if workers is not None:
        workers.close()


def _measured(
    plan: Plan, queries: QuerySet, shop: Workshop, folder: RunFolder
) -> tuple[Ingredients, list[Cell]]:
    """Read, prepare and measure; stores and models are closed whatever happens."""
    begin = time.perf_counter()
    corpus = read(plan.source, registry.load("sources", plan.source.name)(plan.source.params), shop)
    seconds = time.perf_counter() - begin
    if encodings := encoding_sentence(other_encodings(corpus)):
        shop.emit(Warned(encodings))
    kitchen = _kitchen(plan, queries, without_leaks(corpus, queries), shop, seconds)
    try:
        made = prepare(plan, queries, corpus, kitchen, shop.emit)
        _send_home(shop.executor)  # nobody else works on this machine while queries are timed
        return made, list(cells(made, kitchen, folder, shop))
    finally:
        _close(kitchen, shop.emit)


def _close(kitchen: Kitchen, emit: Emit) -> None:
    """Close what is open; what was measured does not depend on an engine's goodbye."""
    try:
        kitchen.close()
    except Exception as exc:  # noqa: BLE001 - an engine that is gone cannot be closed
        emit(Warned(f"closing: {told(exc)}"))


def _kitchen(plan: Plan, queries: QuerySet, corpus: Corpus, shop: Workshop, read_seconds: float) -> Kitchen:
    settings = plan.settings
    return Kitchen(
        corpus,
        queries.queries,
        shop,
        metric=settings.metric,
        depth=settings.depth,
        repeats=settings.runs,
        filters=queries.filters,
        read_seconds=read_seconds,
    )
