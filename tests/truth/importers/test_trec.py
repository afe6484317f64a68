"""TREC topics in their three forms, and qrels with any grade and iteration."""

from __future__ import annotations

import json

import pytest

from bakeoff.errors import DataError
from bakeoff.truth.rules import Documents, leaves

CLASSIC = """<top>
<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations that
participate.
</top>

<top>
<num> Number: 302 </num>
<title> A <T> in brackets </title>
</top>
"""
XML = """<?xml version="1.0"?>
<topics task="x">
  <topic number="1">
    <query>origin &amp; cause</query>
    <question>what is it</question>
  </topic>
</topics>
"""


def test_classic_topics(written, imports):
    paths = written("topics.txt", CLASSIC), written("qrels.txt", "301 0 a 1\n302 0 b 2\n301 0 c 0\n")
    _, queries = imports("trec", *paths)
    assert [(q.id, q.text) for q in queries.queries] == [
        ("301", "International Organized Crime"),
        ("302", "A <T> in brackets"),
    ]
    assert queries.queries[0].tags == {"desc": "Identify organizations that\nparticipate."}
    assert queries.rules[0].rules == (Documents(names=("a",)), Documents(names=("c",), grade=0))
    assert queries.rules[1] == Documents(names=("b",), grade=2)


def test_order_of_files_does_not_matter(written, imports):
    topics, qrels = written("t.tsv", "1\tfirst query\n"), written("q.txt", "1 0 a 1\n")
    assert imports("trec", topics, qrels)[1].queries == imports("trec", qrels, topics)[1].queries


def test_xml_topics(written, imports):
    _, queries = imports("trec", written("t.xml", XML), written("q.txt", "1 0.5 a 1\n1 1 b 1\n"))
    query = queries.queries[0]
    assert query.text == "origin & cause"
    assert query.tags["question"] == "what is it"
    assert json.loads(query.tags["qrels_iterations"]) == {"0.5": ["a"], "1": ["b"]}


def test_grades_outside_of_ours_are_kept_beside(data, written, imports):
    titles = "".join(f"{number}\tTopic {number}\n" for number in (301, 302, 303))
    imported, queries = imports("trec", written("t.tsv", titles), data / "trec_eval/qrels.rel_level")
    kept = [json.loads(query.tags.get("original_grades", "{}")) for query in queries.queries]
    assert sum(len(found.get("4", [])) for found in kept) == 6
    assert sum(len(found.get("-1", [])) for found in kept) == 304
    assert sum(len(leaf.names) for rule in queries.rules for _, leaf in leaves(rule)) == 3681
    assert len(imported.attention) == 2


@pytest.mark.parametrize(
    ("topics", "qrels", "message"),
    [
        ("1\ta\n", "1 0 a\n", "trec takes one file of topics"),
        ("1\ta\n", "1 0 a 1\n1 0 b x\n", "qrels.txt, line 2: the grade 'x'"),
        ("1\ta\n", "1 0 a 1\n2 0 b 1\n", "qrels.txt, line 2: topic '2' is not in topics.txt"),
        ("1\ta\n", "1 0 a 1\n1 0 b\n", "qrels.txt, line 2: 3 columns, not 4"),
        ("1\ta\nno tab\n", "1 0 a 1\n", "topics.txt, line 2: neither <top>"),
        ("<top>\n<title> x\n</top>", "1 0 a 1\n", "line 1: a topic without <num>"),
        ("<top>\n<num> 1\n<title> x\n</top>\nrubbish", "1 0 a 1\n", "line 5: 'rubbish' is in no topic"),
        ("<top>\n<num> 1\n</top>", "1 0 a 1\n", "line 1: topic '1' has none of title"),
    ],
)
def test_strict(written, imports, topics, qrels, message):
    with pytest.raises(DataError, match=message):
        imports("trec", written("topics.txt", topics), written("qrels.txt", qrels))
