"""The key measure of each category: which one, over which queries, with which interval."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from bakeoff.cli.views.key_measures import key_measures_json, print_key_measures
from bakeoff.report.exports.ir_formats import export_preset as export_run
from bakeoff.report.sections.preset_sections import key_section
from bakeoff.runs.analysis import Result
from bakeoff.runs.key_measures import key_measures
from bakeoff.runs.record import RunRecord
from bakeoff.runs.score_grid import ScoreGrid, read_grid

MEASURES = ("RR@10(document)", "R@10(document)", "SecAcc@5", "SecAcc@10")
CATEGORIES = ("Incident lookup", "section_targeted", "flight_phase", "conceptual", "weather")


@pytest.fixture
def run(make_run) -> Result:  # type: ignore[no-untyped-def]
    result: Result = make_run(systems=2, measures=MEASURES, primary=MEASURES[0], queries=40, negatives=4)
    return with_preset(result, "goldsql")


def with_preset(result: Result, name: str) -> Result:
    result.record = result.record.model_copy(update={"preset": name})
    return result


def categorised(result: Result) -> ScoreGrid:
    grid = read_grid(result)
    queries = [
        replace(query, category=CATEGORIES[place % len(CATEGORIES)])
        for place, query in enumerate(grid.queries)
    ]
    return replace(grid, queries=tuple(queries))


def test_a_measure_by_one_source_is_not_the_key_measure(make_run) -> None:  # type: ignore[no-untyped-def]
    names = ("R@10(document, source=sql)", "RR@10(document)", "R@10(document)")
    found = with_preset(make_run(systems=2, measures=names, primary=names[1], queries=20), "goldsql")
    chosen = {one.category: one.measure for one in key_measures(found, categorised(found), found.done)}
    assert chosen["flight_phase"] == "R@10(document)"


def test_each_category_has_the_measure_of_the_preset_over_its_own_queries(run: Result) -> None:
    grid = categorised(run)
    found = {one.category: one for one in key_measures(run, grid, run.done)}
    assert {name: one.measure for name, one in found.items()} == {
        "Incident lookup": "RR@10(document)",
        "section_targeted": "SecAcc@10",
        "flight_phase": "R@10(document)",
        "conceptual": "SemLift@10(chunk)",
    }
    for one in found.values():
        if not one.means:
            continue
        own = [query.category == one.category for query in grid.queries]
        for system in run.done:
            values = grid.row(one.measure, system)[np.array(own)]
            kept = values[~np.isnan(values)]
            mean = one.means[system]
            assert (mean.value, mean.n) == (pytest.approx(kept.mean()), len(kept))
            if np.ptp(kept):
                assert mean.interval.low is not None and mean.interval.high is not None
                assert mean.interval.low <= mean.value <= mean.interval.high  # type: ignore[operator]


def test_the_section_names_what_is_missing(run: Result) -> None:
    section = key_section(run, categorised(run), run.done)
    assert section is not None
    rows = {row[0]: row for row in section.grids[0].rows}
    assert list(rows) == ["Incident lookup", "section_targeted", "flight_phase", "conceptual"]
    assert set(rows["conceptual"][2:]) == {"–"}
    assert [
        note
        for note in section.notes
        if note.startswith("conceptual: SemLift@10(chunk) needs human judgments")
    ]


@pytest.mark.parametrize("preset", ["", "lineage"])
def test_other_presets_have_no_key_measures(run: Result, preset: str) -> None:
    assert key_measures(with_preset(run, preset), categorised(run), run.done) == ()
    assert key_section(run, categorised(run), run.done) is None
    assert key_measures_json(run) == []


def write_categories(run: Result) -> None:
    """The categories and the preset, in the run's own files."""
    table = pq.read_table(run.path / "queries.parquet")
    names = [CATEGORIES[place % len(CATEGORIES)] for place in range(table.num_rows)]
    place = table.schema.get_field_index("category")
    pq.write_table(table.set_column(place, table.schema.field(place), [names]), run.path / "queries.parquet")
    record = RunRecord.model_validate_json((run.path / "run.json").read_text()).model_copy(
        update={"preset": "goldsql"}
    )
    (run.path / "run.json").write_text(record.model_dump_json())


def test_terminal_json_and_export_have_the_same_means(
    run: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_categories(run)
    again = Result(run.path, trust=True)
    print_key_measures(again, again.done)
    screen = capsys.readouterr().out
    rows = {one["category"]: one for one in key_measures_json(again)}
    assert set(rows) == {"Incident lookup", "section_targeted", "flight_phase", "conceptual"}
    assert all(name in screen for name in rows) and "weather" not in screen
    export_run(run.path, "goldsql", trust=True).write(tmp_path)
    exported = pq.read_table(tmp_path / "key_metrics.parquet").to_pylist()
    assert len(exported) == 3 * len(again.done)
    for category in ("Incident lookup", "section_targeted", "flight_phase"):
        means = sorted(one["mean"] for one in exported if one["category"] == category)
        assert means == sorted(one["mean"] for one in rows[category]["systems"].values())
