"""Minimums of a query file: pass or fail from whatever file gives them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bakeoff.report.sections.preset_sections import minimums_section
from bakeoff.runs.analysis import Result
from bakeoff.runs.score_grid import ScoreGrid, read_grid

MEASURE = "SecAcc@10(chunk)"


def with_minimums(result: Result, tags: dict[int, dict[str, str]], values: list[list[float]]) -> ScoreGrid:
    grid = read_grid(result)
    queries = tuple(replace(query, tags=tags.get(place, {})) for place, query in enumerate(grid.queries))
    scores = np.full((len(grid.systems), len(queries)), np.nan)
    scores[:, : len(values[0])] = values
    return replace(grid, queries=queries, values={**grid.values, MEASURE: scores})


def test_every_minimum_passes_or_fails(make_run) -> None:  # type: ignore[no-untyped-def]
    result = make_run(systems=2, queries=6, negatives=0)
    tags = {
        0: {"min_accuracy": "0.5"},
        1: {"min_section_accuracy": "60%"},
        2: {"minimum_section_accuracy": "40"},
        3: {"min_documents": "1"},
        4: {"min_relevant_reports": "2"},
    }
    grid = with_minimums(result, tags, [[0.5, 0.5, float("nan")], [0.4, 0.6, 0.4]])
    section = minimums_section(result, grid, result.done)
    assert section is not None
    accuracy, documents = section.grids
    assert [row[1:] for row in accuracy.rows] == [
        (".500", ".500 pass", ".400 fail"),
        (".600", ".500 fail", ".600 pass"),
        (".400", "–", ".400 pass"),
    ]
    assert [row[1:] for row in documents.rows] == [("1", "1", "pass"), ("2", "1", "fail")]


def test_a_file_without_minimums_has_no_such_section(make_run) -> None:  # type: ignore[no-untyped-def]
    result = make_run(systems=2, queries=6)
    assert minimums_section(result, read_grid(result), result.done) is None


def test_a_minimum_in_a_rule_counts_like_one_in_a_tag(make_run) -> None:  # type: ignore[no-untyped-def]
    result = make_run(systems=2, queries=6, negatives=0)
    hits = [hit.model_copy(update={"min_documents": 2}) for hit in result.record.truth_hits[:1]]
    result.record = result.record.model_copy(update={"truth_hits": hits})
    section = minimums_section(result, read_grid(result), result.done)
    assert section is not None
    (documents,) = section.grids
    assert documents.rows == ((hits[0].query_id, "2", "1", "fail"),)


def test_a_minimum_without_its_measure_says_what_to_add(make_run) -> None:  # type: ignore[no-untyped-def]
    result = make_run(systems=2, queries=6, negatives=0)
    grid = with_minimums(result, {0: {"min_accuracy": "0.5"}}, [[0.5], [0.4]])
    without = replace(grid, values={name: rows for name, rows in grid.values.items() if name != MEASURE})
    section = minimums_section(result, without, result.done)
    assert section is not None and section.grids == ()
    assert "SecAcc@10(chunk)" in section.finding
