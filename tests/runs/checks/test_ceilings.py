"""What can be reached at best, measure by measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[..., Any]


def best(report: Any) -> dict[str, float | None]:
    return {row.measure + row.chunker: row.best for row in report.ceilings}


def measures(*names: str, more: str = "") -> tuple[tuple[str, str], ...]:
    primary, *also = names
    new = f"measures: {{primary: {primary}, also: [{', '.join(also)}]}}\n{more}"
    return (("measures: {primary: nDCG@5(document), also: [P@5(document)]}\n", new),)


def test_ceilings_follow_from_the_number_of_relevant_documents(lab: Make) -> None:
    made = lab(
        queries=(("[trains.md]", '["other/*.md"]'),),
        experiment=measures("nDCG@5", "P@5", "R@5", "Rprec", "tokens@5"),
    )
    report = made.report()
    assert best(report) == {
        "nDCG@5(document)": 1.0,
        "P@5(document)": pytest.approx((1 / 5 + 1 / 5 + 1) / 3),
        "R@5(document)": pytest.approx((1 + 1 + 5 / 9) / 3),
        "Rprec(document)": 1.0,
        "tokens@5": None,
    }
    assert {row.queries for row in report.ceilings if row.best is not None} == {3}


def test_chunk_measures_have_a_ceiling_for_each_chunker(lab: Make) -> None:
    chunkers = (("[line]", "[whole, {line: {doc_lines: 1, overlap: 0}}]"),)
    made = lab(experiment=chunkers + measures("nDCG@5(document)", "P@2(chunk)"))
    found = best(made.report())
    assert found["P@2(chunk)whole"] == 0.5
    assert found["P@2(chunk)line(doc_lines=1 overlap=0)"] == 1.0


def test_a_measure_that_no_query_has_a_value_for_is_an_error_if_it_decides(lab: Make) -> None:
    (found,) = lab(experiment=measures("Hit@5(answer)", "P@5")).found("measure")
    assert found.level == "error" and "Hit@5(answer)" in found.message
    both = lab(experiment=measures("P@5", "SecAcc@5")).found("measure")
    assert [found.message.partition(" ")[0] for found in both] == ["SecAcc@5", "SecAcc_primary@5"]
    assert {found.level for found in both} == {"warning"}


def test_measures_of_a_review_are_errors_before_it(lab: Make) -> None:
    (found,) = lab(experiment=measures("P@5", "SemPrec@10")).found("measure")
    assert found.level == "error" and "review labels" in found.message


def test_recall_of_neighbours_needs_a_system_that_searches_by_vector(lab: Make) -> None:
    (found,) = lab(experiment=measures("P@5", "R100@10")).found("measure")
    assert found.level == "warning" and "by vector" in found.message
    report = lab(experiment=(("[bm25]", "[dense]"), *measures("P@5", "kNN@1"))).report()
    row = report.ceilings[1]
    assert (row.measure, row.best, row.queries) == ("kNN@1", 1.0, 4)
    assert not report.of("error")


def test_a_hundred_neighbours_need_a_hundred_chunks(lab: Make) -> None:
    """What a run could not score is an error here, not a system that fails there."""
    (found,) = lab(experiment=(("[bm25]", "[dense]"), *measures("P@5", "R100@10"))).found("measure")
    assert found.level == "error" and "100" in found.message


def test_a_measure_deeper_than_what_is_retrieved_is_named(lab: Make) -> None:
    (found,) = lab(experiment=measures("P@5", "nDCG@50", more="depth: 20\n")).found("depth")
    assert found.message == "nDCG@50(document) looks at 50 results, but depth is 20. Set depth: 50 or more."


def test_recall_of_every_document_is_a_warning_if_it_decides(lab: Make) -> None:
    made = lab(experiment=measures("R@20", "Hit@20", more="depth: 20\n"))
    assert [(found.level, found.message.partition(" ")[0]) for found in made.found("depth")] == [
        ("warning", "R@20(document)"),
        ("note", "Hit@20(document)"),
    ]
    assert not lab(experiment=measures("R@5", "nDCG@20")).found("depth")


def test_section_ceilings_count_the_chunks_of_the_sections(lab: Make) -> None:
    made = lab(
        queries=(("{documents: [trains.md]}", "{sections: [Rail]}"),),
        experiment=(("[line]", "[semantic]"), *measures("P@5", "SecAcc_primary@2", "SecAcc@2")),
    )
    report = made.report()
    assert best(report)["SecAcc_primary@2"] == 0.5
    assert [row.queries for row in report.ceilings if row.measure == "SecAcc@2"] == [1]


def test_a_target_takes_the_unit_it_is_measured_at(lab: Make) -> None:
    report = lab(experiment=measures("P@1(chunk)", more="targets: {P@1: 0.9, R@5: 1.0}\n")).report()
    assert [(t.measure, t.reachable) for t in report.targets] == [
        ("P@1(chunk)", True),
        ("R@5(document)", True),
    ]


def test_a_target_that_is_no_measure_is_an_error_with_its_line(lab: Make) -> None:
    (found,) = lab(experiment=measures("P@5", more="targets: {Presicion@5: 0.8}\n")).found("target")
    assert found.where == "bakeoff.yaml, line 8" and "mean P" in found.message


def test_a_target_for_something_that_should_be_low(lab: Make) -> None:
    report = lab(experiment=measures("P@5", more="targets: {FalseAlarm@0.5: 0.1, tokens@5: 300}\n")).report()
    assert [(t.measure, t.best, t.reachable) for t in report.targets] == [("FalseAlarm@0.5", 0.0, True)]


def test_the_best_average_precision_knows_how_deep_is_searched(lab: Make) -> None:
    made = lab(
        queries=(("[trains.md]", '["other/*.md"]'),),
        experiment=measures("AP(document)", more="depth: 3\n"),
    )
    assert best(made.report()) == {"AP(document)": pytest.approx((1 + 1 + 3 / 9) / 3)}


def test_the_best_mean_knows_what_filters_leave(lab: Make) -> None:
    filtered = "{id: sign, filter: {document: [auth.md, mail.md]},"
    made = lab(
        queries=(("{id: sign,", filtered), ("[auth.md]}}", "[auth.md, trains.md]}}")),
        experiment=measures("R@5(document)"),
    )
    assert best(made.report()) == {"R@5(document)": pytest.approx((0.5 + 1 + 1) / 3)}
