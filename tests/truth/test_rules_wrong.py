"""What is wrong in a rule is said with file, line, query, value, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from bakeoff.errors import TruthError
from bakeoff.truth.resolve import Truth, resolve

Problem = Callable[[str], str]
Make = Callable[..., Any]
Resolved = Callable[[str], Truth]


@pytest.mark.parametrize(
    ("truth", "said"),
    [
        ("{documents: [AAR140]}", 'no document matches "AAR140". Nearest: reports/AAR1401.pdf'),
        (
            "{file: decoder.py}",
            '"decoder.py" matches 2 documents: src/json/decoder.py, src/simple/decoder.py',
        ),
        ("{lines: {document: main.go, from: 2, to: 9}}", "lines 2 to 9 of src/main.go, which has 3"),
        ("{characters: {document: main.go, from: 2, to: 999}}", "characters, not bytes"),
        ("{passage: not there}", "passage 'not there' is not in any document"),
        ("{passage: {document: manual.md, text: spar}}", "is not in docs/manual.md"),
        (
            "{passage: Install it with care}",
            "2 times: docs/manual.md line 2 and docs/manual.md line 13",
        ),
        ("{symbol: 'json/decoder.py::raw_decode'}", "Nearest: JSONDecoder.raw_decode"),
        ("{symbol: 'manual.md::main'}", "Use lines or passage"),
        ("{symbol: 'nowhere.py::main'}", 'no document matches "nowhere.py"'),
        ("{sections: [PROBABLY CAUSE]}", "Nearest: (b) PROBABLE CAUSE"),
        ("{sections: [PROBABLY CAUSE], over: chunks}", "use over: documents"),
        ("{neighbours: 100}", "kNN@k"),
        ("{sql: 'lower(chunk_text) LKE 1'}", 'syntax error at or near "LKE", at character 19'),
        ("{sql: \"fatigue LIKE 'x'\"}", 'no column "fatigue"'),
        ("{sql: \"text LIKE '%no such text%'\"}", "matches nothing"),
        ("{all: [{documents: [manual.md]}, {documents: [main.go]}]}", "matches nothing"),
        ("{documents: [manual.md], grade: 0}", "matches nothing"),
        ("{documents: ['AAR*'], min_documents: 3}", "finds 2 documents, but min_documents is 3"),
    ],
)
def test_problems(problem: Problem, truth: str, said: str) -> None:
    assert said in problem(truth)


def test_titles_of_a_section_rule_are_alternatives(resolved: Resolved) -> None:
    truth = resolved("{sections: [PROBABLE CAUSE, WEATHER]}")
    assert not truth.errors
    (warning,) = truth.problems
    assert (warning.level, warning.code) == ("warning", "truth")
    assert 'contains "WEATHER"' in warning.message
    assert resolved("{sections: [PROBABLE CAUSE]}").judgments.equals(truth.judgments)


def test_too_few_documents_are_a_warning_where_allowed(documents: pa.Table, one_query: Make) -> None:
    query = one_query("{documents: ['AAR*'], min_documents: 3}")
    levels = [
        [(one.level, one.code) for one in resolve(query, documents, {}, allowed=allowed).problems]
        for allowed in ((), ("few-documents",))
    ]
    assert levels == [[("error", "few-documents")], [("warning", "few-documents")]]


def test_python_that_does_not_parse(make_documents: Make, one_query: Make) -> None:
    documents = make_documents({"old.py": "print 'x'\n"})
    (error,) = resolve(one_query("{symbol: 'old.py::x'}"), documents, {}).errors
    assert "valid Python" in error.message


def test_every_name_that_is_wrong_is_said(resolved: Resolved) -> None:
    errors = resolved(
        "{any: [{documents: [nix.md, nox.md]}, {passage: nowhere}, {documents: [manual.md]}]}"
    ).errors
    assert len(errors) == 3


def test_strict_raises_all_of_them(documents: pa.Table, one_query: Make) -> None:
    with pytest.raises(TruthError) as caught:
        resolve(one_query("{documents: [nix.md, nox.md]}"), documents, {}, strict=True)
    assert len(str(caught.value).splitlines()) == 2


def test_a_rule_of_any_that_matches_nothing_is_a_warning(resolved: Resolved) -> None:
    truth = resolved("{any: [{documents: [manual.md]}, {sql: \"text LIKE '%zzz%'\"}]}")
    assert [problem.level for problem in truth.problems] == ["warning"]
    assert "sql matches nothing" in truth.problems[0].message


def test_expected_counts_are_warnings(resolved: Resolved) -> None:
    (problem,) = resolved("{documents: ['AAR*'], expected_count: 3}").problems
    assert problem.level == "warning"
    assert "finds 2 documents, expected_count is 3" in problem.message
    assert resolved("{documents: ['AAR*'], expected_count: {documents: 3, within: 0.5}}").problems == ()
    assert resolved("{documents: ['AAR*'], expected_count: {hits: 2}}").problems == ()


def test_rules_over_chunks_need_a_chunking(documents: pa.Table, one_query: Make) -> None:
    (error,) = resolve(one_query("{sql: \"text LIKE '%a%'\"}"), documents, {}).errors
    assert "chunker" in error.message


def test_unjudged_is_said(resolved: Resolved) -> None:
    truth = resolved("unjudged")
    assert [problem.level for problem in truth.problems] == ["warning"]
    assert truth.judgments.num_rows == 0


def test_negative_has_no_judgments_and_no_problem(resolved: Resolved) -> None:
    truth = resolved("negative")
    assert truth.problems == ()
    assert truth.judgments.num_rows == 0


def test_a_copy_of_a_right_document_that_counts_as_wrong_is_a_warning(
    make_documents: Make, one_query: Make
) -> None:
    """Which of two equal texts comes first decided the score, and nothing mentioned it."""
    documents = make_documents({"a.md": "The same.", "b.md": "The same.", "c.md": "Not this."})
    (problem,) = resolve(one_query("{documents: [b.md]}"), documents, {}).problems
    assert (problem.level, problem.code) == ("warning", "unjudged-copy")
    assert "b.md and a.md" in problem.message
    for whole in ("{documents: [a.md, b.md]}", "{documents: [c.md]}"):
        assert not resolve(one_query(whole), documents, {}).problems
