"""run: walks the plan. Shared work is done once; a measured system is durable; a failed one is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bakeoff import __version__, experiment, registry
from bakeoff.analysis import Result, identical_rankings, open_run
from bakeoff.cache import Cache
from bakeoff.errors import BakeoffError, CacheError, TruthError
from bakeoff.events import Emit, SystemFinished, Warned, ignore
from bakeoff.fingerprint import fingerprint
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.measures.presets import preset
from bakeoff.plan import Plan, System
from bakeoff.recording import (
    Ingredients,
    choose_folder,
    finished,
    queries_key,
    started,
    truth_key,
    write_tables,
)
from bakeoff.results import Cell, RunFolder
from bakeoff.stages.cell import Measuring, failed_cell, measure
from bakeoff.stages.chunk import Chunking
from bakeoff.stages.kitchen import Kitchen
from bakeoff.stages.mask import without_leaks
from bakeoff.stages.read import Corpus, read
from bakeoff.stages.work import Workshop
from bakeoff.truth.queries import QuerySet, read_queries
from bakeoff.truth.resolve import Truth, resolve
from bakeoff.truth.units import bound_chunkings
from bakeoff.weights import home as default_home


def run(
    what: str | Path | Plan,
    *,
    out: str | Path | None = None,
    home: str | Path | None = None,
    emit: Emit = ignore,
) -> Result:
    """Run an experiment and return its result; the finished systems of an interrupted run are kept."""
    plan = what if isinstance(what, Plan) else experiment.load(Path(what))
    queries = read_queries(plan.queries)
    conventions = _conventions(plan)
    folder = RunFolder(choose_folder(plan, Path(out) if out else None))
    record = started(plan, folder.path, conventions)
    folder.record(record)
    shop = Workshop(Cache(Path(home or default_home()) / "cache"), emit)
    try:
        made, cells = _measured(plan, queries, conventions, shop, folder)
    except BakeoffError:
        folder.record(record.model_copy(update={"status": "stopped"}))
        raise
    write_tables(folder, queries, cells)
    folder.record(finished(record, made, cells, identical_rankings(cells)))
    return open_run(folder.path)


def _measured(
    plan: Plan, queries: QuerySet, conventions: Conventions, shop: Workshop, folder: RunFolder
) -> tuple[Ingredients, list[Cell]]:
    """Read, prepare and measure; stores and models are closed whatever happens."""
    corpus = read(plan.source, registry.load("sources", plan.source.name)(plan.source.params), shop)
    kitchen = _kitchen(plan, queries, without_leaks(corpus, queries), shop)
    try:
        made = _prepare(plan, queries, corpus, kitchen, conventions, shop.emit)
        return made, list(_cells(made, kitchen, folder, shop.emit))
    finally:
        kitchen.close()


def _conventions(plan: Plan) -> Conventions:
    return preset(plan.settings.preset).conventions if plan.settings.preset else DEFAULT


def _kitchen(plan: Plan, queries: QuerySet, corpus: Corpus, shop: Workshop) -> Kitchen:
    settings = plan.settings
    return Kitchen(
        corpus, queries.queries, shop, metric=settings.metric, depth=settings.depth, repeats=settings.runs
    )


def _prepare(
    plan: Plan, queries: QuerySet, corpus: Corpus, kitchen: Kitchen, conventions: Conventions, emit: Emit
) -> Ingredients:
    """Chunk, resolve the truth, and build everything that is not timed by the query."""
    chunkings = _chunkings(plan, kitchen, emit)
    tables = {chunking.fingerprint: chunking.chunks for chunking in chunkings.values()}
    truth = resolve(queries, corpus.documents, tables, strict=True)
    _refuse_unfair(truth, chunkings)
    for problem in truth.problems:
        emit(Warned(problem.message))
    _build(plan, kitchen)
    return Ingredients(
        plan,
        queries,
        truth,
        corpus,
        chunkings,
        conventions,
        queries_key(queries),
        truth_key(truth),
        tuple(kitchen.known_lengths()),
    )


def _refuse_unfair(truth: Truth, chunkings: dict[str, Chunking]) -> None:
    """Truth that was decided on chunks cannot compare chunkers: a long chunk meets a condition more easily (F08)."""
    if len(chunkings) < 2 or not bound_chunkings(truth.judgments):
        return
    sources = sorted({hit.source for hit in truth.hits if hit.chunking})
    raise TruthError(
        f"the truth by {', '.join(sources)} is decided on chunks, so it cannot compare the chunkers "
        f"{', '.join(chunkings)}: long chunks meet a condition more easily. Use one chunker, or let these rules "
        "say over: documents or over: sections."
    )


def _chunkings(plan: Plan, kitchen: Kitchen, emit: Emit) -> dict[str, Chunking]:
    found = {}
    for part in {system.chunker.label: system.chunker for system in plan.systems}.values():
        try:
            found[part.label] = kitchen.chunking(part)
        except CacheError:
            raise
        except Exception as exc:  # noqa: BLE001 - shows again when its systems are measured
            emit(Warned(f"{part.label}: {_reason(exc)}"))
    return found


def _build(plan: Plan, kitchen: Kitchen) -> None:
    """Embed and index for all systems side by side; a failure shows again when its system is measured."""
    executor = registry.load("executors", "local")
    workers = executor(executor.Params())
    try:
        for future in workers.as_completed(
            [workers.submit(kitchen.prepare, system) for system in plan.systems]
        ):
            future.exception()
    finally:
        workers.close()


def _cells(made: Ingredients, kitchen: Kitchen, folder: RunFolder, emit: Emit) -> Iterator[Cell]:
    """One system after the other, for timings are not taken side by side."""
    total = len(made.plan.systems)
    for done, system in enumerate(made.plan.systems, 1):
        key = _cell_key(made, system, folder.path.name)
        cell = folder.cell(key)
        resumed, reason = cell is not None, ""
        if cell is None:
            try:
                cell = measure(_measuring(made, system, folder.path.name), kitchen)
                folder.keep(key, cell)
            except CacheError:  # a full disk is nobody's fault, and none of the others could be kept
                raise
            except Exception as exc:  # noqa: BLE001 - one system's fault is recorded, the others go on
                reason = _reason(exc)
                cell = failed_cell(folder.path.name, system, reason)
        emit(SystemFinished(system.label, done, total, failed=reason, resumed=resumed))
        yield cell


def _reason(exc: Exception) -> str:
    return str(exc) if isinstance(exc, BakeoffError) and str(exc) else f"{type(exc).__name__}: {exc}"


def _measuring(made: Ingredients, system: System, run_name: str) -> Measuring:
    return Measuring(run_name, system, made.queries, made.truth, made.plan.measures, made.conventions)


def _cell_key(made: Ingredients, system: System, run_name: str) -> str:
    """What a finished system depends on; anything else that changes leaves it standing."""
    settings = made.plan.settings
    shaped = [
        settings.depth,
        settings.runs,
        settings.metric,
        made.conventions.to_dict(),
        list(made.plan.measures),
    ]
    inputs = [made.corpus.fingerprint, made.queries_key, made.truth_key]  # queries hold what is masked
    names = [run_name, system.label]  # they stand in every row
    return fingerprint("cell", __version__, names, system.identity(), shaped, inputs)
