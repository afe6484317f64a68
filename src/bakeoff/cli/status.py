"""bakeoff status: what is done, what is running, what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from bakeoff.cli import console
from bakeoff.errors import DataError
from bakeoff.runs.analysis import Result, open_run
from bakeoff.runs.folder import read_record, run_state
from bakeoff.runs.record import RunRecord
from bakeoff.runtime.count_text import per_second
from bakeoff.runtime.progress_file import RunProgress, StageState, process_is_alive, read_progress

LABEL = 9


def print_status(folder: Path, reviews: Sequence[Path] = ()) -> None:
    """Print what is done and what to do next, for one run or a folder of runs."""
    runs, review_folders = _runs(folder), _reviews(reviews)
    found = {path: _review(path, record, review_folders) for path, record in runs}
    reviewed = ["decided passages"] if any(found.values()) else []
    rows = [
        [*_status_row(path, record), *([_share_decided(found[path])] if reviewed else [])]
        for path, record in runs
    ]
    console.table(["run", "status", "done", "failed", "to do", *reviewed], rows, right=(2, 3, 4, 5))
    path, record = runs[-1]
    console.print_line()
    _print_recommendation(path, record, review_folders.get(record.run))
    now = read_progress(path) if record.status == "running" else None
    if now is not None and process_is_alive(now):
        _print_progress(now)
        return
    if (review := found[path]) is not None:
        console.print_line(f"{'Review':<{LABEL}}{_review_line(path, review, review_folders.get(record.run))}")
    console.print_line(f"Next     {_next(path, record)}")


def _print_recommendation(path: Path, record: RunRecord, review: Path | None) -> None:
    """Print what the newest run recommends, if it finished."""
    if record.status not in ("done", "partial"):
        return
    from bakeoff.cli.views.summary import print_failed, print_recommendation

    result = _open_reviewed(path, review)
    if result.done:
        print_recommendation(result.recommendation)
    else:
        print_failed(result)
    console.print_line()


def _open_reviewed(path: Path, review: Path | None) -> Result:
    """A finished run, scored by human judgments where there are any."""
    from bakeoff.review.reviewed_run import with_people

    return with_people(open_run(path).with_review_folder(review))


def status_json(folder: Path, reviews: Sequence[Path] = ()) -> list[dict[str, object]]:
    """The state of each run, as JSON."""
    review_folders = _reviews(reviews)
    return [_run_json(path, record, review_folders) for path, record in _runs(folder)]


def _run_json(path: Path, record: RunRecord, review_folders: Mapping[str, Path]) -> dict[str, object]:
    from bakeoff.runs.recommend import recommendation_record

    review, advice = _review(path, record, review_folders), record.recommendation
    if review:
        advice = recommendation_record(_open_reviewed(path, review_folders.get(record.run)))
    return {
        "run": str(path),
        "status": run_state(path, record),
        **_progress(path, record),
        "recommendation": advice.model_dump() if advice else None,
        "started": record.started,
        "review": review,
        **_stages_json(path, record),
    }


def _reviews(folders: Sequence[Path]) -> dict[str, Path]:
    """The folders of reviews, by run."""
    from bakeoff.review.review_folder import open_review

    return {open_review(folder).pool().run: folder for folder in folders}


def _review(path: Path, record: RunRecord, review_folders: Mapping[str, Path]) -> dict[str, int] | None:
    """Progress of a finished run's review: passages, decided passages and fully judged questions."""
    if record.status not in ("done", "partial"):
        return None
    from bakeoff.review.reviewed_run import find_review, with_people

    result = open_run(path).with_review_folder(review_folders.get(record.run))
    state = find_review(result)
    if state is None:
        return None
    reviewed = with_people(result).reviewed
    questions = len(reviewed.queries) if reviewed else 0
    return {"passages": len(state.pool.items), "decided": state.decided, "questions": questions}


def _review_line(path: Path, counts: Mapping[str, int], folder: Path | None) -> str:
    """A review's progress and the next command; `folder` is a review that the user named."""
    done = counts["decided"] == counts["passages"]
    then = f"bakeoff final-report {path}" if done else f"bakeoff review next {folder or path}"
    if done and folder:
        then = f"{then} --review {folder}"
    return (
        f"{counts['decided']:,} of {counts['passages']:,} passages decided, {counts['questions']:,} questions judged "
        f"completely: {then}"
    )


