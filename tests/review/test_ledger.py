"""The ledger is append-only, durable, and one reviewer never waits for another."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bakeoff.errors import DataError, SettingError
from bakeoff.measures.labels import Label
from bakeoff.review.ledger import Ledger, LedgerEntry, LedgerKind, current_entries


def judged(
    item: str, label: Label = Label.SEMANTIC_MATCH, reviewer: str = "ann", **more: object
) -> LedgerEntry:
    return LedgerEntry(LedgerKind.JUDGE, item, "q", reviewer, "hash", label, **more)  # type: ignore[arg-type]


def test_an_entry_comes_back_with_its_time(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    written = ledger.append(judged("i", grade=3, note="größer\nals"))
    assert written.time.endswith("+00:00")
    assert ledger.read().entries == (written,)


def test_undo_takes_back_the_last_and_keeps_the_line(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.append(judged("i"))
    ledger.append(judged("i", Label.FALSE_POSITIVE))
    ledger.append(LedgerEntry(LedgerKind.UNDO, "i", "q", "ann", "hash"))
    entries = ledger.read().entries
    assert len(entries) == 3
    assert current_entries(entries)["ann", "i", 0].judgment is Label.SEMANTIC_MATCH


def test_undo_of_nothing_and_of_others_changes_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.append(judged("i", reviewer="bob"))
    ledger.append(LedgerEntry(LedgerKind.UNDO, "i", "q", "ann", "hash"))
    assert set(current_entries(ledger.read().entries)) == {("bob", "i", 0)}


def test_a_hidden_repeat_stands_beside_the_first(tmp_path: Path) -> None:
    entries = [judged("i"), judged("i", Label.FALSE_POSITIVE, repeat=1)]
    assert len(current_entries(entries)) == 2


def test_names_that_look_alike_as_files_have_their_own(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    assert len({ledger.path(name) for name in ("a b", "a-b", "a/b", "../a")}) == 4
    assert all(ledger.path(name).parent == tmp_path for name in ("../a", "/etc/passwd"))


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_line_that_a_crash_cut_off_is_said_and_the_next_one_counts(tmp_path: Path, cut: int) -> None:
    ledger = Ledger(tmp_path)
    ledger.append(judged("first"))
    ledger.append(judged("second"))
    path = ledger.path("ann")
    path.write_bytes(path.read_bytes()[:-cut])
    read = ledger.read()
    if cut == 1:  # only the end of the line is missing: the entry is whole
        assert [entry.item for entry in read.entries] == ["first", "second"]
    else:
        assert [entry.item for entry in read.entries] == ["first"]
        assert "line 2" in read.notes[0] and "truncated" in read.notes[0]
    ledger.append(judged("third"))
    assert [entry.item for entry in ledger.read().entries][-1] == "third"


def test_a_line_that_is_no_entry_is_said(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.append(judged("i"))
    with ledger.path("ann").open("a") as file:
        file.write('{"kind": "judge"}\n[1]\n')
    assert len(ledger.read().entries) == 1
    assert len(ledger.read().notes) == 2


def test_threads_of_one_and_of_several_reviewers_lose_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)

    def work(name: str) -> None:
        for number in range(25):
            ledger.append(judged(f"{threading.get_ident()}-{number}", reviewer=name))

    threads = [threading.Thread(target=work, args=(name,)) for name in ("ann", "ann", "bob", "eve")]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    read = ledger.read()
    assert len(read.entries) == 100
    assert not read.notes
    assert len(list(tmp_path.glob("*.jsonl"))) == 3


def test_what_was_appended_outlives_a_killed_process(tmp_path: Path) -> None:
    code = (
        "import os, signal; from pathlib import Path; from bakeoff.review.ledger import *; "
        f"Ledger(Path({str(tmp_path)!r})).append(LedgerEntry(LedgerKind.JUDGE, 'i', 'q', 'ann', 'h', Label.FALSE_POSITIVE)); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -9
    assert [entry.item for entry in Ledger(tmp_path).read().entries] == ["i"]


def test_what_is_no_judgment_is_refused() -> None:
    with pytest.raises(SettingError, match="reviewer"):
        judged("i", reviewer=" ")
    with pytest.raises(DataError, match="0, 1, 2 or 3"):
        judged("i", grade=4)
    with pytest.raises(DataError, match="empty"):
        judged("i", Label.UNJUDGED)


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError):
        Ledger(tmp_path / "file" / "ledger").append(judged("i"))
