"""Votes of people and rules → the outcome of each item: agreed, adjudicated, filled in, in conflict or open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from bakeoff.measures.labels import Label
from bakeoff.review.ledger import LedgerEntry, LedgerKind, current_entries
from bakeoff.review.pool import ReviewPool
from bakeoff.runtime.count_text import count


class OutcomeState(StrEnum):
    """The state of an item."""

    AGREED = "agreed"
    ADJUDICATED = "adjudicated"
    RULE = "rule"
    CONFLICT = "conflict"
    OPEN = "open"
    CANNOT = "cannot judge"


@dataclass(frozen=True, slots=True)
class Vote:
    """One vote of a person, or of a rule (`auto`), on an item; `where` is the file and line, or the ledger's time."""

    item: str
    query: str
    reviewer: str
    label: Label
    grade: int | None = None
    auto: bool = False
    final: bool = False
    where: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """The outcome of an item, and every vote on it."""

    item: str
    query: str
    state: OutcomeState
    label: Label = Label.UNJUDGED
    grade: int | None = None
    opinions: tuple[Vote, ...] = ()

    @property
    def relevance(self) -> int | None:
        """The final grade: 0 for a false positive, 1 or the reviewers' grade for a match, None if open."""
        if self.grade is not None:
            return self.grade
        if self.label is Label.UNJUDGED:
            return None
        return int(self.label is not Label.FALSE_POSITIVE)

    @property
    def overruled(self) -> bool:
        """Whether a person overruled a rule."""
        people = [one for one in self.opinions if not one.auto and one.label is not Label.UNJUDGED]
        filled = any(one.auto for one in self.opinions)
        return filled and any(one.label is not Label.KEYWORD_MATCH for one in people)


def settle_votes(opinions: Iterable[Vote]) -> dict[str, ItemOutcome]:
    """Decide each item: by an adjudication, else by unanimous people, else by the rule."""
    by_item: dict[str, list[Vote]] = {}
    for one in opinions:
        by_item.setdefault(one.item, []).append(one)
    return {item: _settle_item(item, tuple(votes)) for item, votes in by_item.items()}


def _settle_item(item: str, votes: tuple[Vote, ...]) -> ItemOutcome:
    query = votes[0].query
    final = [one for one in votes if one.final and one.label is not Label.UNJUDGED]
    if final:
        return ItemOutcome(item, query, OutcomeState.ADJUDICATED, final[-1].label, final[-1].grade, votes)
    people = [one for one in votes if not one.auto and one.label is not Label.UNJUDGED]
    labels, grades = {one.label for one in people}, {_grade(one) for one in people}
    if len(labels) == 1 and len(grades) == 1:
        return ItemOutcome(item, query, OutcomeState.AGREED, people[0].label, people[0].grade, votes)
    if people:
        # all give the same grade, though for different reasons: the grade holds
        common = grades.pop() if len(grades) == 1 else None
        return ItemOutcome(item, query, OutcomeState.CONFLICT, Label.UNJUDGED, common, votes)
    if any(one.auto for one in votes):
        return ItemOutcome(item, query, OutcomeState.RULE, Label.KEYWORD_MATCH, None, votes)
    state = OutcomeState.CANNOT if any(not one.auto for one in votes) else OutcomeState.OPEN
    return ItemOutcome(item, query, state, opinions=votes)


def _grade(one: Vote) -> int:
    return one.grade if one.grade is not None else int(one.label is not Label.FALSE_POSITIVE)


@dataclass(frozen=True, slots=True)
class Votes:
    """A ledger applied to a pool: current votes, and entries that no longer fit."""

    held: tuple[Vote, ...]
    repeats: tuple[Vote, ...]
    notes: tuple[str, ...]


def opinions_of(pool: ReviewPool, entries: Iterable[LedgerEntry]) -> Votes:
    """The votes of rules and reviewers on a pool; judgments of a changed text are ignored, with a note."""
    items = pool.by_id()
    moved = {(item.query_id, item.text_hash): item.id for item in pool.items}
    votes = [
        Vote(item.id, item.query_id, "", Label.KEYWORD_MATCH, auto=True, where=", ".join(item.rules))
        for item in pool.items
        if item.rules
    ]
    repeats: list[Vote] = []
    changed, gone, carried = 0, 0, 0
    for entry in current_entries(entries).values():
        item = items.get(entry.item)
        target = (
            entry.item
            if item and item.text_hash == entry.text_hash
            else moved.get((entry.query, entry.text_hash))
        )
        if target is None:
            changed, gone = changed + (item is not None), gone + (item is None)
            continue
        carried += target != entry.item
        if entry.kind is LedgerKind.LATER:
            continue
        opinion = _opinion(entry, target)
        (repeats if entry.repeat else votes).append(opinion)
    return Votes(tuple(votes), tuple(repeats), _notes(changed, gone, carried))


def settled_pool(pool: ReviewPool, entries: Iterable[LedgerEntry]) -> dict[str, ItemOutcome]:
    """The outcome of every item of a pool, including open ones."""
    outcomes = settle_votes(opinions_of(pool, entries).held)
    return {
        item.id: outcomes.get(item.id) or ItemOutcome(item.id, item.query_id, OutcomeState.OPEN)
        for item in pool.items
    }


def labels_of(settled: Mapping[str, ItemOutcome]) -> dict[str, Label]:
    """The final label of each item; '' if there is none."""
    return {item: one.label for item, one in settled.items()}


def _opinion(entry: LedgerEntry, item: str) -> Vote:
    return Vote(
        item,
        entry.query,
        entry.reviewer,
        entry.judgment,
        entry.grade,
        final=entry.kind is LedgerKind.ADJUDICATE,
        where=entry.time,
        note=entry.note,
    )


def _notes(changed: int, gone: int, carried: int) -> tuple[str, ...]:
    notes = (
        (changed, "not counted, made on an earlier text of the passage: judge these items again."),
        (gone, "not counted, of passages that are no longer in the pool."),
        (carried, "carried over to the same text in another place."),
    )
    return tuple(f"{count(number, 'judgment')} {text}" for number, text in notes if number)
