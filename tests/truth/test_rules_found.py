"""What each family of rules finds in a small corpus."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bakeoff.truth.resolve import Truth

Found = Callable[[str], list[tuple[str, str | None]]]
Resolved = Callable[[str], Truth]


@pytest.mark.parametrize(
    "truth", ["{file: json/decoder.py}", "{files: [json/decoder.py]}", "{documents: src/json/decoder.py}"]
)
def test_documents(found: Found, truth: str) -> None:
    assert found(truth) == [("src/json/decoder.py", None)]


def test_globs(found: Found) -> None:
    assert [name for name, _ in found('{documents: ["AAR*.pdf"]}')] == [
        "reports/AAR1401.pdf",
        "reports/AAR1410.pdf",
    ]


def test_lines_are_whole_and_without_their_break(found: Found) -> None:
    truth = "{lines: {document: json/decoder.py, from: 6, to: 7}}"
    assert found(truth) == [("src/json/decoder.py", 'def plain(text):\n    return "ü", text')]


def test_characters(found: Found) -> None:
    assert found("{characters: {document: manual.md, from: 2, to: 7}}") == [("docs/manual.md", "Setup")]


def test_passage_as_written_and_across_line_breaks(found: Found) -> None:
    assert found('{passage: "A fatigue crack"}') == [("reports/AAR1401.pdf", "A fatigue crack")]
    assert found('{passage: {document: manual.md, text: "duty time counts"}}') == [
        ("docs/manual.md", "duty\ntime counts")
    ]


def test_a_passage_of_a_pdf_may_have_other_blanks_inside_its_words(found: Found) -> None:
    assert found('{passage: {document: AAR1401, text: "A fati gue crack"}}') == [
        ("reports/AAR1401.pdf", "A fatigue crack")
    ]


def test_several_places_in_one_rule(found: Found) -> None:
    assert len(found('{passage: ["Wind calm", "wing spar grew"]}')) == 2


def test_symbols_in_characters_with_decorators(found: Found) -> None:
    ((_, text),) = found('{symbol: "json/decoder.py::JSONDecoder.raw_decode"}')
    assert text is not None
    assert text.startswith('@property\n    @cached("😀")\n    def raw_decode')
    assert text.endswith('return "größer" + s')


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain", 'def plain(text):\n    return "ü", text'),
        ("LIMIT", "LIMIT = 10"),
        ("JSONDecoder.stream", "async def stream(self): pass"),
        ("hidden", 'def hidden(): return "é"'),
    ],
)
def test_symbols_of_every_kind(found: Found, name: str, text: str) -> None:
    assert found(f'{{symbol: "json/decoder.py::{name}"}}') == [("src/json/decoder.py", text)]


def test_keywords_are_whole_words_of_any_alphabet(found: Found) -> None:
    whole = found("{keywords: {any: [über]}, over: documents}")
    assert whole == [("docs/manual.md", None)]
    assert found("{keywords: {any: [duty time]}, over: documents}") == [
        ("reports/AAR1401.pdf", None),
        ("docs/manual.md", None),
    ]
    part = "{keywords: {any: [fatig], match: substring}, over: documents}"
    assert found(part) == [("reports/AAR1401.pdf", None)]


def test_a_part_of_a_word_is_no_keyword(resolved: Resolved) -> None:
    assert resolved("{keywords: {any: [fatig, größ]}, over: documents}").judgments.num_rows == 0


def test_case_counts_where_asked(found: Found) -> None:
    assert found("{keywords: {any: [Über], case: true}, over: sections}")[0][1] is not None
    assert len(found("{keywords: {any: [über], case: false}, over: sections}")) == 2
    assert len(found("{keywords: {any: [Über], case: true}, over: sections}")) == 1


def test_all_keywords(found: Found) -> None:
    truth = "{keywords: {all: [wing, duty time]}, over: sections}"
    assert found(truth) == [
        ("reports/AAR1401.pdf", "2. RECOMMENDATIONS\nInspect the wing spar. Limit duty time and rest.\n")
    ]


def test_lines_that_hold_a_word(found: Found, resolved: Resolved) -> None:
    truth = "{keywords: {any: [wing spar]}, over: lines}"
    assert found(truth) == [
        ("reports/AAR1401.pdf", "A fatigue crack in the wing spar grew over 1,200 flights."),
        ("reports/AAR1401.pdf", "Inspect the wing spar. Limit duty time and rest."),
    ]
    assert resolved(truth).judgments["chunking"].to_pylist() == ["", ""]


def test_signals_need_so_many(found: Found, resolved: Resolved) -> None:
    truth = "{signals: {at_least: 2, of: [duty time, rest, circadian]}, over: sections}"
    ((name, text),) = found(truth)
    assert name == "reports/AAR1401.pdf"
    assert text is not None
    assert text.startswith("2. RECOMMENDATIONS")
    assert resolved(truth).judgments["source"].to_pylist() == ["signals>=2"]


def test_quotes_in_words_are_texts(found: Found) -> None:
    assert found("""{keywords: {any: ["it's'; --", "clear"]}, over: documents}""") == [
        ("reports/AAR1401.pdf", None)
    ]


def test_sql_over_chunks_is_bound_to_the_chunking(resolved: Resolved) -> None:
    truth = resolved(
        "{sql: \"WHERE lower(chunk_text) LIKE '%fatigue%crack%' AND report_id = 'reports/AAR1401.pdf'\"}"
    )
    assert truth.problems == ()
    (row,) = truth.judgments.to_pylist()
    assert row["chunking"] == "c60"
    assert row["end"] - row["start"] == 60
    assert row["source"] == "sql"


@pytest.mark.parametrize("over", ["documents", "sections"])
def test_sql_over_documents_and_sections_is_bound_to_none(resolved: Resolved, over: str) -> None:
    truth = resolved(f"{{sql: \"chunk_text ILIKE '%fatigue%crack%'\", over: {over}}}")
    (row,) = truth.judgments.to_pylist()
    assert row["chunking"] == ""
    assert (row["start"] is None) == (over == "documents")


def test_sections_by_contained_title_with_subsections(found: Found) -> None:
    assert found("{sections: [probable  cause]}") == [
        (
            "reports/AAR1401.pdf",
            "(b) PROBABLE CAUSE\nA fatigue crack in the wing spar grew over 1,200 flights.\n",
        )
    ]
    ((_, text),) = found("{sections: Setup}")
    assert text is not None
    assert text.startswith("# Setup")
    assert "## Options" in text
    assert "# Use" not in text


def test_sections_by_chunk_labels(resolved: Resolved) -> None:
    truth = resolved("{sections: [METEOROLOGICAL INFORMATION], over: chunks}")
    assert set(truth.judgments["chunking"].to_pylist()) == {"c60"}


def test_universal_sections_are_no_judgments(found: Found) -> None:
    assert len(found("{sections: {of: [PROBABLE CAUSE], universal: [SYNOPSIS, SUMMARY]}}")) == 1


def test_any_keeps_sources_and_all_intersects(resolved: Resolved) -> None:
    union = resolved("{any: [{documents: [AAR1410.pdf]}, {sections: [PROBABLE CAUSE]}]}").judgments
    assert sorted(union["source"].to_pylist()) == ["documents", "sections"]
    both = resolved("{all: [{documents: [AAR1401.pdf]}, {sections: [PROBABLE CAUSE]}]}").judgments
    assert both["source"].to_pylist() == ["all-of(documents,sections)"]
    named = resolved("{name: gold, any: [{documents: [AAR1410.pdf]}, {documents: [manual.md]}]}").judgments
    assert named["source"].to_pylist() == ["gold", "gold"]


def test_all_of_chunks_and_spans_are_chunks(resolved: Resolved) -> None:
    truth = resolved("{all: [{sql: \"chunk_text LIKE '%spar%'\"}, {sections: [PROBABLE CAUSE]}]}")
    alone = resolved("{sql: \"chunk_text LIKE '%spar%'\"}")
    assert truth.problems == ()
    assert 0 < truth.judgments.num_rows < alone.judgments.num_rows
    assert set(truth.judgments["chunking"].to_pylist()) == {"c60"}
    assert set(truth.judgments["start"].to_pylist()) <= set(alone.judgments["start"].to_pylist())


def test_grades(resolved: Resolved) -> None:
    union = resolved("{any: [{documents: [AAR1401.pdf], grade: 3}, {documents: [AAR1410.pdf]}]}").judgments
    assert union["grade"].to_pylist() == [3, 1]
    both = resolved("{all: [{documents: [AAR1401.pdf], grade: 3}, {sections: [RECOMM], grade: 2}]}").judgments
    assert both["grade"].to_pylist() == [2]
    over = resolved("{grade: 2, any: [{documents: [AAR1401.pdf], grade: 3}]}").judgments
    assert over["grade"].to_pylist() == [2]


def test_the_same_document_twice_is_one_judgment(resolved: Resolved) -> None:
    truth = resolved("{any: [{documents: [manual.md], grade: 1}, {documents: [docs/manual.md], grade: 2}]}")
    assert truth.judgments["grade"].to_pylist() == [2]
