"""run(): from an experiment file to its result. Finished systems are durable, failed ones are recorded."""

from __future__ import annotations

import time
from pathlib import Path

from bakeoff import registry
from bakeoff.config import experiment
from bakeoff.config.plan import Plan
from bakeoff.errors import BakeoffError, describe_error
from bakeoff.pipeline.blank_leaks import blank_leaked_sentences
from bakeoff.pipeline.context import StageContext, stage_progress
from bakeoff.pipeline.query_executor import QueryExecutor
from bakeoff.pipeline.reading.encodings import encoding_sentence, other_encodings
from bakeoff.pipeline.reading.readings import read_corpus
from bakeoff.pipeline.shared_artifacts import SharedArtifacts
from bakeoff.pipeline.system_tables import SystemResult
from bakeoff.protocols import Executor
from bakeoff.runs.analysis import Result, open_run
from bakeoff.runs.choose_folder import choose_folder, earlier_results
from bakeoff.runs.folder import RunFolder
from bakeoff.runs.measure_loop import measure_systems
from bakeoff.runs.prepare import RunInputs, prepare_run
from bakeoff.runs.recommend import recommendation_record
from bakeoff.runs.recording import finish_run_record, new_run_record, write_tables
from bakeoff.runtime.events import Emit, WarningRaised, no_listener
from bakeoff.runtime.progress_file import ProgressFile, tee
from bakeoff.runtime.scheduler import worker_pool
from bakeoff.storage.consent import require_code
from bakeoff.storage.shared_cache import open_cache
from bakeoff.storage.weights import home_folder as default_home
from bakeoff.truth.queries import QuerySet, read_queries


def run(
    what: str | Path | Plan,
    *,
    out: str | Path | None = None,
    home: str | Path | None = None,
    emit: Emit = no_listener,
    executor: str | None = None,
    force: bool = False,
) -> Result:
    """Run an experiment and return its result; finished systems of an interrupted run are kept.

    `executor` overrides the experiment's: `ray`, or `{ray: {address: auto}}`. With `force`, the run of
    another experiment in `out` is moved aside.
    """
    plan = what if isinstance(what, Plan) else experiment.load(Path(what))
    workers = _executor(plan, executor)
    for system in plan.systems:
        if system.retriever and system.retriever.code_module:
            require_code(system.retriever.code_module)
    queries = read_queries(plan.queries)
    folder = RunFolder(choose_folder(plan, Path(out) if out else None, force=force))
    earlier = earlier_results(plan, folder.path)
    record = new_run_record(plan, folder.path)
    journal = ProgressFile(folder.path)
    try:
        folder.record(record)
        cache = open_cache(
            Path(home or default_home()) / "cache", spread=workers is not None and workers.slots > 0
        )
        context = StageContext(cache, tee(emit, journal), workers)
        if earlier:
            context.emit(WarningRaised(earlier))
        notes = _start_workers(context)
        inputs, results = _prepare_and_measure(plan, queries, context, folder)
        tables = write_tables(folder, inputs, results)
        folder.record(finish_run_record(record, inputs, results, notes).model_copy(update={"tables": tables}))
    except (BakeoffError, KeyboardInterrupt):
        folder.record(record.model_copy(update={"status": "stopped"}))
        raise
    finally:
        _stop_workers(workers)
        journal.close()
    result = open_run(folder.path, worker_pool(workers))
    result.record = result.record.model_copy(update={"recommendation": recommendation_record(result)})
    folder.record(result.record)
    return result


def _executor(plan: Plan, executor: str | None) -> Executor | None:
    """Workers for chunking and embedding; None for this process."""
    part = experiment.executor(executor) if executor else plan.executor
    return registry.load("executors", part.name)(part.params) if part is not None else None


def _start_workers(context: StageContext) -> list[str]:
    """Start the workers before any stage is timed; returns notes for the record."""
    if context.executor is None or not context.executor.slots:
        return []
    with stage_progress(context, "start", "workers", 1, "executors") as report:
        report.summary = context.executor.start()
    return [f"Chunks and vectors were made by {report.summary}; their times are those of the workers."]


def _stop_workers(workers: Executor | None) -> None:
    if workers is not None:
        workers.close()


def _prepare_and_measure(
    plan: Plan, queries: QuerySet, context: StageContext, folder: RunFolder
) -> tuple[RunInputs, list[SystemResult]]:
    """Read, prepare and measure; stores and models are always closed."""
    begin = time.perf_counter()
    corpus = read_corpus(plan, context)
    seconds = time.perf_counter() - begin
    if encodings := encoding_sentence(other_encodings(corpus)):
        context.emit(WarningRaised(encodings))
    settings = plan.settings
    artifacts = SharedArtifacts(
        blank_leaked_sentences(corpus, queries),
        queries.queries,
        context,
        metric=settings.metric,
        depth=settings.depth,
        repeats=settings.runs,
        filters=queries.filters,
        read_seconds=seconds,
    )
    try:
        inputs = prepare_run(plan, queries, corpus, artifacts, context.emit)
        _stop_workers(context.executor)  # nothing else runs on this machine while queries are timed
        return inputs, list(measure_systems(inputs, QueryExecutor(artifacts), folder, context))
    finally:
        _close(artifacts, context.emit)


def _close(artifacts: SharedArtifacts, emit: Emit) -> None:
    """Close stores and models; a failure is reported but changes no measurement."""
    try:
        artifacts.close()
    except Exception as exc:  # noqa: BLE001 - an engine that is gone cannot be closed
        emit(WarningRaised(f"closing: {describe_error(exc)}"))
