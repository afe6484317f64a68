"""Review files → votes: complete files and those filled in by rules count; conflicts are reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.errors import DataError, UserError
from bakeoff.measures.labels import Label
from bakeoff.review.ledger import Ledger, LedgerEntry, LedgerKind, current_entries
from bakeoff.review.measures import Rankings
from bakeoff.review.outcomes import ItemOutcome, OutcomeState, Vote, settle_votes
from bakeoff.review.pool import ReviewPool
from bakeoff.review.sheet_reader import Sheet, read_sheet, review_files
from bakeoff.review.sheet_writer import file_name

UNNAMED = "reviewer not named"


@dataclass(frozen=True, slots=True)
class RefusedSheet:
    """A rejected file, and why."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedReview:
    """The content of a folder of review files; `items` maps (query, chunk) to the judged item."""

    taken: tuple[Sheet, ...]
    incomplete: tuple[Sheet, ...]
    refused: tuple[RefusedSheet, ...]
    opinions: tuple[Vote, ...]
    settled: Mapping[str, ItemOutcome]
    items: Mapping[tuple[str, str], str]
    notes: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def by_rule(self) -> tuple[Sheet, ...]:
        """Files imported without a mark, because a program filled in every result (C-22)."""
        return tuple(sheet for sheet in self.taken if not sheet.complete and sheet.filled_by_rule)

    @property
    def unmarked(self) -> tuple[Sheet, ...]:
        """Skipped files that are fully judged but not marked complete."""
        return tuple(sheet for sheet in self.incomplete if not sheet.open)

    @property
    def conflicts(self) -> tuple[ItemOutcome, ...]:
        """Items on which two files contradict each other."""
        return tuple(one for one in self.settled.values() if one.state is OutcomeState.CONFLICT)

    @property
    def overruled(self) -> tuple[ItemOutcome, ...]:
        """Items that a rule had filled in and a person overruled."""
        return tuple(one for one in self.settled.values() if one.overruled)

    def rankings(self) -> Rankings:
        """The judged items of each system and query in the order of ranks."""
        rankings: Rankings = {}
        for sheet in self.taken:
            rows = sorted(sheet.rows, key=lambda row: row.rank)
            keys = [self.items[sheet.query_id, row.chunk_id] for row in rows]
            rankings.setdefault(sheet.system, {})[sheet.query_id] = tuple(keys)
        return rankings


def import_folder(
    folder: Path, pool: ReviewPool | None = None, *, include_unmarked: bool = False
) -> ImportedReview:
    """Read the review files below a folder; with a pool, their chunks are checked against it.

    `include_unmarked` also takes files in which every result is judged but review_complete is false.
    """
    complete, incomplete, refused = _read(review_files(folder), include_unmarked)
    sheets, again = _distinct(complete)
    places = _places(pool)
    items: dict[tuple[str, str], str] = {}
    opinions: list[Vote] = []
    notes: list[str] = []
    for sheet in sheets:
        notes += _note_items(sheet, pool, places, items)
        opinions += _opinions(sheet, items)
    texts = {item.id: item.text_hash for item in pool.items} if pool else {}
    return ImportedReview(
        taken=tuple(sheets),
        incomplete=tuple(incomplete),
        refused=(*refused, *again),
        opinions=tuple(opinions),
        settled=settle_votes(opinions),
        items=items,
        notes=tuple(notes),
        texts=texts,
    )


def into_ledger(imported: ImportedReview, ledger: Ledger, *, final: bool = False) -> int:
    """Append the files' human judgments once each, `final` ones as adjudications; return how many were new."""
    kind = LedgerKind.ADJUDICATE if final else LedgerKind.JUDGE
    entries = current_entries(ledger.read().entries)
    added = 0
    for one in imported.opinions:
        if one.auto or one.label is Label.UNJUDGED or one.item not in imported.texts:
            continue
        before = entries.get((one.reviewer, one.item, 0))
        same = before is not None and (before.judgment, before.grade, before.kind) == (
            one.label,
            one.grade,
            kind,
        )
        if same and before is not None and before.text_hash == imported.texts[one.item]:
            continue
        entry = LedgerEntry(
            kind=kind,
            item=one.item,
            query=one.query,
            reviewer=one.reviewer,
            text_hash=imported.texts[one.item],
            judgment=one.label,
            grade=one.grade,
            note=one.note,
        )
        entries[one.reviewer, one.item, 0] = ledger.append(entry)
        added += 1
    return added


