"""What one reviewer did, kept in step with the ledger: the ledger first, then memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from bakeoff.review.effort import pace
from bakeoff.review.ledger import Ledger, LedgerEntry, LedgerKind


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
        """Whether somebody else wrote into this reviewer's file; what it says is read again."""
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
        wanted = frozenset(kinds)
        fits = (e for e in reversed(self.live) if e.kind in wanted and (e.item, e.repeat) in items)
        return next(fits, None)

    def seconds_each(self) -> float | None:
        """The mean time between recent entries without pauses; None where there are too few."""
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
