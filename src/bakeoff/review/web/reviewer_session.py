"""One reviewer's session: the order of items, their answers and their progress."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from bakeoff.errors import SettingError
from bakeoff.fingerprint import fingerprint
from bakeoff.measures.labels import Label
from bakeoff.review.choices import Choice
from bakeoff.review.effort import median_pace, pace
from bakeoff.review.ledger import Ledger, LedgerEntry, LedgerKind
from bakeoff.review.pool import PassageView, ReviewPool

DECIDING = (LedgerKind.JUDGE, LedgerKind.CANNOT, LedgerKind.LATER)

Place = tuple[str, int]
"""Item and repeat."""


@dataclass(frozen=True, slots=True)
class PageTexts:
    """The hashes of a pool's texts: by item, and by (query, hash) for a text that moved to another place."""

    by_item: Mapping[str, str]
    moved: Mapping[tuple[str, str], str]

    @classmethod
    def of(cls, pool: ReviewPool) -> PageTexts:
        """The hashes of a pool, computed once."""
        by_item = {item.id: item.text_hash for item in pool.items}
        return cls(by_item, {(item.query_id, by_item[item.id]): item.id for item in pool.items})

    def place(self, entry: LedgerEntry) -> Place | None:
        """The item an entry refers to now; None if its text is not in the pool."""
        if self.by_item.get(entry.item) == entry.text_hash:
            return entry.item, entry.repeat
        target = self.moved.get((entry.query, entry.text_hash))
        return (target, entry.repeat) if target is not None else None


@dataclass(frozen=True, slots=True)
class Answer:
    """A reviewer's answer to what is shown; `grade` applies to choices without a fixed grade."""

    kind: LedgerKind
    choice: Choice | None = None
    grade: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReviewProgress:
    """How far a reviewer is, in passages; hidden repetitions do not count.

    `seconds_left` is by their own pace, `seconds_each` the median time of a judgment; None where it is unknown yet.
    """

    done: int
    total: int
    later: int
    cannot: int
    seconds_left: float | None
    seconds_each: float | None


