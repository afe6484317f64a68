"""Systems measured in turns: a round of queries goes through all of them, and each ends as a cell, failed or done."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from bakeoff import __version__
from bakeoff.corpus import segmentation
from bakeoff.runtime.worker_pool import WorkerPool, worker_pool
from bakeoff.runs.empty_searches import empty_search_sentences, noteworthy_empty_searches
from bakeoff.errors import CacheError, ConsentError, describe_error
from bakeoff.runtime.events import SystemFinished, WarningRaised
from bakeoff.fingerprint import fingerprint
from bakeoff.config.modes import Hybrid
from bakeoff.config.plan import System
from bakeoff.runs.recording import RunInputs
from bakeoff.runs.folder import RunFolder
from bakeoff.pipeline.measure_system import (
    SystemTask,
    failed_result,
    partial_result,
    measure_system,
    make_system_task,
)
from bakeoff.pipeline.query_executor import QueryExecutor
from bakeoff.pipeline.loops.latency_check import LatencyCheck, latency_disagreements
from bakeoff.pipeline.scoring.score_queries import WORTH_ROWS
from bakeoff.pipeline.system_tables import SystemResult
from bakeoff.pipeline.context import StageContext, stage_progress
from bakeoff.types import Status


def measure_systems(made: RunInputs, query_executor: QueryExecutor, folder: RunFolder, context: StageContext) -> Iterator[SystemResult]:
    """One system after the other, for timings are not taken side by side."""
    total, name = len(made.plan.systems), folder.path.name
    keys = [_cell_key(made, system, name) for system in made.plan.systems]
    kept = [folder.cell(key) for key in keys]
    tasks = [_measuring(made, system, name, query_executor) for system in made.plan.systems]
    todo = [task for task, cell in zip(tasks, kept, strict=True) if cell is None]
    workers = _scorers(made, todo, context)
    faults, checks = _rounds(todo, query_executor, query_executor.repeats if workers is None else query_executor.repeats + 1)
    with _scoring(workers, context):
        for done, (task, key, cell) in enumerate(zip(tasks, keys, kept, strict=True), 1):
            label = task.system.label
            ended = cell or _keep_result(
                folder,
                key,
                _measured_cell(task, query_executor, faults.get(label), checks.get(label), workers, context),
            )
            reason = ended.systems["reason"][0].as_py()
            context.emit(SystemFinished(label, done, total, failed=reason, resumed=cell is not None))
            empty = empty_search_sentences(noteworthy_empty_searches([ended], made.queries))
            for sentence in (*latency_disagreements(ended.timings), *empty):
                context.emit(WarningRaised(sentence))
            yield ended


def _keep_result(folder: RunFolder, key: str, cell: SystemResult) -> SystemResult:
    """The same cell, durable where its system is done."""
    if cell.systems["status"][0].as_py() == Status.DONE:
        folder.keep(key, cell)
    return cell


def _scorers(made: RunInputs, todo: list[SystemTask], context: StageContext) -> WorkerPool | None:
    """Who scores: the workers where there is much to score, and then all is searched before they come."""
    rows = len(todo) * len(made.queries.queries) * made.plan.settings.depth
    return worker_pool(context.executor) if rows >= WORTH_ROWS else None


@contextlib.contextmanager
def _scoring(workers: WorkerPool | None, context: StageContext) -> Iterator[None]:
    """The workers while systems are scored."""
    if workers is None:
        yield
        return
    with contextlib.ExitStack() as stack:
        with stage_progress(context, "start", "workers", 1, "executors") as report:
            report.summary = stack.enter_context(workers.called())
        yield


def _rounds(
    tasks: list[SystemTask], query_executor: QueryExecutor, end: int
) -> tuple[dict[str, Exception], dict[str, LatencyCheck]]:
    """All rounds before `end`, in turns between the systems (F35); faults and latency checks by system."""
    faults: dict[str, Exception] = {}
    checks: dict[str, LatencyCheck] = {}
    for number in range(1, end):
        for task in tasks:
            label = task.system.label
            if label not in faults:
                with _note_faults(faults, label):
                    query_executor.answers(task.system, number, task.tuner)
                    if number == query_executor.repeats:
                        checks[label] = _latency_check(task, query_executor)
    return faults, checks


def _latency_check(task: SystemTask, query_executor: QueryExecutor) -> LatencyCheck:
    """The check after the last round; what was measured does not depend on it."""
    try:
        return query_executor.latency_check(task.system)
    except Exception as exc:  # noqa: BLE001 - an engine that fails on another thread is recorded
        return LatencyCheck(0, note=describe_error(exc))


@contextlib.contextmanager
def _note_faults(faults: dict[str, Exception], label: str) -> Iterator[None]:
    try:
        yield
    except (CacheError, ConsentError):
        raise
    except Exception as exc:  # noqa: BLE001 - one system's fault is recorded, the others go on
        faults[label] = exc


def _measured_cell(
    task: SystemTask,
    query_executor: QueryExecutor,
    fault: Exception | None,
    check: LatencyCheck | None,
    workers: WorkerPool | None,
    context: StageContext,
) -> SystemResult:
    """A system's tables; of one that failed, what it had measured before."""
    try:
        if fault is not None:
            raise fault
        if workers is None:
            query_executor.answers(task.system, weigh=task.tuner)
            return measure_system(task, query_executor, check=_latency_check(task, query_executor))
        with stage_progress(context, "score", task.system.label, len(task.queries.queries), "queries") as report:
            report.advance(0)
            return measure_system(task, query_executor, workers, report.advance, check)
    except (CacheError, ConsentError):  # a full disk is nobody's fault, and none of the others could be kept
        raise
    except Exception as exc:  # noqa: BLE001 - one system's fault is recorded, the others go on
        reason = describe_error(exc)
    try:
        return partial_result(task, query_executor, reason)
    except CacheError:
        raise
    except Exception:  # noqa: BLE001 - what there is cannot be scored either
        return failed_result(task.run, task.system, reason)


def _measuring(made: RunInputs, system: System, run_name: str, query_executor: QueryExecutor) -> SystemTask:
    return make_system_task(
        run_name,
        system,
        made.queries,
        made.truth,
        made.plan.measures,
        made.plan.conventions,
        query_executor,
        made.plan.settings.seed,
    )


def _cell_key(made: RunInputs, system: System, run_name: str) -> str:
    """What a finished system depends on; anything else that changes leaves it standing."""
    settings = made.plan.settings
    shaped = [
        settings.depth,
        settings.runs,
        settings.metric,
        made.plan.conventions.to_dict(),
        list(made.plan.measures),
    ]
    inputs = [made.corpus.fingerprint, made.queries_key, made.truth_key]  # queries hold what is masked
    names = [run_name, system.label]  # they stand in every row
    if isinstance(system.mode.params, Hybrid) and system.mode.params.tuned:
        shaped.append(settings.seed)  # it deals the folds
    return fingerprint("cell", __version__, segmentation.VERSION, names, system.identity(), shaped, inputs)
