"""Both templates are read; whatever is wrong with a file is said with its line, and nothing of it is taken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.errors import DataError
from bakeoff.measures.labels import Label
from bakeoff.review.sheet_reader import choice_of, read_sheet, review_files

SHORT = """\
query_id: CON-001
query: what failed
reviewer: ann
date: 2026-01-18
results:
  - {rank: 1, chunk_id: AAR9901.pdf_chunk_042, judgment: SEMANTIC_MATCH, notes: clear}
  - {rank: 2, chunk_id: AAR9901.pdf_chunk_043, judgment: false_positive, notes: ""}
"""


def test_the_long_template(sheet: Callable[..., Path]) -> None:
    read = read_sheet(sheet())
    assert (read.query_id, read.system, read.reviewer, read.complete) == ("CON-001", "mika", "ann", True)
    assert [row.judgment for row in read.rows] == [Label.KEYWORD_MATCH, Label.SEMANTIC_MATCH]
    assert [row.auto for row in read.rows] == [True, False]


def test_the_short_template_is_complete_where_all_is_judged(tmp_path: Path) -> None:
    path = tmp_path / "review_CON-001_minilm.yaml"
    path.write_text(SHORT)
    read = read_sheet(path)
    assert (read.system, read.complete, read.short, read.date) == ("minilm", True, True, "2026-01-18")
    path.write_text(SHORT.replace("false_positive", '""'))
    assert not read_sheet(path).complete


@pytest.mark.parametrize(
    "written", ["semantic_match", " SEMANTIC_MATCH ", "Semantic Match", "semantic-match"]
)
def test_case_and_blanks_do_not_matter(written: str) -> None:
    choice = choice_of(written, "here")
    assert choice
    assert choice.label is Label.SEMANTIC_MATCH


@pytest.mark.parametrize(
    ("written", "near"),
    [("semantic", "SEMANTIC_MATCH"), ("KEYWRD_MATCH", "KEYWORD_MATCH"), ("false positve", "FALSE_POSITIVE")],
)
def test_a_misspelt_judgment_offers_the_nearest(written: str, near: str) -> None:
    with pytest.raises(DataError, match=f"Did you mean {near}"):
        choice_of(written, "here")


WRONG = {
    "misspelt": (("judgment: semantic_match", "judgment: semantc"), "line 31: .*Did you mean SEMANTIC_MATCH"),
    "edited chunk": (("AAR0401.pdf_chunk_0168", "AAR0402.pdf_chunk_0168"), "line 26: .*was edited"),
    "no rank": (("- rank: 2  # hard to say\n  chunk_id", "- chunk_id"), "rank of results.1 is missing"),
    "rank of words": (("rank: 2", "rank: two"), "rank is 'two'"),
    "gap": (("rank: 2", "rank: 3"), "rank 2 is missing"),
    "double rank": (("rank: 2", "rank: 1"), "rank 1 is also in line 17"),
    "double chunk": (
        ("AAR0401.pdf_chunk_0168\n  report_id: AAR0401", "AAR0302.pdf_chunk_0118\n  report_id: AAR0302"),
        "also in line 18",
    ),
    "double key": (("notes: ''", "notes: ''\n  notes: again"), '"notes"'),
    "tab": (("  model", "\tmodel"), "tab"),
    "half-written": (("  judgment: semantic_match\n  notes: ''\n", ""), "half-written"),
    "no results": (("results:", "result:"), "results is missing"),
    "complete of words": (("review_complete: true", "review_complete: yes"), "Write true or false"),
    "no query": (("query_id: CON-001", "query_id: ''"), "query_id is empty"),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_reported(sheet: Callable[..., Path], case: str) -> None:
    replaced, message = WRONG[case]
    with pytest.raises(DataError, match=message):
        read_sheet(sheet(replaced))


def test_another_encoding_is_said(sheet: Callable[..., Path]) -> None:
    path = sheet(("It was", "Es w\xe4re"))
    path.write_bytes(path.read_text(encoding="utf-8").encode("latin-1"))
    with pytest.raises(DataError, match="not UTF-8"):
        read_sheet(path)


def test_every_truncation_of_a_file_is_refused_or_reads_fewer_rows(sheet: Callable[..., Path]) -> None:
    text = sheet().read_text()
    whole = read_sheet(sheet()).rows
    for end in range(0, len(text) - 1, 23):
        path = sheet()
        path.write_text(text[:end])
        try:
            rows = read_sheet(path).rows
        except DataError:
            continue
        assert rows == whole[: len(rows)] or len(rows) == len(whole)


def test_a_passage_of_html_is_text(sheet: Callable[..., Path]) -> None:
    path = sheet(("It was maintained badly", "'<script>alert(1)</script>'"))
    assert read_sheet(path).rows[1].judgment is Label.SEMANTIC_MATCH


def test_folders_without_files_are_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="YAML"):
        review_files(tmp_path)
    with pytest.raises(DataError):
        review_files(tmp_path / "gone")
