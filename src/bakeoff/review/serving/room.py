"""The room of a review: a seat for each reviewer, the order of what is shown, and what the page is told."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.errors import SettingError
from bakeoff.review.desk import Desk, stands
from bakeoff.review.ledger import Entry, Kind
from bakeoff.review.pool import Pool, Showing
from bakeoff.review.serving.cards import Around, Card, card
from bakeoff.review.serving.order import Compass
from bakeoff.review.serving.seat import Answer, Progress, Seat, Texts
from bakeoff.review.settle import Settled, State

AHEAD = 12
"""So many showings the page has at hand."""
NAME_LIMIT = 80


@dataclass(frozen=True, slots=True)
class Manner:
    """How a review is held: graded or not, shuffled or most telling first, judged or decided between reviewers."""

    graded: bool = False
    by_stakes: bool = False
    adjudicate: bool = False
    filled: bool = False
    repeats: float = 0.05


@dataclass(frozen=True, slots=True)
class Undone:
    """An answer that was taken back."""

    key: str
    judgment: str
    note: str


@dataclass(frozen=True, slots=True)
class Told:
    """What the page is told after every request: what comes next in which order, and how far the reviewer is."""

    reviewer: str
    queue: tuple[str, ...]
    cards: tuple[Card, ...]
    progress: Progress
    latest: str
    advice: str = ""
    undone: Undone | None = None


@dataclass
class Room:
    """A review that is open to any number of reviewers at once."""

    desk: Desk
    manner: Manner = field(default_factory=Manner)
    run: Path | None = None

    def __post_init__(self) -> None:
        """Read the pool once; a seat is made when its reviewer comes."""
        self.pool: Pool = self.desk.pool()
        self.judged: Counter[str] = Counter()
        self.name = self.pool.fingerprint()
        self._texts = Texts.of(self.pool)
        self._orders: dict[str, list[Showing]] = {}
        self._around = Around(_pieces(self.pool, self.run))
        self._seats: dict[str, Seat] = {}
        self._lock = threading.Lock()
        self._settled: dict[str, Settled] = {}
        self._compass = Compass(self.desk, self.pool) if self.manner.by_stakes else None

    def open(self, reviewer: str, have: Iterable[str] = ()) -> Told:
        """A page was opened: everything is read again."""
        seat = self._seat(reviewer)
        seat.seat(self._showings(seat.reviewer))
        self._point(seat)
        return self._state(seat, have)

    def say(self, reviewer: str, key: str, answer: Answer, time: str, have: Iterable[str] = ()) -> Told:
        """Keep an answer; it is on disk when this returns."""
        seat = self._seat(reviewer)
        entry = seat.say(key, answer, time)
        self._count(seat.reviewer, entry, 1)
        if self._compass is not None:
            self._compass.moved()
            self._point(seat)
        return self._state(seat, have)

    def undo(self, reviewer: str, time: str, have: Iterable[str] = ()) -> Told:
        """Take back the reviewer's last answer."""
        seat = self._seat(reviewer)
        taken = seat.undo(time)
        if taken is None:
            return self._state(seat, have)
        key, entry = taken
        self._count(seat.reviewer, entry, -1)
        said = "" if entry.kind is Kind.UNDO else entry.judgment.value or entry.kind.value
        return self._state(seat, have, Undone(key, said, entry.note))

    def close(self) -> None:
        """Wait until what is being written is on disk."""
        for seat in list(self._seats.values()):
            seat.lock.acquire()
        if self._compass is not None:
            self._compass.close()

    def _seat(self, reviewer: str) -> Seat:
        name = checked_name(reviewer)
        with self._lock:
            if name not in self._seats:
                ledger, final = self.desk.ledger, self.manner.adjudicate
                self._seats[name] = Seat(ledger, name, self._texts, self._showings(name), final)
                self._point(self._seats[name])
            return self._seats[name]

    def _showings(self, reviewer: str) -> list[Showing]:
        manner = self.manner
        if not manner.adjudicate:
            if reviewer not in self._orders:
                shown = self.pool.showings(reviewer, repeats=manner.repeats, auto=manner.filled)
                self._orders[reviewer] = shown
            return self._orders[reviewer]
        self._settled = stands(self.desk).settled
        wanted = {item for item, one in self._settled.items() if _disputed(one, reviewer)}
        return [one for one in self.pool.showings(reviewer, auto=True) if one.item.id in wanted]

    def _point(self, seat: Seat) -> None:
        if self._compass is not None:
            seat.reorder(self._compass.rank)

    def _state(self, seat: Seat, have: Iterable[str], undone: Undone | None = None) -> Told:
        there = set(have)
        coming = seat.upcoming(AHEAD)
        cards = tuple(self._card(key, one) for key, one in coming if key not in there)
        advice = self._compass.advice if self._compass is not None else ""
        queue = tuple(key for key, _ in coming)
        return Told(seat.reviewer, queue, cards, seat.progress(), seat.latest, advice, undone)

    def _card(self, key: str, showing: Showing) -> Card:
        said = self._settled[showing.item.id].opinions if self.manner.adjudicate else ()
        return card(key, showing.item, self._around, (one for one in said if not one.final))

    def _count(self, reviewer: str, entry: Entry | None, step: int) -> None:
        if entry is not None and entry.kind in (Kind.JUDGE, Kind.CANNOT, Kind.ADJUDICATE):
            self.judged[reviewer] += step


def checked_name(name: str) -> str:
    """A reviewer's name without space around it, refused where it can't be one."""
    clean = " ".join(name.split())
    if not clean or len(clean) > NAME_LIMIT or not clean.isprintable():
        raise SettingError(f"{name!r} is no name. Give 1 to {NAME_LIMIT} letters.")
    return clean


def _disputed(one: Settled, reviewer: str) -> bool:
    """Whether reviewers differ on it, or this one has decided it."""
    mine = any(said.final and said.reviewer == reviewer for said in one.opinions)
    return one.state is State.CONFLICT or (one.state is State.ADJUDICATED and mine)


def _pieces(pool: Pool, run: Path | None) -> Iterable[tuple[str, int, int, str]]:
    """Every text of the pool, and every text the run keeps where it is at hand."""
    yield from ((item.document_id, item.start, item.end, item.text) for item in pool.items)
    if run is not None:
        from bakeoff.analysis import open_run

        for row in open_run(run).passages.to_pylist():
            yield row["document_id"], row["start"], row["end"], row["text"]
