"""The record of a run in its report."""

from __future__ import annotations

import json
from collections.abc import Callable

from bakeoff.report.sections.provenance import describe_provenance
from bakeoff.runs.analysis import Result, open_run
from bakeoff.runs.score_grid import read_grid


def test_the_table_of_rules_has_the_margin_of_the_experiment(make_run: Callable[..., Result]) -> None:
    path = make_run(systems=2).path / "run.json"
    record = json.loads(path.read_text())
    record["experiment"] += "\ndecide: {margin: .07}\n"
    path.write_text(json.dumps(record))
    run = open_run(path.parent)
    conditions = {row.name: row.when for row in describe_provenance(run, read_grid(run), None).verdict_rules}
    assert "±0.07" in conditions["cheaper-of-equals"] and "±0.07" in conditions["either"]