def _read(
    paths: Iterable[Path], include_unmarked: bool
) -> tuple[list[Sheet], list[Sheet], list[RefusedSheet]]:
    complete: list[Sheet] = []
    incomplete: list[Sheet] = []
    refused: list[RefusedSheet] = []
    for path in paths:
        try:
            sheet = read_sheet(path)
        except UserError as exc:
            refused.append(RefusedSheet(path, str(exc)))
            continue
        counts = sheet.complete or sheet.filled_by_rule or (include_unmarked and not sheet.open)
        (complete if counts else incomplete).append(sheet)
    if not complete and not incomplete and len(refused) == 1:
        raise DataError(refused[0].reason)
    return complete, incomplete, refused


def _distinct(sheets: Sequence[Sheet]) -> tuple[list[Sheet], list[RefusedSheet]]:
    """Refuse two sheets of the same query, system and reviewer: their judgments would count twice."""
    first: dict[tuple[str, str, str], Sheet] = {}
    again = []
    for sheet in sheets:
        other = first.setdefault((sheet.query_id, sheet.system, sheet.reviewer), sheet)
        if other is not sheet:
            why = f"{sheet.path} has the same query, system and reviewer as {other.path}. Remove one of them."
            again.append(RefusedSheet(sheet.path, why))
    return list(first.values()), again


@dataclass(frozen=True, slots=True)
class PoolIndex:
    """The passages of a pool: (query, chunk) → item, and (query, system's file name) → rank → chunk."""

    items: Mapping[tuple[str, str], str]
    ranks: Mapping[tuple[str, str], Mapping[int, str]]


def _places(pool: ReviewPool | None) -> PoolIndex:
    items: dict[tuple[str, str], str] = {}
    ranks: dict[tuple[str, str], dict[int, str]] = {}
    names = {system: file_name("", system) for system in pool.systems} if pool else {}
    for item in pool.items if pool else ():
        for one in item.returned:
            items[item.query_id, one.chunk_id] = item.id
            ranks.setdefault((item.query_id, names[one.system]), {})[one.rank] = one.chunk_id
    return PoolIndex(items, ranks)


def _note_items(
    sheet: Sheet, pool: ReviewPool | None, places: PoolIndex, items: dict[tuple[str, str], str]
) -> list[str]:
    """Find the item of every row of a sheet; rows outside the pool are reported and do not count."""
    notes = []
    expected = places.ranks.get((sheet.query_id, file_name("", sheet.system)), {})
    for row in sheet.rows:
        key = (sheet.query_id, row.chunk_id)
        if pool is None:
            items[key] = f"{sheet.query_id}/{row.chunk_id}"
        elif key in places.items:
            items[key] = places.items[key]
            if expected and expected.get(row.rank) != row.chunk_id:
                notes.append(
                    f"{sheet.name}, line {row.line}: {row.chunk_id} is not at rank {row.rank} in the run."
                )
        else:
            there = f"; rank {row.rank} is {expected[row.rank]} there" if row.rank in expected else ""
            items[key] = f"gone/{sheet.query_id}/{row.chunk_id}"
            notes.append(
                f"{sheet.name}, line {row.line}: {row.chunk_id} is not in the run{there}. It was edited, or is of "
                "another run: this judgment does not count."
            )
    return notes


def _opinions(sheet: Sheet, items: Mapping[tuple[str, str], str]) -> list[Vote]:
    return [
        Vote(
            items[sheet.query_id, row.chunk_id],
            sheet.query_id,
            "" if row.auto else sheet.reviewer.strip() or UNNAMED,
            row.judgment,
            None if row.auto else row.grade,
            auto=row.auto,
            where=f"{sheet.name}, line {row.line}",
            note=row.notes,
        )
        for row in sheet.rows
        if row.judgment is not Label.UNJUDGED and not items[sheet.query_id, row.chunk_id].startswith("gone/")
    ]
