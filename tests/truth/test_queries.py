"""Query files: what is read, and what is refused with file, line and query."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bakeoff.errors import QueryFileError
from bakeoff.fingerprint import fingerprint
from bakeoff.runs.checks.queries import check_declared
from bakeoff.truth import queries
from bakeoff.truth.queries import QueryFile, QuerySet, read_queries
from bakeoff.truth.rules import (
    AnyOf,
    Documents,
    LineRange,
    PassageRule,
    Sections,
    SpansRule,
    Sql,
    Symbol,
    WordsRule,
    leaves,
)

SCHEMA = Path(queries.__file__).with_name("queries.schema.json")
"""The JSON Schema of query files, for editors; `python tests/truth/test_queries.py` writes it after a change."""


def query_schema() -> dict[str, Any]:
    """The schema, made from the models that read the file."""
    made = QueryFile.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made, "title": "bakeoff queries"}


Make = Callable[[str], QuerySet]

SKETCH = """
defaults: {category: howto, difficulty: medium}
queries:
  - id: auth-01
    text: where is the token signature checked?
    truth: {symbol: "auth/jwt.py::verify"}
  - id: sec-03
    text: weather at the time of the accident
    category: section
    truth: {sections: [METEOROLOGICAL INFORMATION]}
  - id: con-05
    text: pilot fatigue and duty time
    truth:
      any:
        - sql: "lower(chunk_text) LIKE '%fatigue%' AND lower(chunk_text) LIKE '%pilot%'"
        - signals: {at_least: 2, of: [duty time, circadian, sleep, rest]}
  - id: neg-01
    text: how do I mount a Windows share?
    truth: negative
"""


def test_a_file_as_people_write_it(make_queries: Make) -> None:
    queries = make_queries(SKETCH)
    assert [query.id for query in queries.queries] == ["auth-01", "sec-03", "con-05", "neg-01"]
    assert [query.category for query in queries.queries] == ["howto", "section", "howto", "howto"]
    assert {query.difficulty for query in queries.queries} == {"medium"}
    assert [query.negative for query in queries.queries] == [False, False, False, True]
    symbol, sections, union, nothing = queries.rules
    assert symbol == SpansRule(places=(Symbol("auth/jwt.py", "verify"),), written="symbol")
    assert sections == Sections(names=("METEOROLOGICAL INFORMATION",))
    assert isinstance(union, AnyOf)
    assert [type(rule) for _, rule in leaves(union)] == [Sql, WordsRule]
    assert [rule.source for rule in union.rules] == ["sql", "signals>=2"]
    assert nothing is None
    assert queries.where(2, ("any", 1)) == "queries.yaml, line 16, query con-05"


def test_forms_of_rules(make_queries: Make) -> None:
    text = "queries:\n" + "".join(
        f"- {{id: {i}, text: x, truth: {truth}}}\n"
        for i, truth in enumerate(
            [
                "{file: a.py, grade: 3, name: gold}",
                "{lines: {document: a, from: 1, to: 2}}",
                "{passage: [one, {document: d, text: two}]}",
                "{keywords: {all: [a, b]}, over: documents}",
                "{keywords: {any: [a, b], match: substring, case: true}}",
                "{documents: ['*.md'], match: glob, min_documents: 2, expected_count: {hits: 4, within: 0.5}}",
            ]
        )
    )
    rules = make_queries(text).rules
    assert rules[0] == Documents(names=("a.py",), grade=3, name="gold")
    assert rules[1] == SpansRule(places=(LineRange("a", 1, 2),), written="lines")
    assert rules[2] == SpansRule(places=(PassageRule("one"), PassageRule("two", "d")), written="passage")
    assert rules[3] == WordsRule(of=("a", "b"), at_least=2, over="documents")
    assert rules[4] == WordsRule(of=("a", "b"), at_least=1, match="substring", case=True)
    assert isinstance(rules[5], Documents)
    assert rules[5].expected is not None
    assert (rules[5].match, rules[5].min_documents, rules[5].expected.hits) == ("glob", 2, 4)


def test_labels(make_queries: Make) -> None:
    text = """
defaults: {tags: {origin: log}, synthetic: true}
queries:
  - {id: 1, text: a, difficulty: Hard, intent: lookup, tags: {team: x}, notes: from mail, truth: negative}
  - {id: b, text: b, synthetic: false, tags: [seen], truth: unjudged}
