"""What is in the folder of a run: the record, the tables, the journal."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bakeoff.pipeline.system_tables import LATENCIES, LOSSES, PASSAGES, TIES
from bakeoff.report.sections.sanity import _short_lists
from bakeoff.review.autofill import parsed_tags
from bakeoff.runs.analysis import Result, open_run
from bakeoff.runs.cost import run_costs
from bakeoff.runs.folder import QUERIES, RunFolder
from bakeoff.runs.run import run
from bakeoff.runs.score_grid import read_grid
from bakeoff.runs.table_rows import row_count, rows_where
from bakeoff.runs.verdict import _latency_between
from bakeoff.runtime.progress_file import read_progress
from bakeoff.storage.schemas import RANKINGS, SCORES, SYSTEMS, TIMINGS, Schema
from fuzzed.reader import Reader, beside, lying, scratch

EXPERIMENT = """name: fuzzed
corpus: {folder: corpus}
queries: queries.yaml
chunkers: [line]
modes: [bm25]
prices: {date: 2026-01-01, machine_per_hour: 0.4, gb_month: 0.1}
"""
ASKED = """queries:
  - {id: expiry, text: how long is an access token valid, truth: {documents: [auth.md]}, tags: {team: a}}
  - {id: refund, text: get my money back after a purchase, truth: {documents: [billing.md]}}
"""
TEXTS = {
    "auth.md": "# Authentication\n\nAccess tokens are valid for fifteen minutes.\n",
    "billing.md": "# Billing\n\nA refund is granted within thirty days; the money goes back to the card.\n",
}
TABLES = (SCORES, TIMINGS, SYSTEMS, QUERIES, RANKINGS, LATENCIES, PASSAGES, LOSSES, TIES)


@cache
def a_run() -> Path:
    """The folder of one finished run."""
    folder = scratch() / "experiment"
    (folder / "corpus").mkdir(parents=True)
    for name, text in TEXTS.items():
        (folder / "corpus" / name).write_text(text)
    (folder / "queries.yaml").write_text(ASKED)
    (folder / "bakeoff.yaml").write_text(EXPERIMENT)
    return run(folder / "bakeoff.yaml", out=folder / "run", home=folder / "home").path


@cache
def a_cell() -> Path:
    """The folder of one finished system of it."""
    return next(path for path in (a_run() / "cells").iterdir() if not path.name.startswith("."))


def record(path: Path) -> object:
    """A run by its record: its tables are whole."""
    return all_of(open_run(beside(a_run(), path), trust=True))


def all_of(result: Result) -> object:
    return read_grid(result), run_costs(result), result.failed


ALSO: dict[str, Callable[[Result], object]] = {
    LATENCIES.name: _latency_between,
    RANKINGS.name: lambda result: _short_lists(result, 10, set()),
}
"""Who reads parts of a table for themselves."""


def table(schema: Schema) -> Reader:
    """One table of a run, read whole and in part; its neighbours are whole."""

    def read(path: Path) -> object:
        result = open_run(beside(a_run(), path), trust=True)
        property_ = getattr(result, schema.name).to_pylist()
        row_count(result, schema)
        rows_where(
            result, schema, [(schema.columns[0][0], "!=", "x")] if schema.columns[0][1] == "string" else []
        )
        return property_, all_of(result), ALSO.get(schema.name, all_of)(result)

    name = f"{schema.name}.parquet"
    return Reader(f"{schema.name} of a run", name, read, lying(a_run, name))


def cell(path: Path) -> object:
    """A finished system of an interrupted run: whole, or made again."""
    folder = path.parent / "cells" / "key"
    folder.mkdir(parents=True, exist_ok=True)
    for other in a_cell().iterdir():
        (folder / other.name).unlink(missing_ok=True)
        (folder / other.name).symlink_to(path if other.name == path.name else other)
    return RunFolder(path.parent).cell("key")


def tags(path: Path) -> object:
    """The tags of a query in a run's table."""
    whole = pq.read_table(a_run() / "queries.parquet")
    said = path.read_bytes().decode("utf-8", "replace")
    column = pa.array([said] * whole.num_rows, whole.schema.field("tags").type)
    at = whole.schema.get_field_index("tags")
    pq.write_table(whole.set_column(at, whole.schema.field(at), column), path.with_name("queries.parquet"))
    return read_grid(open_run(beside(a_run(), path.with_name("queries.parquet")), trust=True)), parsed_tags(
        said
    )


def experiment_text(path: Path) -> object:
    """The experiment that stands in a run's record."""
    data = json.loads((a_run() / "run.json").read_bytes())
    data["experiment"] = path.read_bytes().decode("utf-8", "replace")
    path.with_name("run.json").write_text(json.dumps(data))
    return run_costs(open_run(beside(a_run(), path.with_name("run.json"))))


PROGRESS = {
    "pid": 1, "updated": 2.0, "done": 1, "total": 2, "failed": [["a", "why"]], "warnings": ["w"], "ended": False,
    "stages": [{"stage": "read", "label": "", "total": 1, "what": "files", "started": 1.0}],
}  # fmt: skip
READERS = [
    Reader("record of a run", "run.json", record, lying(a_run, "run.json")),
    *(table(schema) for schema in TABLES),
    Reader("finished system", "scores.parquet", cell, lying(a_cell, "scores.parquet")),
    Reader("tags of a query", "tags.json", tags, b'{"team": "a", "signals": "x, y"}'),
    Reader("experiment of a run", "text.yaml", experiment_text, EXPERIMENT.encode()),
    Reader(
        "progress", "progress.json", lambda path: read_progress(path.parent), json.dumps(PROGRESS).encode()
    ),
]
