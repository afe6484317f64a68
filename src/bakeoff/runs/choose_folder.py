"""Chooses the folder a run writes to, and handles an earlier run there."""

from __future__ import annotations

import os
import re
from pathlib import Path

from bakeoff import registry
from bakeoff.config.plan import Plan
from bakeoff.errors import DataError, SettingError
from bakeoff.fingerprint import fingerprint
from bakeoff.protocols import SupportsReadsFrom
from bakeoff.runs.folder import read_record
from bakeoff.runs.record import RunRecord
from bakeoff.runtime.count_text import count
from bakeoff.runtime.progress_file import process_is_alive, read_progress
from bakeoff.storage.dated_folder import make_dated_folder, timestamp

RUNS = Path("runs")


def choose_folder(plan: Plan, out: Path | None, *, force: bool = False) -> Path:
    """Return a run's folder: the given one, that of the same plan's unfinished run, or a new one.

    A folder with the run of another experiment is refused; `force` moves that run aside (F64).
    """
    requested, out = out, out or _find_unfinished(plan)
    _refuse_inside_corpus(plan, out or RUNS / slug(plan.name))
    if out is None:
        return make_dated_folder(RUNS, slug(plan.name))
    if requested is not None and (pid := _busy_process(out)) is not None:
        raise SettingError(
            f"process {pid} is writing a run to {out}. Wait for it, or choose another folder with --out."
        )
    if requested is not None and (out / "run.json").is_file():
        _claim(plan, out, force)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise SettingError(
            f"cannot make the folder {out}: {exc.strerror}. Choose another with --out."
        ) from exc
    return out


def _find_unfinished(plan: Plan) -> Path | None:
    """Newest folder of an unfinished run of the same plan that no other process is writing."""
    records = sorted(RUNS.glob(f"{slug(plan.name)}-*/run.json"), reverse=True)
    for path in records[:1]:
        try:
            record = read_record(path.parent)
        except DataError:
            continue
        same = record.plan == plan.fingerprint() and record.status != "done"
        if same and _busy_process(path.parent) is None:
            return path.parent
    return None


def _busy_process(folder: Path) -> int | None:
    """Id of another process that is currently writing a run to a folder."""
    progress = read_progress(folder)
    busy = progress is not None and progress.pid != os.getpid() and process_is_alive(progress)
    return progress.pid if progress is not None and busy else None


def _refuse_inside_corpus(plan: Plan, out: Path) -> None:
    """Raise if results would lie among the documents, where the next run would read them."""
    source = registry.load("sources", plan.source.name)(plan.source.params)
    if isinstance(source, SupportsReadsFrom) and source.reads_from(out):
        raise SettingError(
            f"{out} is inside the corpus folder, so the next run would read these results as documents. Choose another "
            "folder with --out, or `exclude` it from the corpus."
        )


def _claim(plan: Plan, out: Path, force: bool) -> None:
    """Move the run of another experiment aside if `force` is set, else raise."""
    try:
        other = read_record(out)
    except DataError as exc:
        content = f"a run that cannot be read ({exc})"
    else:
        if _is_same_experiment(other, plan, out):
            return
        file = f" ({other.experiment_file})" if other.experiment_file else ""
        done = f"{other.status}, started {other.started}, {count(len(other.systems), 'system')}"
        content = f"the run of another experiment: {other.name}{file}, {done}"
    if not force:
        raise SettingError(
            f"{out} holds {content}. Choose another folder with --out, or move that run aside with --force."
        )
    aside = out.with_name(f"{out.name}.replaced-{timestamp()}")
    try:
        out.rename(aside)
    except OSError as exc:
        raise SettingError(f"cannot move {out} aside to {aside}: {exc.strerror}.") from exc


def earlier_results(plan: Plan, folder: Path) -> str:
    """A warning if a run replaces finished results of an earlier version of its experiment, else ''."""
    try:
        record = read_record(folder)
    except DataError:
        return ""
    if record.plan == plan.fingerprint() or record.status not in ("done", "partial"):
        return ""
    return (
        f"{folder} holds results of an earlier text of {plan.file or 'this experiment'}, started {record.started}. "
        "Systems that did not change are kept; the other results are replaced."
    )


def _is_same_experiment(record: RunRecord, plan: Plan, out: Path) -> bool:
    """Whether a record belongs to this plan, or to an earlier version of the same file."""
    if record.name == plan.name and record.plan == plan.fingerprint():
        return True
    return bool(record.experiment_place) and record.experiment_place == experiment_place(plan, out)


def experiment_place(plan: Plan, folder: Path) -> str:
    """Location of the experiment's file as a fingerprint: a path may contain names that must not be published."""
    place = os.path.relpath(plan.folder / plan.file, folder.resolve())
    return fingerprint("experiment place", Path(place).as_posix()) if plan.file else ""


def slug(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"
