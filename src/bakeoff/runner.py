"""run: walks the plan. Shared work is done once; a measured system is durable; a failed one is recorded."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from bakeoff import __version__, experiment, registry
from bakeoff.analysis import Result, identical_rankings, open_run
from bakeoff.blocks import Helpers, helpers
from bakeoff.errors import BakeoffError, CacheError, TruthError
from bakeoff.events import Emit, SystemFinished, Warned, ignore
from bakeoff.fingerprint import fingerprint
from bakeoff.journal import Journal, both
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.measures.presets import preset
from bakeoff.modes import Hybrid
from bakeoff.plan import Plan, System
from bakeoff.protocols import Executor
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
from bakeoff.sharedcache import open_cache
from bakeoff.stages.cell import Measuring, failed_cell, faulty_cell, measure, measuring
from bakeoff.stages.chunk import Chunking
from bakeoff.stages.embed import vector_notes
from bakeoff.stages.kitchen import Kitchen
from bakeoff.stages.marking import WORTH_ROWS
from bakeoff.stages.mask import without_leaks
from bakeoff.stages.read import Corpus, read
from bakeoff.stages.work import Workshop, stage
from bakeoff.truth.queries import QuerySet, read_queries
from bakeoff.truth.resolve import Truth, resolve
from bakeoff.truth.reviewed import read_judgments, with_judgments
from bakeoff.truth.units import bound_chunkings
from bakeoff.types import Status
from bakeoff.weights import home as default_home


def run(
    what: str | Path | Plan,
    *,
    out: str | Path | None = None,
    home: str | Path | None = None,
    emit: Emit = ignore,
    executor: str | None = None,
) -> Result:
    """Run an experiment and return its result; the finished systems of an interrupted run are kept.

    `executor` is used instead of the experiment's: `ray`, or `{ray: {address: auto}}`.
    """
    plan = what if isinstance(what, Plan) else experiment.load(Path(what))
    workers = _executor(plan, executor)
    queries = read_queries(plan.queries)
    conventions = _conventions(plan)
    folder = RunFolder(choose_folder(plan, Path(out) if out else None))
    record = started(plan, folder.path, conventions)
    folder.record(record)
    journal = Journal(folder.path)
    try:
        cache = open_cache(
            Path(home or default_home()) / "cache", spread=workers is not None and workers.slots > 0
        )
        shop = Workshop(cache, both(emit, journal), workers)
        notes = _called(shop)
        made, cells = _measured(plan, queries, conventions, shop, folder)
        write_tables(folder, queries, cells)
        folder.record(finished(record, made, cells, [*made.notes, *notes, *identical_rankings(cells)]))
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
    plan: Plan, queries: QuerySet, conventions: Conventions, shop: Workshop, folder: RunFolder
) -> tuple[Ingredients, list[Cell]]:
    """Read, prepare and measure; stores and models are closed whatever happens."""
    begin = time.perf_counter()
    corpus = read(plan.source, registry.load("sources", plan.source.name)(plan.source.params), shop)
    seconds = time.perf_counter() - begin
    kitchen = _kitchen(plan, queries, without_leaks(corpus, queries), shop, seconds)
    try:
        made = _prepare(plan, queries, corpus, kitchen, conventions, shop.emit)
        _send_home(shop.executor)  # nobody else works on this machine while queries are timed
        return made, list(_cells(made, kitchen, folder, shop))
    finally:
        _close(kitchen, shop.emit)


def _close(kitchen: Kitchen, emit: Emit) -> None:
    """Close what is open; what was measured does not depend on an engine's goodbye."""
    try:
        kitchen.close()
    except Exception as exc:  # noqa: BLE001 - an engine that is gone cannot be closed
        emit(Warned(f"closing: {_reason(exc)}"))


def _conventions(plan: Plan) -> Conventions:
    return preset(plan.settings.preset).conventions if plan.settings.preset else DEFAULT


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


def _prepare(
    plan: Plan, queries: QuerySet, corpus: Corpus, kitchen: Kitchen, conventions: Conventions, emit: Emit
) -> Ingredients:
    """Chunk, resolve the truth, and build everything that is not timed by the query."""
    chunkings = _chunkings(plan, kitchen, emit)
    tables = {chunking.fingerprint: chunking.chunks for chunking in chunkings.values()}
    truth = _reviewed(plan, queries, corpus, resolve(queries, corpus.documents, tables, strict=True))
    _refuse_unfair(truth, chunkings)
    for problem in truth.problems:
        emit(Warned(problem.message))
    _check_filters(plan, queries, kitchen, chunkings, emit)
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
        tuple(vector_notes(kitchen.known_vectors())),
        kitchen.engines(),
    )


def _reviewed(plan: Plan, queries: QuerySet, corpus: Corpus, truth: Truth) -> Truth:
    """The truth with people's judgments in it, where the experiment names a judgment set."""
    if plan.settings.judgments is None:
        return truth
    judged = read_judgments(plan.folder / plan.settings.judgments)
    return with_judgments(truth, queries, corpus.documents, judged)


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


