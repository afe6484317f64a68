"""A run → MLflow or Weights & Biases: one entry per system with its settings, means, intervals, latency and size.

Texts of documents and questions stay here: only names, settings and numbers are sent, and the report on request.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import ModuleType

from bakeoff.errors import DataError, MissingExtraError
from bakeoff.fingerprint import fingerprint
from bakeoff.runs.analysis import Result
from bakeoff.storage.redaction import redact
from bakeoff.types import Status, TableRow

PARTS = ("chunker", "embedder", "store", "mode", "reranker")
RUN_TAG = "bakeoff.run"
WANDB_SECONDS = 300.0
"""For the start of W&B's own process: its 30 seconds are too few on a busy machine."""


class Tracker(StrEnum):
    """Where a run can be logged."""

    MLFLOW = "mlflow"
    WANDB = "wandb"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedSystem:
    """One system as an experiment tracker stores it; `reason` is why it failed."""

    name: str
    params: dict[str, str]
    metrics: dict[str, float]
    recommended: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRun:
    """What was logged, and where to see it; `offline` if it was written to a folder and not sent."""

    tracker: Tracker
    project: str
    entries: int
    place: str
    offline: bool


def log_run(result: Result, tracker: Tracker, project: str, files: tuple[Path, ...] = ()) -> LoggedRun:
    """Log every system of a run, and some files, under a project; the same run is not logged twice."""
    place, offline = _LOGGERS[tracker](result, project, files)
    entries = len(result.record.systems)
    return LoggedRun(tracker=tracker, project=project, entries=entries, place=place, offline=offline)


def tracked_systems(result: Result) -> list[TrackedSystem]:
    """Every system of a run in its order, including failed ones."""
    recommended = result.recommendation.system if result.recommendation else None
    metrics: dict[str, dict[str, float]] = {}
    for measure in result.record.measures:
        for system, one in result.summaries(measure).items():
            interval = (one.interval.low, one.interval.high) if one.interval else (None, None)
            values = {"": one.mean, "_low": interval[0], "_high": interval[1], "_questions": one.n}
            found = {f"{metric_name(measure)}{end}": value for end, value in values.items()}
            metrics.setdefault(system, {}).update(_numbers(found))
    return [
        TrackedSystem(
            name=row["system"],
            params=_params(row),
            metrics={**metrics.get(row["system"], {}), **_costs(result, row)},
            recommended=row["system"] == recommended,
            reason=row["reason"] if row["status"] != Status.DONE else "",
        )
        for row in result.systems.to_pylist()
    ]


def metric_name(measure: str) -> str:
    """nDCG@10(document) as nDCG_10_document: trackers refuse other characters."""
    return re.sub(r"[^\w.]+", "_", measure).strip("_")


def _params(row: TableRow) -> dict[str, str]:
    parts = {name: row[name] for name in PARTS if row[name] is not None}
    return {**parts, "settings": json.dumps(json.loads(row["params"]), sort_keys=True)}


def _costs(result: Result, row: TableRow) -> dict[str, float]:
    percentiles = {f"{p}_ms": result.timing(row["system"], "total", f"{p}_ms") for p in ("p50", "p95", "p99")}
    sizes = {"index_bytes": row["index_bytes"], "chunks": row["chunks"], "dims": row["dims"]}
    sizes["vector_bytes"] = row["vector_bytes"]
    ingestion = {"ingest_seconds": result.timing(row["system"], "ingest", "seconds")}
    return _numbers({**percentiles, **sizes, **ingestion})


def _numbers(values: dict[str, float | int | None]) -> dict[str, float]:
    """The known values; unknown ones are left out, never 0."""
    return {
        name: float(value) for name, value in values.items() if value is not None and math.isfinite(value)
    }


def _tags(result: Result) -> Iterator[tuple[str, str]]:
    """The context of the entries: the run, its evidence and its recommendation."""
    record = result.record
    yield RUN_TAG, record.run
    yield "bakeoff.version", record.bakeoff
    yield "bakeoff.primary", record.primary
    yield "bakeoff.truth", record.truth_fingerprint
    yield "bakeoff.judged_by", result.truth
    yield "bakeoff.queries", record.queries_fingerprint
    if result.recommendation is not None:
        yield "bakeoff.recommendation", result.recommendation.sentence
        yield "bakeoff.strength", str(result.recommendation.strength)


