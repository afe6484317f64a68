"""BEIR folders: judgments with grades, splits, and everything else kept."""

from __future__ import annotations

import json

import pytest

from bakeoff.errors import DataError
from bakeoff.truth.rules import Documents, leaves

QUERIES = '{"_id": "1", "text": "a"}\n{"_id": "2", "text": "b", "metadata": {"category": "x", "n": [1]}}\n{"_id": "3", "text": "c"}\n'
HEADER = "query-id\tcorpus-id\tscore\n"


def folder(written, qrels, queries=QUERIES, split="test"):
    written("set/queries.jsonl", queries)
    return written(f"set/qrels/{split}.tsv", qrels).parent.parent


def test_scifact_has_300_queries_and_339_judgments(data, imports):
    imported, queries = imports("beir", data / "scifact")
    names = [n for rule in queries.rules for _, leaf in leaves(rule) for n in leaf.names]
    assert len(queries.queries) == 300
    assert len(names) == 339
    assert imported.attention == ()
    source = [
        json.loads(line) for line in (data / "scifact/queries.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    made = [
        {"_id": q.id, "text": q.text, "metadata": json.loads(q.tags.get("metadata", "{}"))}
        for q in queries.queries
    ]
    assert made == source


def test_grades_become_rules_highest_first(written, imports):
    _, queries = imports("beir", folder(written, f"{HEADER}1\td1\t1\n1\td2\t3\n1\td3\t0\n1\td4\t1\n"))
    assert queries.rules[0].rules == (
        Documents(names=("d2",), grade=3),
        Documents(names=("d1", "d4")),
        Documents(names=("d3",), grade=0),
    )


def test_queries_of_other_splits_are_left_out_and_counted(written, imports):
    where = folder(written, f"{HEADER}1\td1\t1\n")
    imported, queries = imports("beir", where)
    assert [query.id for query in queries.queries] == ["1"]
    (note,) = imported.attention
    assert note.startswith("2 queries ") and "test.tsv" in note and "--unjudged" in note
    _, kept = imports("beir", where, keep_unjudged=True)
    assert [query.id for query in kept.queries] == ["1", "2", "3"]


def test_labels_are_taken_from_metadata_and_it_is_kept(written, imports):
    _, queries = imports("beir", folder(written, f"{HEADER}2\td1\t1\n"))
    assert queries.queries[0].category == "x"
    assert json.loads(queries.queries[0].tags["metadata"]) == {"category": "x", "n": [1]}


def test_nothing_relevant_is_unjudged_and_kept(written, imports):
    imported, queries = imports("beir", folder(written, f"{HEADER}1\td1\t0\n1\td2\t-1\n"))
    assert queries.rules == (None,)
    assert json.loads(queries.queries[0].tags["original_grades"]) == {"-1": ["d2"], "0": ["d1"]}
    assert imported.attention[0].startswith("1: no document")


def test_splits_are_chosen(written, imports):
    where = folder(written, f"{HEADER}1\td1\t1\n", split="train")
    written("set/qrels/dev.tsv", f"{HEADER}3\td9\t1\n")
    with pytest.raises(DataError, match="--split"):
        imports("beir", where)
    _, queries = imports("beir", where, split="dev")
    assert queries.queries[0].id == "3"


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        ("1\td1\n", "test.tsv, line 2: 2 columns between tabs"),
        ("1\td1\tgood\n", "line 2: the grade 'good' is not a number"),
        ("1\td1\t0.5\n", "line 2: the grade '0.5' is not a whole number"),
        ("1\td1\tnan\n", "line 2: the grade 'nan' is not a whole number"),
        ("1\td1\t1\n1\td1\t2\n", "line 3: document 'd1' of query '1' is also judged at test.tsv, line 2"),
        ("9\td1\t1\n", "test.tsv, line 2: query '9' is not in queries.jsonl"),
        ("1\t\t1\n", "line 2: the query or the document is blank"),
    ],
)
def test_judgments_are_read_strictly(written, imports, qrels, message):
    with pytest.raises(DataError, match=message):
        imports("beir", folder(written, HEADER + qrels))


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ('{"_id": "1", "text": ""}\n', "queries.jsonl, line 1: text is ''"),
        (
            '{"_id": "1", "text": "a"}\n{"_id": "1", "text": "b"}\n',
            "line 2: query id '1' is also at queries.jsonl, line 1",
        ),
        ("[1]\n", "line 1: a list"),
        ("{\n", "line 1: not JSON"),
    ],
)
def test_queries_are_read_strictly(written, imports, queries, message):
    with pytest.raises(DataError, match=message):
        imports("beir", folder(written, f"{HEADER}1\td1\t1\n", queries), keep_unjudged=True)
