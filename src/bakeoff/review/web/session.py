"""The session of a review: one session per reviewer, the order of items, and the state of the page."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.errors import SettingError
from bakeoff.review.ledger import LedgerEntry, LedgerKind
from bakeoff.review.outcomes import ItemOutcome, OutcomeState
from bakeoff.review.pool import PassageView, ReviewPool
from bakeoff.review.review_folder import ReviewFolder, load_state
from bakeoff.review.web.cards import Card, ContextWindow, card
from bakeoff.review.web.order import NextItemRanker
from bakeoff.review.web.reviewer_session import Answer, PageTexts, ReviewerSession, ReviewProgress

AHEAD = 12
"""Showings that the page prefetches."""
NAME_LIMIT = 80


@dataclass(frozen=True, slots=True)
class ReviewOptions:
    """How a review is held: graded or not, shuffled or most telling first, judged or decided between reviewers."""

    graded: bool = False
    by_stakes: bool = False
    adjudicate: bool = False
    filled: bool = False
    repeats: float = 0.05


@dataclass(frozen=True, slots=True)
class UndoneVote:
    """An answer that was taken back."""

    key: str
    judgment: str
    note: str


@dataclass(frozen=True, slots=True)
class PageState:
    """The state sent after every request: the next items in order, and the reviewer's progress."""

    reviewer: str
    queue: tuple[str, ...]
    cards: tuple[Card, ...]
    progress: ReviewProgress
    latest: str
    advice: str = ""
    undone: UndoneVote | None = None


@dataclass
class ReviewSession:
    """A review that is open to any number of reviewers at once."""

    desk: ReviewFolder
    manner: ReviewOptions = field(default_factory=ReviewOptions)
    run: Path | None = None

    def __post_init__(self) -> None:
        """Read the pool once; a seat is made when its reviewer comes."""
        self.pool: ReviewPool = self.desk.pool()
        self.judged: Counter[str] = Counter()
        self.name = self.pool.fingerprint()
        self._texts = PageTexts.of(self.pool)
        self._orders: dict[str, list[PassageView]] = {}
        self._around = ContextWindow(_pieces(self.pool, self.run))
        self._seats: dict[str, ReviewerSession] = {}
        self._lock = threading.Lock()
        self._settled: dict[str, ItemOutcome] = {}
        self._compass = NextItemRanker(self.desk, self.pool) if self.manner.by_stakes else None

    def open(self, reviewer: str, have: Iterable[str] = ()) -> PageState:
        """A page was opened: everything is read again."""
        seat = self._seat(reviewer)
        seat.seat(self._showings(seat.reviewer))
        self._point(seat)
        return self._state(seat, have)

    def say(self, reviewer: str, key: str, answer: Answer, time: str, have: Iterable[str] = ()) -> PageState:
        """Keep an answer; it is on disk when this returns."""
        seat = self._seat(reviewer)
        entry = seat.say(key, answer, time)
        self._count(seat.reviewer, entry, 1)
        if self._compass is not None:
            self._compass.moved()
            self._point(seat)
        return self._state(seat, have)

    def undo(self, reviewer: str, time: str, have: Iterable[str] = ()) -> PageState:
        """Take back the reviewer's last answer."""
        seat = self._seat(reviewer)
        taken = seat.undo(time)
        if taken is None:
            return self._state(seat, have)
        key, entry = taken
        self._count(seat.reviewer, entry, -1)
        said = "" if entry.kind is LedgerKind.UNDO else entry.judgment.value or entry.kind.value
        return self._state(seat, have, UndoneVote(key, said, entry.note))

    def close(self) -> None:
        """Wait until what is being written is on disk."""
        for seat in list(self._seats.values()):
            seat.lock.acquire()
        if self._compass is not None:
            self._compass.close()

    def _seat(self, reviewer: str) -> ReviewerSession:
        name = checked_name(reviewer)
        with self._lock:
            if name not in self._seats:
                ledger, final = self.desk.ledger, self.manner.adjudicate
                self._seats[name] = ReviewerSession(ledger, name, self._texts, self._showings(name), final)
                self._point(self._seats[name])
            return self._seats[name]

    def _showings(self, reviewer: str) -> list[PassageView]:
        manner = self.manner
        if not manner.adjudicate:
            if reviewer not in self._orders:
                shown = self.pool.showings(reviewer, repeats=manner.repeats, auto=manner.filled)
                self._orders[reviewer] = shown
            return self._orders[reviewer]
        self._settled = load_state(self.desk).settled
        wanted = {item for item, one in self._settled.items() if _is_disputed(one, reviewer)}
        return [one for one in self.pool.showings(reviewer, auto=True) if one.item.id in wanted]

    def _point(self, seat: ReviewerSession) -> None:
        if self._compass is not None:
            seat.reorder(self._compass.rank)

    def _state(
        self, seat: ReviewerSession, have: Iterable[str], undone: UndoneVote | None = None
    ) -> PageState:
        there = set(have)
        coming = seat.upcoming(AHEAD)
        cards = tuple(self._card(key, one) for key, one in coming if key not in there)
        advice = self._compass.advice if self._compass is not None else ""
        queue = tuple(key for key, _ in coming)
        return PageState(seat.reviewer, queue, cards, seat.progress(), seat.latest, advice, undone)

    def _card(self, key: str, showing: PassageView) -> Card:
        said = self._settled[showing.item.id].opinions if self.manner.adjudicate else ()
        return card(key, showing.item, self._around, (one for one in said if not one.final))

    def _count(self, reviewer: str, entry: LedgerEntry | None, step: int) -> None:
        if entry is not None and entry.kind in (LedgerKind.JUDGE, LedgerKind.CANNOT, LedgerKind.ADJUDICATE):
            self.judged[reviewer] += step


def checked_name(name: str) -> str:
    """A reviewer's name without space around it, refused where it can't be one."""
    clean = " ".join(name.split())
    if not clean or len(clean) > NAME_LIMIT or not clean.isprintable():
        raise SettingError(f"{name!r} is not a name. Give 1 to {NAME_LIMIT} letters.")
    return clean


def _is_disputed(one: ItemOutcome, reviewer: str) -> bool:
    """Whether reviewers differ on it, or this one has decided it."""
    mine = any(said.final and said.reviewer == reviewer for said in one.opinions)
    return one.state is OutcomeState.CONFLICT or (one.state is OutcomeState.ADJUDICATED and mine)


def _pieces(pool: ReviewPool, run: Path | None) -> Iterable[tuple[str, int, int, str]]:
    """Every text of the pool, and every text the run keeps where it is at hand."""
    yield from ((item.document_id, item.start, item.end, item.text) for item in pool.items)
    if run is not None:
        from bakeoff.runs.analysis import open_run

        for row in open_run(run).passages.to_pylist():
            yield row["document_id"], row["start"], row["end"], row["text"]
