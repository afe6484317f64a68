"""Files of BEIR and TREC: exact bytes."""

from __future__ import annotations

import json

import pytest

from bakeoff.errors import DataError
from bakeoff.report.exports import truth_files
from bakeoff.report.exports.truth_files import ExportItem, Qrel, ServedRow
from bakeoff.types import Query


def test_beir_queries_carry_labels_and_the_original_metadata():
    plain = Query("1", "ä b", tags={"metadata": '{"n": 1}'})
    labelled = Query(
        "2", "c", category="x", negative=True, tags={"who": "Ann", "original_grades": '{"4": ["d"]}'}
    )
    assert truth_files.beir_queries([plain, labelled]) == (
        '{"_id": "1", "text": "ä b", "metadata": {"n": 1}}\n'
        '{"_id": "2", "text": "c", "metadata": {"category": "x", "negative": true, "tags": {"who": "Ann"}}}\n'
    )


def test_beir_qrels():
    assert truth_files.beir_qrels([Qrel("1", "d", 2)]) == "query-id\tcorpus-id\tscore\n1\td\t2\n"
    with pytest.raises(DataError):
        truth_files.beir_qrels([Qrel("1", "d\te", 2)])


@pytest.mark.parametrize(
    ("title", "text", "written"),
    [
        ("T", "T body", {"title": "T", "text": "body", "metadata": {"k": "v"}}),
        (" T", "T body", {"title": " T", "text": "body", "metadata": {"k": "v"}}),
        ("T", "# T\nbody", {"title": "", "text": "# T\nbody", "metadata": {"title": "T", "k": "v"}}),
        ("", "body", {"title": "", "text": "body", "metadata": {"k": "v"}}),
    ],
)
def test_beir_readers_see_the_text_of_the_document(title, text, written):
    row = json.loads(truth_files.beir_corpus([ExportItem("d", title, text, {"k": "v"})]))
    assert row == {"_id": "d", **written}
    assert f"{row['title']} {row['text']}".strip() == text


def test_trec_ids_have_no_blanks_and_stay_apart():
    names = ["a b", "a%20b", "a\tb", "a%b", "a%b c"]
    assert [truth_files.trec_id(name) for name in names] == ["a%20b", "a%2520b", "a%09b", "a%b", "a%25b%20c"]


def test_trec_lines():
    assert truth_files.trec_qrels([Qrel("1", "d", -1, "Q0")]) == "1 Q0 d -1\n"
    assert truth_files.trec_run([ServedRow("1", "d e", 1, 0.1)], "sys") == "1 Q0 d%20e 1 0.1 sys\n"
    assert truth_files.trec_topics([Query("1", "a\n b", tags={"desc": "more"})]) == (
        "<top>\n<num> Number: 1\n\n<title> a b\n\n<desc> Description:\nmore\n\n</top>\n"
    )


def test_original_grades_and_iterations_come_back():
    tags = {"original_grades": '{"4": ["b"], "-1": ["z"]}', "qrels_iterations": '{"2": ["a"]}'}
    found = truth_files.original_qrels([Query("1", "q", tags=tags)], [Qrel("1", "b", 3), Qrel("1", "a", 1)])
    assert found == [Qrel("1", "a", 1, "2"), Qrel("1", "b", 4), Qrel("1", "z", -1)]


def test_a_damaged_tag_is_an_error():
    with pytest.raises(DataError, match=r"query 1.*original_grades.*JSON"):
        truth_files.original_qrels([Query("1", "q", tags={"original_grades": "{"})], [])


def test_beir_results_name_queries_without_results():
    made = json.loads(truth_files.beir_results([ServedRow("1", "d", 1, 0.5)], ["1", "2"]))
    assert made == {"1": {"d": 0.5}, "2": {}}
