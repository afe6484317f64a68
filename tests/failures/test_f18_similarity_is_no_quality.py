"""F18: "quality" that is average similarity. No score of a store enters a table of systems, a figure or the verdict."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from bakeoff.report.build import build_report
from bakeoff.runs.analysis import Result, open_run
from bakeoff.runs.folder import RunFolder
from bakeoff.storage.schemas import RANKINGS

_place = Path(__file__).resolve().parents[1] / "report" / "conftest.py"
_spec = importlib.util.spec_from_file_location("report_run_f18", _place)
assert _spec
assert _spec.loader
made_up = sys.modules[_spec.name] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made_up)


def other_similarities(result: Result) -> Result:
    """The same run with every similarity replaced: the worse a system is, the more similar is what it returns."""
    rows = result.rankings
    place = {system: number for number, system in enumerate(result.comparison.ranking)}
    served = zip(rows["system"].to_pylist(), rows["rank"].to_pylist(), strict=True)
    scores = [0.5 + 0.1 * place[system] - 1e-4 * rank for system, rank in served]
    at = rows.schema.get_field_index("score")
    changed = rows.set_column(at, "score", pa.array(scores, pa.float64()))
    RunFolder(result.path).table(RANKINGS, [changed])
    return open_run(result.path)


def test_f18_changing_every_similarity_changes_nothing_but_what_is_said_of_top_scores(
    tmp_path: Path,
) -> None:
    result = made_up.write_run(tmp_path / "run", made_up.Made(systems=4))
    before = build_report(result)
    after = build_report(other_similarities(result))
    assert replace(before, differing=(), alarms=()) == replace(after, differing=(), alarms=())
    assert before.differing != after.differing


def test_f18_the_columns_of_quality_are_the_measures_of_the_experiment(tmp_path: Path) -> None:
    result = made_up.write_run(tmp_path / "run", made_up.Made(systems=2))
    assert [note.key for note in build_report(result).systems.measures] == result.record.measures
