"""Import takes complete files only, merges what overlaps, reports conflicts, and never writes into what it read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.errors import DataError
from bakeoff.measures.labels import Label
from bakeoff.review.importing import import_folder, into_ledger
from bakeoff.review.ledger import Ledger, LedgerKind
from bakeoff.review.outcomes import OutcomeState, settled_pool
from bakeoff.review.pool import ReviewPool
from bakeoff.review.sheet_writer import write_sheets


def judged(
    pool: ReviewPool, folder: Path, label: str = "FALSE_POSITIVE", reviewer: str = "ann"
) -> list[Path]:
    """Files in which everything open has one judgment."""
    paths = list(write_sheets(pool, folder, {}).paths)
    for path in paths:
        text = path.read_text().replace("judgment: ''", f"judgment: {label}")
        path.write_text(
            text.replace("reviewer: ''", f"reviewer: {reviewer}").replace("complete: false", "complete: true")
        )
    return paths


def test_only_complete_files_are_taken(sheet: Callable[..., Path], tmp_path: Path) -> None:
    sheet()
    sheet(query="CON-002", complete="false")
    imported = import_folder(tmp_path / "files")
    assert [one.query_id for one in imported.taken] == ["CON-001"]
    assert [one.query_id for one in imported.incomplete] == ["CON-002"]


def test_files_without_the_mark_in_which_nothing_is_open(sheet: Callable[..., Path], tmp_path: Path) -> None:
    sheet()
    sheet(query="CON-002", complete="false")
    sheet(query="CON-003", complete="false", judgment="''")
    imported = import_folder(tmp_path / "files")
    assert [one.query_id for one in imported.incomplete] == ["CON-002", "CON-003"]
    assert [one.query_id for one in imported.unmarked] == ["CON-002"]
    more = import_folder(tmp_path / "files", include_unmarked=True)
    assert [one.query_id for one in more.taken] == ["CON-001", "CON-002"]
    assert [one.query_id for one in more.incomplete] == ["CON-003"] and more.unmarked == ()


def test_a_file_filled_by_rules_alone_counts_as_reviewed(sheet: Callable[..., Path], tmp_path: Path) -> None:
    """C-22."""
    sheet(("notes: ''", "notes: '[AUTO] Matches'"), complete="false", judgment="KEYWORD_MATCH")
    imported = import_folder(tmp_path / "files")
    assert (len(imported.taken), len(imported.by_rule), imported.incomplete) == (1, 1, ())


def test_a_bad_file_is_refused_whole_and_the_others_are_taken(
    sheet: Callable[..., Path], tmp_path: Path
) -> None:
    sheet()
    bad = sheet(query="CON-002", judgment="semantc")
    imported = import_folder(tmp_path / "files")
    assert [one.path for one in imported.refused] == [bad]
    assert not any(one.query == "CON-002" for one in imported.opinions)
    assert len(imported.taken) == 1


def test_one_bad_file_alone_is_an_error(sheet: Callable[..., Path]) -> None:
    with pytest.raises(DataError):
        import_folder(sheet(judgment="semantc"))


def test_the_same_passage_of_two_systems_is_judged_once(sheet: Callable[..., Path], tmp_path: Path) -> None:
    sheet()
    sheet(system="minilm", judgment="''")
    imported = import_folder(tmp_path / "files")
    assert len(imported.settled) == 2
    assert imported.settled["CON-001/AAR0401.pdf_chunk_0168"].label is Label.SEMANTIC_MATCH
    assert imported.rankings()["minilm"]["CON-001"] == imported.rankings()["mika"]["CON-001"]


def test_files_that_contradict_each_other_leave_it_open(sheet: Callable[..., Path], tmp_path: Path) -> None:
    sheet()
    sheet(system="minilm", judgment="FALSE_POSITIVE")
    (conflict,) = import_folder(tmp_path / "files").conflicts
    assert conflict.label is Label.UNJUDGED
    assert conflict.relevance is None
    assert [one.where for one in conflict.opinions] == [
        "review_CON-001_mika.yaml, line 31",
        "review_CON-001_minilm.yaml, line 31",
    ]


def test_a_person_overrules_a_rule(sheet: Callable[..., Path], tmp_path: Path) -> None:
    sheet()
    sheet(
        (
            "judgment: KEYWORD_MATCH\n  notes: '[AUTO] Matches relevance signals/SQL pattern'",
            "judgment: FALSE_POSITIVE",
        ),
        system="minilm",
    )
    imported = import_folder(tmp_path / "files")
    assert not imported.conflicts
    assert [one.item for one in imported.overruled] == ["CON-001/AAR0302.pdf_chunk_0118"]
    assert imported.overruled[0].label is Label.FALSE_POSITIVE


def test_one_review_twice_is_refused(sheet: Callable[..., Path], tmp_path: Path) -> None:
    sheet()
    sheet(folder=tmp_path / "files" / "copy")
    imported = import_folder(tmp_path / "files")
    assert len(imported.taken) == 1
    assert "same query, system and reviewer" in imported.refused[0].reason


def test_nothing_is_written_into_what_is_read(sheet: Callable[..., Path], tmp_path: Path) -> None:
    path = sheet()
    folder = tmp_path / "files"
    before = {one: (one.read_bytes(), one.stat().st_mtime_ns) for one in folder.rglob("*") if one.is_file()}
    path.chmod(0o444)
    folder.chmod(0o555)
    try:
        import_folder(folder)
    finally:
        folder.chmod(0o755)
    assert before == {
        one: (one.read_bytes(), one.stat().st_mtime_ns) for one in folder.rglob("*") if one.is_file()
    }


def test_files_of_a_pool_enter_its_ledger_once(pool: ReviewPool, tmp_path: Path) -> None:
    judged(pool, tmp_path / "files")
    ledger = Ledger(tmp_path / "ledger")
    imported = import_folder(tmp_path / "files", pool)
    assert not imported.notes
    assert into_ledger(imported, ledger) == 8
    assert into_ledger(imported, ledger) == 0
    settled = settled_pool(pool, ledger.read().entries)
    assert {one.state for one in settled.values()} == {OutcomeState.RULE, OutcomeState.AGREED}
    assert not any(entry.judgment is Label.KEYWORD_MATCH for entry in ledger.read().entries)


def test_an_adjudication_decides(pool: ReviewPool, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    for name, label in (("ann", "FALSE_POSITIVE"), ("bob", "SEMANTIC_MATCH")):
        judged(pool, tmp_path / name, label, name)
        into_ledger(import_folder(tmp_path / name, pool), ledger)
    assert (
        sum(one.state is OutcomeState.CONFLICT for one in settled_pool(pool, ledger.read().entries).values())
        == 8
    )
    judged(pool, tmp_path / "eve", "SEMANTIC_MATCH", "eve")
    into_ledger(import_folder(tmp_path / "eve", pool), ledger, final=True)
    settled = settled_pool(pool, ledger.read().entries)
    assert sum(one.state is OutcomeState.ADJUDICATED for one in settled.values()) == 8
    assert {e.kind for e in ledger.read().entries if e.reviewer == "eve"} == {LedgerKind.ADJUDICATE}


def test_a_passage_that_is_not_in_the_run_does_not_count_and_is_said(
    pool: ReviewPool, tmp_path: Path
) -> None:
    path = judged(pool, tmp_path / "files")[0]
    path.write_text(path.read_text().replace("chunk_id: q0-1", "chunk_id: q0-9"))
    imported = import_folder(tmp_path / "files", pool)
    assert "q0-9" in imported.notes[0] and "rank 2 is q0-1" in imported.notes[0]
    assert into_ledger(imported, Ledger(tmp_path / "ledger")) == 7
