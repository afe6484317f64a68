"""Review files are written to the key of S4-49, and a person's file is never written over."""

from __future__ import annotations

from pathlib import Path

import yaml

from bakeoff.review.pool import ReviewPool
from bakeoff.review.sheet_reader import read_sheet
from bakeoff.review.sheet_writer import QueryFacts, file_name, write_sheets

KEYS = {
    "metadata": ["query_id", "model", "category", "reviewer", "review_date", "review_complete"],
    "query": ["text", "sql_ground_truth", "expected_report_ids", "relevance_signals"],
    "instructions": ["keyword_match", "semantic_match", "false_positive"],
    "summary": ["auto_keyword_matches", "needs_human_review"],
}
RESULT = ["rank", "chunk_id", "report_id", "section_name", "score", "text_preview", "judgment", "notes"]


def test_the_keys_and_their_order_are_those_of_the_template(pool: ReviewPool, tmp_path: Path) -> None:
    facts = {"q0": QueryFacts("WHERE text LIKE '%x%'", ("AAR1",), ("x",))}
    written = write_sheets(pool, tmp_path, facts)
    assert [path.name for path in written.paths][:2] == ["review_q0_a.yaml", "review_q0_b.yaml"]
    data = yaml.safe_load(written.paths[0].read_text())
    assert list(data) == [*KEYS, "results"]
    assert {key: list(data[key]) for key in KEYS} == KEYS
    assert [list(row) for row in data["results"]] == [RESULT, RESULT]
    assert data["summary"] == {"auto_keyword_matches": 1, "needs_human_review": 1}
    assert data["results"][0]["judgment"] == "KEYWORD_MATCH"
    assert data["results"][0]["notes"] == "[AUTO] Matches relevance signals/SQL pattern (sql)"
    assert data["results"][1]["judgment"] == ""


def test_what_is_written_is_read_back(pool: ReviewPool, tmp_path: Path) -> None:
    for path in write_sheets(pool, tmp_path, {}).paths:
        sheet = read_sheet(path)
        assert [row.rank for row in sheet.rows] == [1, 2]
        assert [row.auto for row in sheet.rows] == [True, False]
        assert not sheet.complete


def test_a_file_somebody_judged_in_is_never_replaced(pool: ReviewPool, tmp_path: Path) -> None:
    paths = write_sheets(pool, tmp_path, {}).paths
    mine = paths[0].read_text().replace("judgment: ''", "judgment: FALSE_POSITIVE")
    paths[0].write_text(mine)
    paths[1].write_text("half a fi")
    again = write_sheets(pool, tmp_path, {}, force=True)
    assert set(again.kept) == {paths[0], paths[1]}
    assert paths[0].read_text() == mine


def test_without_force_nothing_is_replaced(pool: ReviewPool, tmp_path: Path) -> None:
    paths = write_sheets(pool, tmp_path, {}).paths
    assert write_sheets(pool, tmp_path, {}).kept == paths


def test_system_names_become_file_names() -> None:
    assert file_name("CON-001", "semantic · minilm · dense") == "review_CON-001_semantic-minilm-dense.yaml"
    assert "/" not in file_name("../q", "a/b")
