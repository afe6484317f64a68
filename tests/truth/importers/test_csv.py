"""Tables of query, document and grade."""

from __future__ import annotations

import json

import pytest

from bakeoff.errors import DataError
from bakeoff.truth.rules import AnyOf, Documents


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_header_in_any_order(written, imports, delimiter):
    rows = ["Doc ID|Query|Relevance|Difficulty", "d1|how so|2|Simple", "d2|how so|0|", "d3|why|1|hard"]
    text = "\n".join(rows).replace("|", delimiter)
    imported, queries = imports("csv", written("j.csv", text))
    assert [query.text for query in queries.queries] == ["how so", "why"]
    assert [query.difficulty for query in queries.queries] == ["easy", "hard"]
    assert isinstance(queries.rules[0], AnyOf)
    assert queries.rules[0].rules == (Documents(names=("d1",), grade=2), Documents(names=("d2",), grade=0))
    (merged,) = imported.attention
    assert "3 rows became 2 queries" in merged and "(lines 2, 3)" in merged
    assert {(move.source, move.count) for move in imported.moves} >= {("Query", 3), ("Difficulty", 2)}


def test_without_header_by_position_and_said(written, imports):
    imported, queries = imports("csv", written("j.csv", 'how so,d1,1\n"a, b",d2,3\n'))
    assert [query.text for query in queries.queries] == ["how so", "a, b"]
    assert queries.rules[1] == Documents(names=("d2",), grade=3)
    assert "no header" in imported.attention[0]


def test_ids_labels_and_unknown_columns_are_kept(written, imports):
    text = "qid,query,document,category,who,page\n7,how,d1,c,Ann,3\n7,how,d2,c,Ann,9\n"
    _, queries = imports("csv", written("j.csv", text))
    query = queries.queries[0]
    assert (query.id, query.category, query.tags["who"]) == ("7", "c", "Ann")
    assert json.loads(query.tags["page"]) == {"d1": "3", "d2": "9"}


def test_a_query_without_document_is_unjudged(written, imports):
    _, queries = imports("csv", written("j.csv", "query,document\nhow,\n"))
    assert queries.rules == (None,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("frage,dokument,note\na,b,1\n", "j.csv, line 1: no header .*--text-column and --document-column"),
        ("query,document,grade\na,b\n", "line 2: 2 columns, not 3"),
        ("query,document,grade\na,b,\n", "line 2: the grade '' is not a number"),
        (
            "query,document,grade\na,b,1\na,b,2\n",
            "line 3: document 'b' of query .* is also judged at j.csv, line 2",
        ),
        ("query,document\n,b\n", "line 2: the query is blank"),
        ("query,question,document\na,b,c\n", "line 1: two columns mean the same"),
        ("id,query,document\n1,a,b\n1,c,d\n", "line 3: the same query has another text: 'c'"),
        ('query,document\n"a,b\n', "unexpected end of data"),
    ],
)
def test_strict(written, imports, text, message):
    with pytest.raises(DataError, match=message):
        imports("csv", written("j.csv", text))


ODD = "No,Ask,Answer,Stars,query\n1,how so,d1,2,x\n2,how so,d2,1,x\n"
NAMED = {"text": "Ask", "document": "answer", "grade": "Stars"}


def test_columns_may_be_chosen(written, imports):
    _, queries = imports("csv", written("j.csv", ODD), columns=NAMED)
    (query,) = queries.queries
    assert query.text == "how so" and query.tags["query"] == "x"
    assert [rule.names for rule in queries.rules[0].rules] == [("d1",), ("d2",)]


def test_rows_with_ids_of_their_own_are_not_merged(written, imports):
    imported, queries = imports("csv", written("j.csv", ODD), columns={**NAMED, "id": "No"})
    assert [query.id for query in queries.queries] == ["1", "2"] and imported.attention == ()


def test_a_chosen_column_must_be_there(written, imports):
    with pytest.raises(DataError, match=r"'Answr'.*--document-column.*.Answer."):
        imports("csv", written("j.csv", ODD), columns={"text": "Ask", "document": "Answr"})


def test_a_pattern_stays_a_pattern(written, imports):
    _, queries = imports("csv", written("j.csv", "query,document\nhow so,reports/2021-*\n"))
    assert queries.rules == (Documents(names=("reports/2021-*",)),)


def test_grades_of_a_reversed_scale_are_asked_about(written, imports):
    rows = [f"how so,d{number},{grade}" for number, grade in enumerate([1, 2, 2, 2, 3, 3, 4])]
    path = written("j.csv", "query,document,grade\n" + "\n".join(rows) + "\n")
    with pytest.raises(DataError):
        imports("csv", path)
    _, queries = imports("csv", path, grades="lowest-best")
    assert {rule.grade: rule.names for rule in queries.rules[0].rules} == {
        3: ("d0", "d1", "d2", "d3"),
        2: ("d4", "d5"),
        None: ("d6",),
    }
    _, same = imports("csv", path, grades="highest-best")
    assert {rule.grade: rule.names for rule in same.rules[0].rules}[None] == ("d0",)
