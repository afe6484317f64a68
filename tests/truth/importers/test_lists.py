"""lineage, code and vectordb: lists of queries in JSON."""

from __future__ import annotations

import pytest

from bakeoff.errors import DataError
from bakeoff.truth.rules import AllOf, AnyOf, Documents, LineRange, SpansRule, WordsRule

LINEAGE = {
    "metadata": {
        "name": "sql lineage",
        "categories": {"join_analysis": 1, "schema_lookup": 1},
        "difficulty_mix": {"easy": 0.3, "medium": 0.5, "hard": 0.2},
        "author": {"team": "data"},
    },
    "queries": [
        {
            "id": "join_001",
            "query": "Which tables are joined with orders?",
            "relevant_chunks": ["models/orders.sql", "models/staging/stg_orders.sql"],
            "category": "join_analysis",
            "difficulty": "easy",
            "verified_by": ["Ann", "Bo"],
        },
        {"id": "s_1", "query": "columns of users", "relevant_chunks": [], "category": "schema_lookup"},
    ],
}


def test_lineage_files_are_documents(written, imports):
    imported, queries = imports("lineage", written("embedding_ground_truth.json", LINEAGE))
    first = queries.queries[0]
    assert queries.rules[0] == Documents(names=("models/orders.sql", "models/staging/stg_orders.sql"))
    assert (first.category, first.difficulty) == ("join_analysis", "easy")
    assert first.tags == {"verified_by": "Ann, Bo"}
    assert queries.rules[1] is None
    assert not queries.queries[1].negative
    assert any(text.startswith("s_1: no relevant file") for text in imported.attention)


def test_lineage_declarations_are_kept_as_declarations(written, imports):
    imported, queries = imports("lineage", written("g.json", LINEAGE))
    assert queries.metadata.categories == {"join_analysis": 1, "schema_lookup": 1}
    assert queries.metadata.difficulty_mix == {"easy": 0.3, "medium": 0.5, "hard": 0.2}
    assert imported.metadata["extra"] == {"author": {"team": "data"}}


def test_categories_in_other_words_are_extra(written, imports):
    said = {**LINEAGE, "metadata": {"categories": {"Join Analysis": 5}}}
    imported, queries = imports("lineage", written("g.json", said))
    assert queries.metadata.categories == {}
    assert imported.metadata["extra"] == {"categories": {"Join Analysis": 5}}


CODE = {
    "metadata": {"name": "ripgrep", "description": "code search", "version": "1.0"},
    "queries": [
        {
            "query": "How are gitignore globs matched?",
            "query_type": "Code",
            "difficulty": "ExtraHard",
            "expected_files": ["crates/ignore/src/gitignore.rs"],
            "description": "the matcher",
            "answer_keywords": ["matched_stripped", "Glob"],
            "answer_lines": [[210, 260]],
        },
        {
            "query": "Where is the config read?",
            "query_type": "Docs",
            "difficulty": "Simple",
            "expected_files": ["a.rs", "b.rs"],
            "answer_regions": [
                {"file": "a.rs", "start_line": 3, "end_line": 9},
                {"file": "b.rs", "lines": "4-5"},
            ],
            "answer_lines": [1, 2],
        },
    ],
}


def test_code_truth_is_files_keywords_and_lines(written, imports):
    _, queries = imports("code", written("q.json", CODE))
    rule = queries.rules[0]
    assert isinstance(rule, AnyOf)
    files, words, lines = rule.rules
    assert files == Documents(names=("crates/ignore/src/gitignore.rs",))
    assert isinstance(words, AllOf)
    assert isinstance(words.rules[1], WordsRule)
    assert words.rules[1].of == ("matched_stripped", "Glob") and words.rules[1].over == "lines"
    assert isinstance(lines, SpansRule)
    assert lines.places == (LineRange("crates/ignore/src/gitignore.rs", 210, 260),)


def test_code_words_for_difficulty_are_mapped_and_kept(written, imports):
    _, queries = imports("code", written("q.json", CODE))
    assert [query.difficulty for query in queries.queries] == ["hard", "easy"]
    assert [query.tags["difficulty_as_written"] for query in queries.queries] == ["ExtraHard", "Simple"]
    assert queries.queries[0].tags["notes"] == "the matcher"
    assert [query.category for query in queries.queries] == ["Code", "Docs"]


def test_code_regions_name_their_files_and_lines_without_one_are_kept(written, imports):
    imported, queries = imports("code", written("q.json", CODE))
    rule = queries.rules[1]
    assert rule.rules[1].places == (LineRange("a.rs", 3, 9), LineRange("b.rs", 4, 5))
    assert queries.queries[1].tags["answer_lines"] == "[1, 2]"
    assert any("no file" in text for text in imported.attention)


def test_made_ids_do_not_shift(written, imports):
    _, queries = imports("code", written("q.json", CODE))
    turned = {**CODE, "queries": CODE["queries"][::-1]}
    _, other = imports("code", written("r.json", turned))
    assert queries.queries[0].id == other.queries[1].id
    assert queries.queries[0].id.startswith("how-are-gitignore-globs-matched-")


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("Quels ingrédients ?", "quels-ingrédients-"),
        ("黑豹队丢了多少分？", "黑-豹-"),
        ("हिन्दी भाषा?", "हिन्दी-भाषा-"),
    ],
)
def test_made_ids_have_words_of_every_script(written, imports, text, start):
    _, queries = imports("csv", written("q.csv", f"query,document\n{text},d1\n"))
    assert queries.queries[0].id.startswith(start)


@pytest.mark.parametrize("lines", [[[9, 3]], [[0, 3]], "three", {"file": "a.rs", "start_line": "x"}, [None]])
def test_ranges_that_are_none_are_errors_with_their_line(written, imports, lines):
    said = {"queries": [{"query": "q", "expected_files": ["a.rs"], "answer_lines": lines}]}
    with pytest.raises(DataError, match=r"q.json, line 1: answer_lines is"):
        imports("code", written("q.json", said))


@pytest.mark.parametrize("key", ["query", "question", "text"])
def test_vectordb_variants(written, imports, key):
    cases = [
        {key: "what is a", "relevant_doc_ids": ["doc_001", "doc[2]"], "top_k": 5},
        {key: "b", "relevant_doc_ids": []},
    ]
    imported, queries = imports("vectordb", written("test_cases.json", {"test_cases": cases}))
    assert queries.rules[0] == Documents(names=("doc_001", "doc[2]"), match="exact")
    assert queries.queries[0].tags == {"top_k": "5"}
    assert queries.rules[1] is None
    assert len(imported.attention) == 1


def test_vectordb_may_be_a_bare_list(written, imports):
    cases = [{"id": 7, "query": "a", "relevant_doc_ids": ["d"]}]
    _, queries = imports("vectordb", written("test_cases.json", cases))
    assert queries.queries[0].id == "7"
