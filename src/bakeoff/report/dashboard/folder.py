"""The folder of runs that the dashboard shows; each run is read again only when it changes."""

from __future__ import annotations

import os
from pathlib import Path

import streamlit as st

from bakeoff.errors import BakeoffError
from bakeoff.report.build import Report, build_report
from bakeoff.report.dashboard.frames import literal
from bakeoff.report.sections.explorer import QueryOverview, query_overview
from bakeoff.review.review_folder import review_of_run
from bakeoff.review.reviewed_run import open_reviewed
from bakeoff.runs.analysis import Result
from bakeoff.runs.folder import read_record
from bakeoff.runs.record import RunRecord
from bakeoff.runs.score_grid import ScoreGrid, read_grid

VARIABLE = "BAKEOFF_DASHBOARD_RUNS"


def folder() -> Path:
    """The folder that `bakeoff dashboard` was given."""
    return Path(os.environ.get(VARIABLE, "runs"))


def runs() -> list[tuple[Path, RunRecord | str]]:
    """The runs below the folder, newest first; an unreadable run has its reason."""
    root = folder()
    paths = [root] if (root / "run.json").exists() else [path.parent for path in root.glob("*/run.json")]
    records = [(path, _record(path)) for path in paths]
    return sorted(records, key=lambda one: getattr(one[1], "started", ""), reverse=True)


def chosen() -> Result | None:
    """The run chosen in the sidebar, or None with a message."""
    known_runs = runs()
    if not known_runs:
        st.info(literal(f"{folder()} contains no runs. Start one with: bakeoff run"))
        return None
    names = [path.name for path, _ in known_runs]
    name = st.sidebar.selectbox("Run", names, key="run")
    path, record = known_runs[names.index(name)]
    if isinstance(record, str):
        st.error(literal(record))
        return None
    if not (path / "scores.parquet").exists():
        st.info(literal(f"{name} is not finished ({record.status}). The monitor shows its progress."))
        return None
    result = open_cached(str(path), _modified_at(path))
    if not result.done:
        why = "; ".join(f"{system}: {reason}" for system, reason in result.failed.items())
        st.error(literal(f"No system of this run finished. {why}"))
        return None
    return result


@st.cache_resource(show_spinner=False, max_entries=16)
def open_cached(path: str, changed: float) -> Result:  # noqa: ARG001 - a part of what the cache asks with
    """A run, opened again when its files change."""
    return open_reviewed(path)


@st.cache_resource(show_spinner=False, max_entries=16)
def grid(path: str, changed: float) -> ScoreGrid:
    """A run's scores."""
    return read_grid(open_cached(path, changed))


@st.cache_resource(show_spinner=False, max_entries=16)
def glance(path: str, changed: float) -> QueryOverview:
    """A run's systems, not compared."""
    return query_overview(open_cached(path, changed), grid(path, changed))


@st.cache_resource(show_spinner="Comparing the systems …", max_entries=16)
def report(path: str, changed: float) -> Report:
    """A run's full report."""
    return build_report(open_cached(path, changed))


def key(result: Result) -> tuple[str, float]:
    """The arguments of the cached readers."""
    return str(result.path), _modified_at(result.path)


def _record(path: Path) -> RunRecord | str:
    try:
        return read_record(path)
    except BakeoffError as exc:
        return str(exc)


def _modified_at(path: Path) -> float:
    """When a run's record, tables or review last changed."""
    review = review_of_run(path)
    judged = (review.pool_file, *review.ledger.folder.glob("*"))
    files = (path / "run.json", *path.glob("*.parquet"), *judged)
    return max((file.stat().st_mtime for file in files if file.exists()), default=0.0)
