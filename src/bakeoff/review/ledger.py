"""The ledger: every human judgment, appended durably, one file per reviewer in a shared folder.

A line is one JSON object and is on disk before `append` returns. Nothing is ever rewritten: an undo is a line of its
own. Two reviewers never write into the same file, so a shared folder needs no lock between machines. A line that a
crash cut off stays where it is, is not counted, and is reported (`Read.notes`).
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from bakeoff.errors import DataError, SettingError
from bakeoff.fingerprint import fingerprint
from bakeoff.measures.labels import Label
from bakeoff.storage.file_lock import lock_file

GRADES = (0, 1, 2, 3)
NOTE_LIMIT = 20_000


class LedgerKind(StrEnum):
    """The kind of a ledger line."""

    JUDGE = "judge"
    CANNOT = "cannot judge"
    LATER = "later"
    UNDO = "undo"
    ADJUDICATE = "adjudicate"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One line: what a reviewer did with an item, and the hash of the text that was seen then.

    `repeat` is 0 for the first showing of an item and 1 for its hidden repetition; `grade` is 0 to 3 or None.
    """

    kind: LedgerKind
    item: str
    query: str
    reviewer: str
    text_hash: str
    judgment: Label = Label.UNJUDGED
    grade: int | None = None
    note: str = ""
    repeat: int = 0
    time: str = ""

    def __post_init__(self) -> None:
        """Refuse an invalid judgment."""
        if not self.reviewer.strip():
            raise SettingError("a judgment needs a reviewer. Give a name.")
        if self.grade is not None and self.grade not in GRADES:
            raise DataError(f"grade {self.grade!r} of item {self.item} is not 0, 1, 2 or 3.")
        if self.kind in (LedgerKind.JUDGE, LedgerKind.ADJUDICATE) and self.judgment is Label.UNJUDGED:
            raise DataError(f"item {self.item}: the judgment is empty. Choose one of the three, or “later”.")
        if len(self.note) > NOTE_LIMIT:
            raise DataError(
                f"the note on item {self.item} has {len(self.note):,} characters; 20,000 are kept."
            )


@dataclass(frozen=True, slots=True)
class ReadLedger:
    """All entries of a ledger in order of time, with notes."""

    entries: tuple[LedgerEntry, ...]
    notes: tuple[str, ...] = ()


Key = tuple[str, str, int]
"""Reviewer, item, repeat."""


class Ledger:
    """A folder of append-only files, one per reviewer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def append(self, entry: LedgerEntry) -> LedgerEntry:
        """Write one line durably and return the entry with its time (UTC)."""
        stamped = entry if entry.time else replace(entry, time=now())
        path = self.path(stamped.reviewer)
        data = json.dumps(asdict(stamped), ensure_ascii=False, sort_keys=True).encode() + b"\n"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with _appending(path) as handle:
                cut = _cut_off(path)
                os.write(handle, b"\n" + data if cut else data)
                os.fsync(handle)
        except OSError as exc:
            raise SettingError(f"cannot write {path}: {exc.strerror}. The judgment is not saved.") from exc
        return stamped

    def path(self, reviewer: str) -> Path:
        """The file of a reviewer; a hash separates names with the same file name."""
        name = reviewer.strip()
        slug = re.sub(r"[^\w-]+", "-", name).strip("-") or "reviewer"
        return self.folder / f"{slug[:40]}-{fingerprint(name)[:6]}.jsonl"

    def read(self, reviewer: str | None = None) -> ReadLedger:
        """Every entry of all reviewers, or of one, oldest first; invalid lines are reported."""
        entries: list[LedgerEntry] = []
        notes: list[str] = []
        own = self.path(reviewer) if reviewer is not None else None
        for path in sorted(self.folder.glob("*.jsonl")) if own is None else [own] if own.exists() else []:
            for found in _lines(path):
                if isinstance(found, LedgerEntry):
                    entries.append(found)
                else:
                    notes.append(found)
        return ReadLedger(tuple(sorted(entries, key=lambda entry: entry.time)), tuple(notes))


def current_entries(entries: Iterable[LedgerEntry]) -> dict[Key, LedgerEntry]:
    """The current entry of each reviewer, item and repeat: the last one not undone."""
    stacks: dict[Key, list[LedgerEntry]] = {}
    for entry in entries:
        stack = stacks.setdefault((entry.reviewer, entry.item, entry.repeat), [])
        if entry.kind is not LedgerKind.UNDO:
            stack.append(entry)
        elif stack:
            stack.pop()
    return {key: stack[-1] for key, stack in stacks.items() if stack}


def now() -> str:
    """This moment in UTC, to the microsecond."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")


@contextlib.contextmanager
def _appending(path: Path) -> Iterator[int]:
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        lock_file(handle)
        yield handle
    finally:
        os.close(handle)


def _cut_off(path: Path) -> bool:
    """Whether the last line has no end, because a process was killed while it wrote."""
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def _lines(path: Path) -> Iterator[LedgerEntry | str]:
    """The entries of one file; an invalid line becomes a note."""
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield _entry(json.loads(line))
        except (ValueError, TypeError, KeyError, RecursionError, DataError, SettingError):
            why = "was truncated by a crash" if number == len(lines) else "is not an entry"
            yield f"{path.name}, line {number} {why} and does not count; judge that item again."


def _entry(data: dict[str, object]) -> LedgerEntry:
    values = {**data, "kind": LedgerKind(str(data["kind"])), "judgment": Label(str(data["judgment"]))}
    return LedgerEntry(**values)  # type: ignore[arg-type]
