"""The query file by itself: repeated queries, splits, declared numbers, synthetic ones, universal sections."""

from __future__ import annotations

from bakeoff.config import yaml_document
from bakeoff.errors import QueryFileError
from bakeoff.measures.conventions import DEFAULT
from bakeoff.runs.checks.findings import Finding
from bakeoff.runs.checks.queries import check_queries, check_sections
from bakeoff.truth.queries import QuerySet, query_set


def queries(*lines: str, head: str = "") -> QuerySet:
    text = f"{head}queries:\n" + "".join(f"  - {{{line}}}\n" for line in lines)
    return query_set(yaml_document.parse(text, "queries.yaml", QueryFileError))


def found(given: QuerySet, code: str) -> list[Finding]:
    return [finding for finding in check_queries(given) if finding.code == code]


A = "id: a, text: where is the key kept at night, truth: {file: a}"
LIKE_A = "where is the key kept at night now"


def test_the_same_query_twice_is_an_error_with_both_places() -> None:
    given = queries(A, "id: b, text: Where is the key kept at night?, truth: {file: b}")
    (finding,) = found(given, "duplicate")
    assert (finding.level, finding.where) == ("error", "queries.yaml, line 3, query b")
    assert "words of a" in finding.message


def test_nearly_the_same_query_is_a_warning() -> None:
    (finding,) = found(queries(A, f"id: b, text: {LIKE_A}, truth: {{file: b}}"), "near-duplicate")
    assert finding.level == "warning" and "88%" in finding.message


def test_alike_queries_on_both_sides_of_a_split_are_an_error() -> None:
    given = queries(
        f"{A}, tags: {{split: train}}", f"id: b, text: {LIKE_A}, truth: {{file: b}}, tags: {{split: test}}"
    )
    (finding,) = found(given, "split-overlap")
    assert (
        finding.level == "error" and "in split test" in finding.message and "split train" in finding.message
    )
    assert found(given, "near-duplicate") == []


def test_alike_queries_on_one_side_are_no_overlap() -> None:
    given = queries(
        f"{A}, tags: {{split: test}}", f"id: b, text: {LIKE_A}, truth: {{file: b}}, tags: {{split: test}}"
    )
    assert found(given, "split-overlap") == [] and len(found(given, "near-duplicate")) == 1


def test_declared_mix_and_counts_are_held_against_the_queries() -> None:
    given = queries(
        "id: a, text: x, category: howto, difficulty: easy, truth: {file: a}",
        "id: b, text: y, category: howto, difficulty: easy, truth: {file: a}",
        "id: c, text: z, category: where, difficulty: easy, truth: {file: a}",
        head="metadata: {total: 4, categories: {howto: 1, where: 1}, difficulty_mix: {easy: 0.3, medium: 0.7}}\n",
    )
    texts = [finding.message for finding in found(given, "declared")]
    assert len(texts) == 4
    assert texts[0].startswith("metadata.total says 4 queries, but there are 3.")
    assert any("says 30% easy, but there are 3 of 3 (100%)" in text for text in texts)


def test_synthetic_and_other_queries_in_one_file_must_be_declared() -> None:
    made = "id: b, text: y, synthetic: true, truth: {file: a}"
    (finding,) = found(queries(A, made), "synthetic")
    assert finding.level == "warning" and "1 of 2 queries are synthetic (b)" in finding.message
    assert found(queries(A, made, head="metadata: {extra: {synthetic: 1}}\n"), "synthetic") == []
    (wrong,) = found(queries(A, made, head="metadata: {extra: {synthetic: 2}}\n"), "synthetic")
    assert "says 2, but there are 1" in wrong.message


def test_only_synthetic_queries_are_a_note() -> None:
    (finding,) = found(queries(A, head="defaults: {synthetic: true}\n"), "synthetic")
    assert finding.level == "note"


def test_universal_sections_that_only_one_query_has_are_named() -> None:
    given = queries("id: a, text: x, truth: {sections: {of: [Cause], universal: [SUMMARY, Appendix X]}}")
    findings = list(check_sections(given, ("nDCG@10(document)",), DEFAULT))
    assert [(finding.level, finding.where) for finding in findings] == [
        ("warning", "queries.yaml, line 2, query a")
    ]
    assert "Appendix X" in findings[0].message and "SUMMARY" not in findings[0].message
