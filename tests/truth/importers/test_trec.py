"""TREC topics in their three forms, and qrels with any grade and iteration."""

from __future__ import annotations

import json

import pytest

from bakeoff.errors import DataError, SettingError
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


NARRATED = """<top>
<num> 1
<title> short
<desc> Description:
a longer question
</top>
<top>
<num> 2
<title> other
<desc> Description:
</top>
"""


def test_the_field_of_a_topic_is_chosen(written, imports):
    paths = written("t.txt", NARRATED), written("q.txt", "1 0 a 1\n2 0 b 1\n")
    imported, queries = imports("trec", *paths, topic_field="desc")
    assert [query.text for query in queries.queries] == ["a longer question", "other"]
    assert queries.queries[0].tags == {"title": "short"}
    (missing,) = imported.attention
    assert missing.startswith("2: 1 of 2 topics ")
    assert imports("trec", *paths)[0].attention == ()
    with pytest.raises(DataError, match="'narr'"):
        imports("trec", *paths, topic_field="narr")


CRANFIELD = "".join(f"1 0 d{number} {grade}\n" for number, grade in enumerate([1, 2, 2, 2, 3, 3, 3, 4, -1]))


def test_a_scale_on_which_one_is_the_best_is_asked_about(written, imports):
    paths = written("t.tsv", "1\tfirst\n"), written("q.txt", CRANFIELD)
    with pytest.raises(DataError, match="--grades lowest-best"):
        imports("trec", *paths)
    _, queries = imports("trec", *paths, grades="1=3,2=2,3=1,4=1,-1=0")
    found = {name: leaf.grade for _, leaf in leaves(queries.rules[0]) for name in leaf.names}
    assert found == {
        "d0": 3,
        **dict.fromkeys(("d1", "d2", "d3"), 2),
        **dict.fromkeys(("d4", "d5", "d6", "d7")),
        "d8": 0,
    }
    assert json.loads(queries.queries[0].tags["original_grades"])["1"] == ["d0"]


@pytest.mark.parametrize("grades", ["best", "1=9", "1=3,2=2", "1=3;2=2"])
def test_grades_that_mean_nothing_are_refused(written, imports, grades):
    with pytest.raises(SettingError, match="--grades"):
        imports("trec", written("t.tsv", "1\tfirst\n"), written("q.txt", CRANFIELD), grades=grades)


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