def _log_mlflow(result: Result, project: str, files: tuple[Path, ...]) -> tuple[str, bool]:
    """Log to MLflow; the address of the server or file."""
    try:
        import mlflow
    except ImportError as exc:
        raise MissingExtraError("mlflow needs mlflow-skinny: pip install 'bakeoff[mlflow]'") from exc
    place = _without_user(mlflow.get_tracking_uri())
    try:
        _write_mlflow(mlflow, result, project, files)
    except ImportError as exc:
        raise MissingExtraError(f"{place} needs the full MLflow package ({exc}): pip install mlflow") from exc
    except mlflow.MlflowException as exc:
        raise DataError(f"MLflow at {place} failed: {redact(str(exc))} Check MLFLOW_TRACKING_URI.") from exc
    return place, False


def _write_mlflow(mlflow: ModuleType, result: Result, project: str, files: tuple[Path, ...]) -> None:
    """A parent for the run and a child per system; a run that was logged completely is refused."""
    identity = f"{result.record.run} {result.record.started}"
    experiment = mlflow.set_experiment(project).experiment_id
    same = f"tags.`{RUN_TAG}` = '{_quote(identity)}' and attributes.status = 'FINISHED'"
    if earlier := mlflow.search_runs([experiment], same, output_format="list"):
        raise DataError(
            f"{result.record.run} is already in the MLflow experiment {project}, as {earlier[0].info.run_id}. "
            "Delete it there to log it again, or choose another --project."
        )
    with mlflow.start_run(run_name=result.record.run, tags={**dict(_tags(result)), RUN_TAG: identity}):
        for path in files:
            mlflow.log_artifact(str(path))
        for system in tracked_systems(result):
            with mlflow.start_run(run_name=system.name, nested=True, tags=_system_tags(system)) as one:
                mlflow.log_params(system.params)
                mlflow.log_metrics(system.metrics)
            if system.reason:
                mlflow.MlflowClient().set_terminated(one.info.run_id, "FAILED")


def _without_user(address: str) -> str:
    """An address without the name and password in it."""
    return re.sub(r"(?<=://)[^/@]*@", "", address)


def _quote(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _system_tags(system: TrackedSystem) -> dict[str, str]:
    tags = {"bakeoff.recommended": str(system.recommended).lower()}
    return {**tags, "bakeoff.reason": system.reason} if system.reason else tags


def _log_wandb(result: Result, project: str, files: tuple[Path, ...]) -> tuple[str, bool]:
    """Log to W&B; the address of the last entry, or the folder of offline entries."""
    try:
        import wandb
    except ImportError as exc:
        raise MissingExtraError("wandb needs wandb: pip install 'bakeoff[wandb]'") from exc
    group, place, offline = result.record.run, "", False
    try:
        wandb.setup(wandb.Settings(x_service_wait=WANDB_SECONDS))
        for system in tracked_systems(result):
            with wandb.init(
                project=project,
                group=group,
                name=system.name,
                job_type="system",
                # ids are stable per run and system, so logging again replaces an entry
                id=fingerprint("wandb", group, result.record.started, system.name)[:16],
                resume="allow",
                tags=["recommended"] if system.recommended else [],
                config={**system.params, **dict(_tags(result))},
                settings=wandb.Settings(
                    silent=True,
                    console="off",
                    x_disable_stats=True,
                    x_disable_meta=True,
                    init_timeout=WANDB_SECONDS,
                ),
            ) as one:
                one.summary.update({**system.metrics, **({"reason": system.reason} if system.reason else {})})
                if system.recommended:
                    for path in files:
                        one.log_artifact(str(path), name=f"{metric_name(group)}-{path.stem}", type="report")
                offline = one.offline
                place = str(Path(one.dir).parents[1]) if offline else one.url or project
    except wandb.Error as exc:
        raise DataError(
            f"Weights & Biases failed: {redact(str(exc))}. Log in with `wandb login`, or set WANDB_MODE=offline."
        ) from exc
    return place, offline


_LOGGERS: dict[Tracker, Callable[[Result, str, tuple[Path, ...]], tuple[str, bool]]] = {
    Tracker.MLFLOW: _log_mlflow,
    Tracker.WANDB: _log_wandb,
}