def _share_decided(counts: Mapping[str, int] | None) -> str:
    return "–" if counts is None else f"{counts['decided']:,} of {counts['passages']:,}"


def _print_progress(progress: RunProgress) -> None:
    """Print the unfinished stages of a run in another terminal, with rate and time left."""
    for stage in progress.stages:
        if stage.finished is None:
            console.print_line(f"{stage.stage:<{LABEL}}{_stage_line(stage, progress.updated)}")
    for system, reason in progress.failed:
        console.print_line(f"{'failed':<{LABEL}}{system}: {reason}")
    ended = f"; {progress.done} of {progress.total} systems are measured" if progress.total else ""
    console.print_line(f"{'Running':<{LABEL}}in process {progress.pid}{ended}")


def _stage_line(stage: StageState, now: float) -> str:
    rate, left = stage.rate(now), stage.left(now)
    words = [stage.label, f"{stage.done:,}/{stage.total:,} {stage.what}"]
    words += [per_second(rate)] if rate is not None else []
    words += [f"{left:,.0f} s left"] if left is not None else []
    return "  ".join(word for word in words if word)


def _stages_json(path: Path, record: RunRecord) -> dict[str, object]:
    """The unfinished stages of a running run, with rate per second and seconds left."""
    now = read_progress(path) if record.status == "running" else None
    if now is None or not process_is_alive(now):
        return {}
    stages = [
        {
            "stage": stage.stage,
            "label": stage.label,
            "done": stage.done,
            "total": stage.total,
            "rate": stage.rate(now.updated),
            "seconds_left": stage.left(now.updated),
        }
        for stage in now.stages
        if stage.finished is None
    ]
    return {"pid": now.pid, "stages": stages}


def _runs(folder: Path) -> list[tuple[Path, RunRecord]]:
    """The runs in a folder, or the run that the folder is, oldest first; DataError if there is none."""
    paths = (
        [folder] if (folder / "run.json").exists() else sorted(p.parent for p in folder.glob("*/run.json"))
    )
    if not paths:
        raise DataError(f"{folder} contains no runs. Start one with: bakeoff run")
    records = [(path, read_record(path)) for path in paths]
    return sorted(records, key=lambda item: item[1].started)


def _progress(path: Path, record: RunRecord) -> dict[str, int]:
    total = len(record.systems)
    if record.status in ("running", "stopped"):
        done = min(total, len(list((path / "cells").glob("*/manifest.json"))))
        return {"done": done, "failed": 0, "to_do": total - done}
    failed = len(open_run(path).failed)
    return {"done": total - failed, "failed": failed, "to_do": 0}


def _status_row(path: Path, record: RunRecord) -> list[str]:
    progress = _progress(path, record)
    return [path.name, run_state(path, record), *(str(progress[key]) for key in ("done", "failed", "to_do"))]


def _next(path: Path, record: RunRecord) -> str:
    if record.status in ("running", "stopped"):
        doubt = " (unless it is still running)" if run_state(path, record) == "running" else ""
        return f"{_command(record)} --out {path}   resumes it{doubt}"
    if record.status == "partial":
        return f"{_command(record)} --out {path}   retries the failed systems"
    return f"open {path / 'report.html'}"


def _command(record: RunRecord) -> str:
    """The command of a run, with the name of its experiment file if that is not bakeoff.yaml."""
    text = record.experiment.encode("utf-8", errors="replace")
    here = [path.name for path in sorted(Path().glob("*.y*ml")) if path.is_file() and _is(path, text)]
    if not here:
        return "bakeoff run EXPERIMENT"
    return "bakeoff run" if "bakeoff.yaml" in here else f"bakeoff run {shlex.quote(here[0])}"


def _is(path: Path, text: bytes) -> bool:
    """Whether a file holds exactly this text; checks the size first."""
    return path.stat().st_size == len(text) and path.read_bytes() == text