def _check_filters(
    plan: Plan, queries: QuerySet, kitchen: Kitchen, chunkings: Mapping[str, Chunking], emit: Emit
) -> None:
    """A filter on a field that is not there stops the run; one that leaves no chunk is told."""
    if not any(queries.filters):
        return
    parts = {system.chunker.label: system.chunker for system in plan.systems}
    for label in chunkings:
        beside = kitchen.payload(parts[label])
        for query, where in zip(queries.queries, kitchen.wheres(parts[label]), strict=True):
            if where and not beside.count(where):
                emit(Warned(f"query {query.id}: its filter leaves no chunk of {label}, so it finds nothing."))


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


def _cells(made: Ingredients, kitchen: Kitchen, folder: RunFolder, shop: Workshop) -> Iterator[Cell]:
    """One system after the other, for timings are not taken side by side."""
    total, name = len(made.plan.systems), folder.path.name
    keys = [_cell_key(made, system, name) for system in made.plan.systems]
    kept = [folder.cell(key) for key in keys]
    tasks = [_measuring(made, system, name, kitchen) for system in made.plan.systems]
    todo = [task for task, cell in zip(tasks, kept, strict=True) if cell is None]
    workers = _scorers(made, todo, shop)
    faults = _rounds(todo, kitchen, kitchen.repeats if workers is None else kitchen.repeats + 1)
    with _scoring(workers, shop):
        for done, (task, key, cell) in enumerate(zip(tasks, keys, kept, strict=True), 1):
            label, resumed = task.system.label, cell is not None
            if cell is None:
                cell = _measured_cell(task, kitchen, faults.get(label), workers, shop)
                if cell.systems["status"][0].as_py() == Status.DONE:
                    folder.keep(key, cell)
            reason = cell.systems["reason"][0].as_py()
            shop.emit(SystemFinished(label, done, total, failed=reason, resumed=resumed))
            yield cell


def _scorers(made: Ingredients, todo: list[Measuring], shop: Workshop) -> Helpers | None:
    """Who scores: the workers where there is much to score, and then all is searched before they come."""
    rows = len(todo) * len(made.queries.queries) * made.plan.settings.depth
    return helpers(shop.executor) if rows >= WORTH_ROWS else None


@contextlib.contextmanager
def _scoring(workers: Helpers | None, shop: Workshop) -> Iterator[None]:
    """The workers while systems are scored."""
    if workers is None:
        yield
        return
    with contextlib.ExitStack() as stack:
        with stage(shop, "start", "workers", 1, "executors") as report:
            report.summary = stack.enter_context(workers.called())
        yield


def _rounds(tasks: list[Measuring], kitchen: Kitchen, end: int) -> dict[str, Exception]:
    """All rounds before `end`, in turns between the systems (F35); the faults by system."""
    faults: dict[str, Exception] = {}
    for number in range(1, end):
        for task in tasks:
            if task.system.label not in faults:
                try:
                    kitchen.answers(task.system, number, task.tuner)
                except CacheError:
                    raise
                except Exception as exc:  # noqa: BLE001 - one system's fault is recorded, the others go on
                    faults[task.system.label] = exc
    return faults


def _measured_cell(
    task: Measuring, kitchen: Kitchen, fault: Exception | None, workers: Helpers | None, shop: Workshop
) -> Cell:
    """A system's tables; of one that failed, what it had measured before."""
    try:
        if fault is not None:
            raise fault
        if workers is None:
            return measure(task, kitchen)
        with stage(shop, "score", task.system.label, len(task.queries.queries), "queries") as report:
            report.advance(0)
            return measure(task, kitchen, workers, report.advance)
    except CacheError:  # a full disk is nobody's fault, and none of the others could be kept
        raise
    except Exception as exc:  # noqa: BLE001 - one system's fault is recorded, the others go on
        reason = _reason(exc)
    try:
        return faulty_cell(task, kitchen, reason)
    except CacheError:
        raise
    except Exception:  # noqa: BLE001 - what there is cannot be scored either
        return failed_cell(task.run, task.system, reason)


def _reason(exc: Exception) -> str:
    return str(exc) if isinstance(exc, BakeoffError) and str(exc) else f"{type(exc).__name__}: {exc}"


def _measuring(made: Ingredients, system: System, run_name: str, kitchen: Kitchen) -> Measuring:
    return measuring(
        run_name,
        system,
        made.queries,
        made.truth,
        made.plan.measures,
        made.conventions,
        kitchen,
        made.plan.settings.seed,
    )


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
    if isinstance(system.mode.params, Hybrid) and system.mode.params.tuned:
        shaped.append(settings.seed)  # it deals the folds
    return fingerprint("cell", __version__, names, system.identity(), shaped, inputs)
