"""Review files are written to the key of S4-49, and a person's file is never written over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from bakeoff.errors import SettingError
from bakeoff.measures.labels import Label
from bakeoff.review.choices import LabelScheme
from bakeoff.review.importing import import_folder, into_ledger
from bakeoff.review.ledger import LedgerEntry, LedgerKind
from bakeoff.review.pool import ReviewPool
from bakeoff.review.review_folder import ReviewFolder
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


def test_grades_are_written_read_and_kept_in_the_ledger(pool: ReviewPool, tmp_path: Path) -> None:
    graded = replace(pool, labels=LabelScheme.GRADES)
    review = ReviewFolder(tmp_path)
    review.keep(graded)
    for path in write_sheets(graded, review.files, {}).paths:
        data = yaml.safe_load(path.read_text())
        assert list(data["instructions"]) == ["RELEVANT", "PARTLY", "NOT_RELEVANT"]
        for row in data["results"]:
            assert row["judgment"] == ("RELEVANT" if row["notes"].startswith("[AUTO]") else "")
            row["judgment"] = row["judgment"] or "partly"
        data["metadata"] |= {"reviewer": "ann", "review_complete": True}
        path.write_text(yaml.safe_dump(data))
    imported = import_folder(review.files, graded)
    assert into_ledger(imported, review.ledger) == len(graded.open)
    assert into_ledger(imported, review.ledger) == 0
    held = {entry.item: (entry.judgment, entry.grade) for entry in review.ledger.read().entries}
    assert held == {item.id: (Label.SEMANTIC_MATCH, 1) for item in graded.open}


def test_the_labels_of_a_review_change_only_before_its_first_judgment(
    pool: ReviewPool, tmp_path: Path
) -> None:
    review = ReviewFolder(tmp_path)
    assert review.use_labels(LabelScheme.GRADES) is LabelScheme.GRADES
    review.keep(pool)
    assert review.use_labels(None) is LabelScheme.MATCHES
    assert review.use_labels(LabelScheme.GRADES) is review.pool().labels is LabelScheme.GRADES
    item = pool.open[0]
    review.ledger.append(
        LedgerEntry(LedgerKind.JUDGE, item.id, item.query_id, "ann", item.text_hash, Label.FALSE_POSITIVE, 0)
    )
    with pytest.raises(SettingError):
        review.use_labels(LabelScheme.MATCHES)
