"""gold_queries.yaml: every value of the real file arrives, in every variant of its fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from bakeoff.errors import DataError
from bakeoff.storage.schemas import CHUNKS, DOCUMENTS
from bakeoff.truth.importers.writing import query_file
from bakeoff.truth.resolve import resolve
from bakeoff.truth.rules import AnyOf, Documents, Sections, Sql, WordsRule

REAL = "riskradar-v1/gold_queries.yaml"


def leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield str(value)


def numbers_as_text(value: str) -> str:
    return value.lower().removeprefix("where ")


def by_id(queries: Any, name: str) -> tuple[Any, Any]:
    place = [query.id for query in queries.queries].index(name)
    return queries.queries[place], queries.rules[place]


def test_real_file_has_50_queries_in_six_categories(data, imports):
    _, queries = imports("goldsql", data / REAL)
    counts = Counter(query.category for query in queries.queries)
    assert counts == {
        "incident_lookup": 10,
        "conceptual": 12,
        "section": 10,
        "comparative": 8,
        "aircraft": 6,
        "phase": 4,
    }
    assert queries.metadata.total == 50
    assert Counter(q.difficulty for q in queries.queries) == {"easy": 9, "medium": 27, "hard": 14}


def test_no_value_of_the_real_file_is_dropped(data, imports):
    imported, _ = imports("goldsql", data / REAL)
    source = yaml.safe_load((data / REAL).read_text(encoding="utf-8"))
    text = query_file(imported)
    output = list(leaves(yaml.safe_load(text)))
    whole = {numbers_as_text(leaf) for leaf in output}
    inside = "\n".join(numbers_as_text(leaf) for leaf in output)
    wanted = [numbers_as_text(leaf) for leaf in leaves(source)]
    assert len(wanted) > 500
    assert [leaf for leaf in wanted if leaf not in whole and leaf not in inside] == []


def test_each_query_of_the_real_file_keeps_its_own_values(data, imports):
    """The values of one query are found in that query, not only somewhere."""
    imported, _ = imports("goldsql", data / REAL)
    source = yaml.safe_load((data / REAL).read_text(encoding="utf-8"))
    made = {query["id"]: query for query in yaml.safe_load(query_file(imported))["queries"]}
    lists = [value for key, value in source.items() if key.endswith("_queries") or key == "incident_lookup"]
    lost = []
    for item in (item for items in lists for item in items):
        inside = "\n".join(numbers_as_text(leaf) for leaf in leaves(made[item["id"]]))
        lost += [(item["id"], leaf) for leaf in leaves(item) if numbers_as_text(leaf) not in inside]
    assert sum(map(len, lists)) == 50
    assert lost == []


def test_incidents_are_judged_by_report_and_the_rest_is_kept(data, imports):
    _, queries = imports("goldsql", data / REAL)
    query, rule = by_id(queries, "INC-001")
    assert rule == Documents(names=("AAR0201.pdf",))
    assert query.tags["signals"] == "jackscrew, horizontal stabilizer, acme nut, trim system"
    assert query.tags["verification_sql"].startswith("lower(chunk_text)")
    assert query.tags["expected_chunk_count"] == "15"


def test_the_negative_query_is_negative(data, imports):
    imported, queries = imports("goldsql", data / REAL)
    negatives = [query.id for query in queries.queries if query.negative]
    assert negatives == ["INC-010"]
    assert any(text.startswith("INC-010: no report") for text in imported.attention)


def test_conceptual_truth_is_any_of_three(data, imports):
    _, queries = imports("goldsql", data / REAL)
    _, rule = by_id(queries, "CON-001")
    assert isinstance(rule, AnyOf)
    assert [type(part) for part in rule.rules] == [Documents, Sql, WordsRule]
    assert rule.min_documents == 3
    assert rule.rules[2].at_least == 2
    assert rule.rules[1].where.startswith("lower(chunk_text) LIKE '%uncommanded%'")


def test_sections_carry_universal_names_and_minimum(data, imports):
    _, queries = imports("goldsql", data / REAL)
    query, rule = by_id(queries, "SEC-001")
    assert isinstance(rule, Sections)
    assert rule.names == ("PROBABLE CAUSE", "CONCLUSIONS")
    assert len(rule.universal) == 11
    assert query.tags["min_accuracy"] == "0.4"
    assert query.tags["section_chunk_count"] == "557"


def test_aircraft_counts_are_expectations(data, imports):
    _, queries = imports("goldsql", data / REAL)
    _, rule = by_id(queries, "ACF-003")
    assert isinstance(rule, Sql)
    assert rule.expected is not None
    assert rule.expected.documents == 147


FLAT = {
    "queries": [
        {
            "query_id": "CON-001",
            "query_text": "uncommanded movement",
            "category": "conceptual",
            "difficulty": "Hard",
            "sql": "lower(chunk_text) LIKE '%uncommanded%'",
            "expected_reports": ["AAR0101", "AAR9901.pdf"],
            "min_reports": 3,
            "signals": ["uncommanded", "hardover"],
        },
        {
            "query_id": "CON-010",
            "query_text": "spatial disorientation",
            "category": "conceptual",
            "verification_sql": "where chunk_text LIKE '%vestibular%'",
            "expected_report_ids": "None specified",
            "relevance_signals": ["vestibular"],
        },
        {
            "query_id": "INC-010",
            "query_text": "Air France 447",
            "category": "incident_lookup",
            "target_report": "N/A",
            "what is tested": "negative",
        },
        {
            "query_id": "SEC-002",
            "query_text": "recommendations",
            "category": "section",
            "target_sections": ["RECOMMENDATIONS"],
            "section_chunk_count": "1,621",
            "min_accuracy": "60%",
        },
        {
            "query_id": "ACF-001",
            "query_text": "Boeing 737",
            "category": "aircraft",
            "verification_sql": "chunk_text LIKE '%737%'",
            "expected_reports": "~76",
        },
    ]
}


def test_flat_variant(written, imports):
    imported, queries = imports("goldsql", written("gold.yaml", yaml.safe_dump(FLAT)))
    query, rule = by_id(queries, "CON-001")
    assert rule.rules[0].names == ("AAR0101.*", "AAR9901.pdf")
    assert query.tags["difficulty_as_written"] == "Hard"
    query, rule = by_id(queries, "CON-010")
    assert rule == Sql(where="chunk_text LIKE '%vestibular%'")
    assert query.tags["expected_report_ids"] == "None specified"
    assert query.tags["signals"] == "vestibular"
    query, rule = by_id(queries, "INC-010")
    assert query.negative
    assert query.tags == {"target_report": "N/A", "what is tested": "negative"}
    query, rule = by_id(queries, "SEC-002")
    assert query.tags == {"min_accuracy": "60%", "section_chunk_count": "1,621"}
    assert by_id(queries, "ACF-001")[1].expected.documents == 76
    assert any("one signal" in text for text in imported.attention)


def test_any_extension_takes_reports_by_their_stem(written, imports):
    _, queries = imports("goldsql", written("gold.yaml", yaml.safe_dump(FLAT)), any_extension=True)
    assert by_id(queries, "CON-001")[1].rules[0].names == ("AAR0101.*", "AAR9901.*")


def test_section_names_can_be_labels_of_chunks(written, imports):
    _, queries = imports("goldsql", written("gold.yaml", yaml.safe_dump(FLAT)), section_labels=True)
    assert by_id(queries, "SEC-002")[1].over == "chunks"
    assert by_id(queries, "CON-010")[1] == Sql(where="chunk_text LIKE '%vestibular%'")


def test_zero_expectations_are_kept_as_tags(written, imports):
    item = {"id": "a", "query": "b", "ground_truth": {"verification_sql": "true", "min_relevant_reports": 0}}
    _, queries = imports("goldsql", written("gold.json", {"comparative_queries": [item]}))
    assert queries.queries[0].tags == {"min_relevant_reports": "0"}


def test_sql_that_is_no_text_is_an_error_with_its_line(written, imports):
    text = (
        "comparative_queries:\n  - id: CMP-1\n    query: x\n    ground_truth:\n      verification_sql: [1]\n"
    )
    with pytest.raises(DataError, match=r"gold\.yaml, line 5: verification_sql is \[1\]"):
        imports("goldsql", written("gold.yaml", text))


def test_the_account_says_where_fields_went(data, imports):
    imported, _ = imports("goldsql", data / REAL)
    moves = {(move.source, move.target): move.count for move in imported.moves}
    assert moves["ground_truth.verification_sql", "truth.sql"] == 30
    assert moves["ground_truth.verification_sql", "tags.verification_sql"] == 10
    assert moves["evaluation", "metadata.extra"] == 1


def test_every_sql_of_the_real_file_can_be_run(data, imports):
    """Resolved on one chunk that says nothing: rules find nothing, but no condition is refused."""
    _, queries = imports("goldsql", data / REAL)
    documents = DOCUMENTS.table(
        {
            "id": ["a"],
            "version": ["1"],
            "kind": ["text"],
            "title": [""],
            "fields": ["{}"],
            "text": ["nothing"],
        }
    )
    whole = {"id": ["a#0"], "doc": [0], "start": [0], "end": [7], "line_start": [1], "line_end": [1]}
    chunks = CHUNKS.table({**whole, "section": [""], "symbol": [""], "context": [""], "text": ["nothing"]})
    truth = resolve(queries, documents, {"c": chunks})
    assert [problem.message for problem in truth.problems if "sql:" in problem.message] == []
    assert sum(hit.source == "sql" for hit in truth.hits) == 30