"""
    first, second = make_queries(text).queries
    assert (first.id, first.difficulty, first.intent, first.synthetic) == ("1", "hard", "lookup", True)
    assert first.tags == {"origin": "log", "team": "x", "notes": "from mail", "difficulty_as_written": "Hard"}
    assert (second.difficulty, second.synthetic, second.negative) == ("", False, False)
    assert second.tags == {"origin": "log", "seen": ""}


def query(line: str) -> str:
    return f"queries:\n  - id: q-1\n    text: x\n{line}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            query("    truth: {fils: a}"),
            r'line 4, query q-1: unknown key "fils" in truth. Did you mean "files"\?',
        ),
        (query("    truth: {sql: a, files: [x]}"), "files and sql in one rule. Say how they combine"),
        (query("    truth: {}"), "no rule here. Write one of: file, files"),
        (query("    truth: {grade: 2}"), "no rule here"),
        (query("    truth: {sql: }"), "sql has no value"),
        (query("    truth: {sql: ' '}"), "the text is blank"),
        (query("    truth: {documents: []}"), "list at least 1"),
        (query("    truth: jwt.py"), r"truth is 'jwt.py'. Write a rule such as {documents: \[jwt.py\]}"),
        (query("    truth: "), "truth is None"),
        (query("    category: x"), '"truth" is missing'),
        (query("    truth: {keywords: [a]}"), r"keywords: {any: \[...\]} or keywords: {all"),
        (query("    truth: {signals: {at_least: 3, of: [a, a, b]}}"), "only 2 signals"),
        (query("    truth: {lines: {document: x, from: 5, to: 2}}"), "lines go from 5 to 2"),
        (query("    truth: {lines: {document: x, from: 0, to: 2}}"), "it must be 1 or more"),
        (query("    truth: {characters: {document: x, from: 5, to: 5}}"), "nothing is between"),
        (query("    truth: {symbol: jwt.verify}"), "truth.symbol"),
        (query("    truth: {documents: [a], grade: 4}"), "it must be 3 or less"),
        (query("    truth: {documents: [a], over: chunks}"), "over has no meaning for documents"),
        (query("    truth: {sql: a, over: pages}"), "'chunks', 'lines', 'sections' or 'documents'"),
        (query("    truth: {sections: [a], over: sections}"), "over: documents"),
        (query("    truth: {any: []}"), "list at least 1"),
        (query("    truth: {any: [{negative: true}]}"), 'unknown key "negative"'),
        (
            query("    truth: negative\n    difficulty: heavy"),
            "line 5, query q-1: .*'heavy'. Write easy, medium or hard",
        ),
        (query("    truth: negative\n    dificulty: easy"), 'Did you mean "difficulty"'),
        ("queries: []", "list at least 1"),
        ("query: []", r'unknown key "query". Did you mean "queries"\?'),
        ("- a", r"keys with values are expected \(defaults, metadata, queries\)"),
        ("queries:\n  - {id: a, text: ' ', truth: negative}", "line 2, query a: .*blank"),
    ],
)
def test_wrong_files(make_queries: Make, text: str, said: str) -> None:
    with pytest.raises(QueryFileError, match=said) as caught:
        make_queries(text)
    assert str(caught.value).startswith("queries.yaml, line ")


def test_two_queries_with_one_id_name_both_lines(make_queries: Make) -> None:
    text = "queries:\n  - {id: a, text: x, truth: negative}\n  - {id: b, text: x, truth: negative}\n"
    with pytest.raises(QueryFileError, match=r"queries\.yaml.*line 4.*line 2"):
        make_queries(text + "  - {id: a, text: y, truth: negative}\n")


def test_unknown_category(make_queries: Make) -> None:
    text = "metadata: {categories: [incident, section]}\n" + SKETCH.replace("howto", "incidnt")
    with pytest.raises(QueryFileError) as caught:
        make_queries(text)
    assert (
        "auth-01" in str(caught.value)
        and '"incidnt"' in str(caught.value)
        and '"incident"' in str(caught.value)
    )
    assert "2 more queries" in str(caught.value)


def test_declared_counts_and_mix_are_checked(make_queries: Make) -> None:
    head = (
        "metadata: {total: 5, categories: {howto: 3, section: 2}, difficulty_mix: {easy: 30%, Medium: 0.7}}\n"
    )
    said = [problem.message for problem in check_declared(make_queries(head + SKETCH))]
    assert len(said) == 4
    assert "metadata.total says 5 queries, but there are 4" in said[0]
    assert '2 queries of "section", but there are 1' in said[1]
    assert "30% easy, but there are 0 of 4 (0%)" in said[2]
    right = "metadata: {total: 4, categories: {howto: 3, section: 1}, difficulty_mix: {medium: 1}}\n"
    assert check_declared(make_queries(right + SKETCH)) == ()


def test_comments_and_order_of_keys_do_not_change_the_fingerprint(make_queries: Make) -> None:
    one = make_queries("queries:\n  - {id: a, text: x, truth: {sql: t, grade: 2}}\n")
    other = make_queries(
        "# note\n\nmetadata: {name: n}\nqueries:\n  - truth: {grade: 2, sql: t}\n    text: x\n    id: a\n"
    )
    changed = make_queries("queries:\n  - {id: a, text: x, truth: {sql: t, grade: 3}}\n")
    assert fingerprint(one.content()) == fingerprint(other.content())
    assert fingerprint(one.content()) != fingerprint(changed.content())


def test_json_files_and_names(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text('{"queries": [{"id": "a", "text": "x", "truth": {"file": "a.py"}}]}')
    queries = read_queries(path)
    assert queries.name == "mine.json"
    assert queries.rules == (Documents(names=("a.py",)),)


def test_the_schema_on_disk_is_that_of_the_models() -> None:
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == query_schema(), (
        "python tests/truth/test_queries.py"
    )


def test_ten_thousand_queries(make_queries: Make) -> None:
    text = "queries:\n" + "".join(
        f"  - {{id: q{i}, text: x, truth: {{files: [a{i}.py]}}}}\n" for i in range(10_000)
    )
    assert len(make_queries(text).rules) == 10_000


if __name__ == "__main__":
    SCHEMA.write_text(json.dumps(query_schema(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