class ReviewerSession:
    """The showings of one reviewer and their answers; thread-safe."""

    def __init__(
        self, ledger: Ledger, reviewer: str, texts: PageTexts, showings: Sequence[PassageView], final: bool
    ) -> None:
        self.reviewer = reviewer
        self.lock = threading.RLock()
        self._texts = texts
        self._final = final
        self._history = History(ledger, reviewer)
        self._first: Place | None = None
        self._put_off: dict[Place, str] = {}
        self.show(showings)

    def show(self, showings: Sequence[PassageView]) -> None:
        """Set the reviewer's showings in this order, and reread their judgments."""
        with self.lock:
            self._shown = {(one.item.id, one.repeat): one for one in showings}
            self._keys = {key_of(self.reviewer, place): place for place in self._shown}
            self._rank: Mapping[str, int] | None = None
            self._history.reread()
            self._recount()

    def reorder(self, rank: Mapping[str, int]) -> None:
        """Bring items to the front by rank; repetitions stay behind all others."""
        with self.lock:
            if rank is self._rank:
                return
            self._rank, last = rank, len(rank)
            places = sorted(self._shown, key=lambda place: rank.get(place[0], last))
            self._shown = {place: self._shown[place] for place in places}

    def upcoming(self, count: int) -> list[tuple[str, PassageView]]:
        """The next showings with their keys: new ones, then those put off, then hidden repetitions."""
        with self.lock:
            self._catch_up()
            coming = islice(self._coming(), count)
            return [(key_of(self.reviewer, place), self._shown[place]) for place in coming]

    def save_answer(self, key: str, answer: Answer, time: str) -> LedgerEntry | None:
        """Save an answer durably; None if nothing had to be written or it was sent twice."""
        with self.lock:
            self._catch_up()
            place = self._place(key)
            if time in self._history.times:
                return None
            if answer.kind is LedgerKind.LATER and self._final:
                # a line would replace this reviewer's earlier answer
                self._put_off[place], self._first = time, None
                return None
            entry = self._history.add(self._entry(place, answer, time))
            self._first = None
            if self._history.live and self._history.live[-1] is entry:
                self._recount_one(place, entry)
            else:  # it arrived late: newer entries win
                self._recount()
            return entry

    def undo(self, time: str) -> tuple[str, LedgerEntry] | None:
        """Take back the last answer; gives the key of what it was about and the answer, or None: there is none."""
        with self.lock:
            self._catch_up()
            entry = self._history.times.get(time)
            if entry is not None:  # sent twice: already done
                place = self._texts.place(entry)
                return (key_of(self.reviewer, place), entry) if place in self._shown and place else None
            last = self._history.last(self._kinds, self._ever())
            if last is None:
                return None
            self._history.add(
                LedgerEntry(
                    LedgerKind.UNDO,
                    last.item,
                    last.query,
                    self.reviewer,
                    last.text_hash,
                    repeat=last.repeat,
                    time=time,
                )
            )
            self._recount()
            self._first = self._texts.place(last)
            assert self._first is not None
            return key_of(self.reviewer, self._first), last

    def progress(self) -> ReviewProgress:
        """This reviewer's progress."""
        with self.lock:
            open_ = len(self._shown) - len(self._done)
            each = self._history.seconds_each()
            return ReviewProgress(
                done=_first_showings(self._done),
                total=_first_showings(self._shown),
                later=sum(place not in self._done for place in self._put_off),
                cannot=_first_showings(self._cannot),
                seconds_left=each * open_ if each is not None else None,
                seconds_each=median_pace(list(self._history.times)),
            )

    @property
    def latest(self) -> str:
        """The time of this reviewer's last entry: what the page sends next must be later to count after it."""
        return self._history.latest

    @property
    def _kinds(self) -> tuple[LedgerKind, ...]:
        return (LedgerKind.ADJUDICATE,) if self._final else DECIDING

    def _ever(self) -> set[Place]:
        """The ledger keys of what is shown."""
        live = self._history.live
        return {(e.item, e.repeat) for e in live if self._texts.place(e) in self._shown}

    def _place(self, key: str) -> Place:
        if key not in self._keys:
            raise SettingError("this passage is no longer in the review. Reload the page.")
        return self._keys[key]

    def _entry(self, place: Place, answer: Answer, time: str) -> LedgerEntry:
        item = self._shown[place].item
        if self._final and answer.kind is LedgerKind.CANNOT:
            raise SettingError("to settle a conflict, choose one of the three, or “later”.")
        kind = LedgerKind.ADJUDICATE if self._final and answer.kind is LedgerKind.JUDGE else answer.kind
        choice = answer.choice
        return LedgerEntry(
            kind=kind,
            item=item.id,
            query=item.query_id,
            reviewer=self.reviewer,
            text_hash=self._texts.by_item[item.id],
            judgment=Label.UNJUDGED if choice is None else choice.label_for(filled=bool(item.rules)),
            grade=answer.grade if choice is None or choice.grade is None else choice.grade,
            note=answer.note,
            repeat=place[1],
            time=time,
        )

    def _coming(self) -> Iterator[Place]:
        """Open showings in order: just undone, due repetitions, first showings, then postponed ones."""
        first = self._first if self._first in self._shown and self._first not in self._done else None
        if first is not None:
            yield first
        late = sorted((p for p in self._put_off if p in self._shown), key=self._put_off.__getitem__)
        fresh = [p for p in self._shown if p not in self._put_off and p not in self._done]
        due = self._repeats_due()
        rest = (p for p in fresh if p[1] and p not in due)
        for place in chain(due, (p for p in fresh if not p[1]), late, rest):
            if place not in self._done and place != first:
                yield place

    def _repeats_due(self) -> list[Place]:
        """Due hidden repetitions: spread over the second half, so that the last passage is a new one."""
        repeats = [p for p in self._shown if p[1]]
        judged, every = _first_showings(self._done), _first_showings(self._shown)
        return [
            place
            for number, place in enumerate(repeats, 1)
            if (place[0], 0) in self._done
            and place not in self._put_off
            and judged >= every * (0.5 + 0.5 * number / (len(repeats) + 1))
        ]

    def _catch_up(self) -> None:
        """Read what this reviewer wrote elsewhere."""
        if self._history.has_changed():
            self._recount()

    def _recount(self) -> None:
        self._done: set[Place] = set()
        self._cannot: set[Place] = set()
        if not self._final:
            self._put_off = {}
        for entry in self._history.live:
            place = self._texts.place(entry)
            if place is not None and place in self._shown:
                self._recount_one(place, entry)

    def _recount_one(self, place: Place, entry: LedgerEntry) -> None:
        """The state of an item after its last entry."""
        if self._final:
            self._done |= {place} if entry.kind is LedgerKind.ADJUDICATE else set()
            return
        self._put_off.pop(place, None)
        self._cannot.discard(place)
        if entry.kind is LedgerKind.LATER:
            self._done.discard(place)
            self._put_off[place] = entry.time
        else:
            self._done.add(place)
            self._cannot |= {place} if entry.kind is LedgerKind.CANNOT else set()


