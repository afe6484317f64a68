"""The measuring loop: rounds of queries through all systems in turn; each system ends as tables, done or failed."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Iterator

from bakeoff import __version__
from bakeoff.config.modes import Hybrid
from bakeoff.config.plan import System
from bakeoff.corpus import segmentation
from bakeoff.errors import CacheError, ConsentError, describe_error
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.context import StageContext, stage_progress
from bakeoff.pipeline.loops.latency_check import LatencyCheck, latency_disagreements
from bakeoff.pipeline.measure_system import (
    SystemTask,
    failed_result,
    make_system_task,
    measure_system,
    partial_result,
)
from bakeoff.pipeline.query_executor import QueryExecutor
from bakeoff.pipeline.scoring.score_queries import WORTH_ROWS
from bakeoff.pipeline.shared_artifacts import SharedArtifacts
from bakeoff.pipeline.system_tables import SystemResult
from bakeoff.runs.empty_searches import empty_search_sentences, noteworthy_empty_searches
from bakeoff.runs.folder import RunFolder
from bakeoff.runs.placements import placement_records, placement_sentences
from bakeoff.runs.prepare import RunInputs
from bakeoff.runtime.events import SystemFinished, WarningRaised
from bakeoff.runtime.scheduler import WorkerPool, worker_pool
from bakeoff.types import Status

log = logging.getLogger(__name__)


def measure_systems(
    inputs: RunInputs, executor: QueryExecutor, folder: RunFolder, context: StageContext
) -> Iterator[SystemResult]:
    """Yield the tables of each system, in the order of the plan; timings are never taken in parallel."""
    systems, name, repeats = inputs.plan.systems, folder.path.name, inputs.plan.settings.runs
    keys = [_result_key(inputs, system, name) for system in systems]
    finished = [folder.cell(key) for key in keys]
    tasks = [_system_task(inputs, system, name, executor.artifacts) for system in systems]
    pending = [task for task, result in zip(tasks, finished, strict=True) if result is None]
    workers = _scoring_workers(inputs, pending, context)
    loop = MeasuringLoop(executor, repeats)
    loop.run_rounds(pending, repeats - 1 if workers is None else repeats)
    with _running(workers, context):
        for done, (task, key, earlier) in enumerate(zip(tasks, keys, finished, strict=True), 1):
            result = earlier or _keep_result(folder, key, loop.finish(task, workers, context))
            reason = result.systems["reason"][0].as_py()
            label, resumed = task.system.label, earlier is not None
            context.emit(SystemFinished(label, done, len(tasks), failed=reason, resumed=resumed))
            empty = empty_search_sentences(noteworthy_empty_searches([result], inputs.queries))
            primary, documents = inputs.plan.primary, inputs.corpus.documents["id"]
            placed = placement_sentences(placement_records([result], primary, documents), primary)
            for sentence in (*latency_disagreements(result.timings), *empty, *placed):
                context.emit(WarningRaised(sentence))
            yield result


class MeasuringLoop:
    """Sends the queries through the systems in rounds, and keeps each system's fault or latency check."""

    def __init__(self, executor: QueryExecutor, repeats: int) -> None:
        self._executor, self._repeats = executor, repeats
        self._faults: dict[str, Exception] = {}
        self._checks: dict[str, LatencyCheck] = {}

    def run_rounds(self, tasks: Iterable[SystemTask], rounds: int) -> None:
        """Run the first rounds; systems take turns within each (F35)."""
        for number in range(1, rounds + 1):
            for task in tasks:
                self._run_round(task, number)

    def finish(self, task: SystemTask, workers: WorkerPool | None, context: StageContext) -> SystemResult:
        """Run a system's last round if it is due, and return its tables; a failed one keeps what it measured."""
        try:
            self._run_round(task, self._repeats)
            if task.system.label in self._faults:
                raise self._faults[task.system.label]
            return self._score(task, workers, context)
        except (CacheError, ConsentError):  # a full disk is not the system's fault: stop the run
            raise
        except Exception as exc:  # one system's fault is recorded; the others are still measured
            log.debug("%s failed", task.system.label, exc_info=exc)
            reason = describe_error(exc)
        try:
            return partial_result(task, self._executor, reason)
        except CacheError:
            raise
        except Exception:  # noqa: BLE001 - what was measured cannot be scored either
            return failed_result(task.run, task.system, reason)

    def _run_round(self, task: SystemTask, number: int) -> None:
        """Run one round of a system; check its latency after the last one."""
        label = task.system.label
        if label in self._faults or label in self._checks:
            return
        try:
            self._executor.answers(task.system, number, task.tuner)
        except (CacheError, ConsentError):
            raise
        except Exception as exc:  # noqa: BLE001 - one system's fault is recorded; the others are still measured
            self._faults[label] = exc
            return
        if number == self._repeats:
            self._checks[label] = self._check_latency(task)

    def _check_latency(self, task: SystemTask) -> LatencyCheck:
        """Check the latency after the last round; measurements don't depend on it."""
        try:
            return self._executor.latency_check(task.system)
        except Exception as exc:  # noqa: BLE001 - an engine that fails on another thread is recorded
            return LatencyCheck(0, note=describe_error(exc))

    def _score(self, task: SystemTask, workers: WorkerPool | None, context: StageContext) -> SystemResult:
        """Build the tables of a system whose rounds are complete."""
        check = self._checks.get(task.system.label)
        answers = self._executor.answers(task.system, self._repeats, task.tuner)
        if workers is None:
            return measure_system(task, self._executor, answers, check=check)
        queries = len(task.queries.queries)
        with stage_progress(context, "score", task.system.label, queries, "queries") as report:
            report.advance(0)
            return measure_system(
                task, self._executor, answers, check=check, workers=workers, on_progress=report.advance
            )


def _keep_result(folder: RunFolder, key: str, result: SystemResult) -> SystemResult:
    """Return the result, stored durably if its system is done."""
    if result.systems["status"][0].as_py() == Status.DONE:
        folder.keep(key, result)
    return result


def _scoring_workers(inputs: RunInputs, tasks: list[SystemTask], context: StageContext) -> WorkerPool | None:
    """Workers for scoring if there is enough to score; they start after the last search."""
    rows = len(tasks) * len(inputs.queries.queries) * inputs.plan.settings.depth
    return worker_pool(context.executor) if rows >= WORTH_ROWS else None


@contextlib.contextmanager
def _running(workers: WorkerPool | None, context: StageContext) -> Iterator[None]:
    """Keep the workers running while systems are scored."""
    if workers is None:
        yield
        return
    with contextlib.ExitStack() as stack:
        with stage_progress(context, "start", "workers", 1, "executors") as report:
            report.summary = stack.enter_context(workers.keep_running())
        yield


def _system_task(inputs: RunInputs, system: System, run: str, artifacts: SharedArtifacts) -> SystemTask:
    return make_system_task(
        artifacts,
        run=run,
        system=system,
        queries=inputs.queries,
        truth=inputs.truth_for(system),
        measures=inputs.plan.measures,
        conventions=inputs.plan.conventions,
        seed=inputs.plan.settings.seed,
    )


def _result_key(inputs: RunInputs, system: System, run: str) -> str:
    """Key with everything a finished system depends on; it is kept if anything else changes."""
    plan, settings = inputs.plan, inputs.plan.settings
    shape = [settings.depth, settings.runs, settings.metric, plan.conventions.to_dict(), list(plan.measures)]
    content = [
        inputs.corpus.fingerprint,
        inputs.queries_key,
        inputs.truth_key,
    ]  # the queries include their leaks
    names = [run, system.label]  # both are in every row
    if isinstance(system.mode.params, Hybrid) and system.mode.params.tuned:
        shape.append(settings.seed)  # it assigns the folds
    return fingerprint("cell", __version__, segmentation.VERSION, names, system.identity(), shape, content)