def _first_showings(places: Iterable[Place]) -> int:
    return sum(not repeat for _, repeat in places)


def key_of(reviewer: str, place: Place) -> str:
    """A name for a showing that does not reveal whether it is a repetition, the same after a restart."""
    return fingerprint("showing", reviewer, *place)[:16]


class History:
    """A reviewer's entries by time; `live` are those not undone, in order of time."""

    def __init__(self, ledger: Ledger, reviewer: str) -> None:
        self._ledger = ledger
        self.reviewer = reviewer
        self.reread()

    def reread(self) -> None:
        """Take the entries from disk."""
        self.live: list[LedgerEntry] = []
        self.times: dict[str, LedgerEntry] = {}
        self._size = self._bytes()
        for entry in self._ledger.read(self.reviewer).entries:
            self._take(entry)

    @property
    def latest(self) -> str:
        """The time of the last entry, or nothing."""
        return next(reversed(self.times), "")

    def has_changed(self) -> bool:
        """Whether this reviewer's file changed on disk, so that it must be read again."""
        if self._bytes() == self._size:
            return False
        self.reread()
        return True

    def add(self, entry: LedgerEntry) -> LedgerEntry:
        """Write an entry, on disk when this returns."""
        late = entry.time < self.latest
        stamped = self._ledger.append(entry)
        if late:
            self.reread()
        else:
            self._take(stamped)
            self._size = self._bytes()
        return stamped

    def last(self, kinds: Iterable[LedgerKind], items: Collection[tuple[str, int]]) -> LedgerEntry | None:
        """The last entry of some kinds on some (item, repeat) that was not undone."""
        accepted = frozenset(kinds)
        fits = (e for e in reversed(self.live) if e.kind in accepted and (e.item, e.repeat) in items)
        return next(fits, None)

    def seconds_each(self) -> float | None:
        """The mean time between recent entries without pauses; None if there are too few."""
        return pace(list(self.times))

    def _take(self, entry: LedgerEntry) -> None:
        self.times[entry.time] = entry
        if entry.kind is not LedgerKind.UNDO:
            self.live.append(entry)
            return
        for place in range(len(self.live) - 1, -1, -1):
            if (self.live[place].item, self.live[place].repeat) == (entry.item, entry.repeat):
                del self.live[place]
                return

    def _bytes(self) -> int:
        path = self._ledger.path(self.reviewer)
        return path.stat().st_size if path.exists() else 0
