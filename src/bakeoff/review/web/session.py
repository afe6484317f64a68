"""The session of a review: one session per reviewer, the order of items, and the state of the page."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.errors import SettingError
from bakeoff.review.choices import describe_vote
from bakeoff.review.decision_model import stakes_of
from bakeoff.review.ledger import LedgerEntry, LedgerKind
from bakeoff.review.measures import pool_rankings
from bakeoff.review.next import StoppingAdvice, rank_open_items
from bakeoff.review.outcomes import ItemOutcome, OutcomeState, settled_pool
from bakeoff.review.pool import PassageView, ReviewPool
from bakeoff.review.review_folder import ReviewFolder, load_state
from bakeoff.review.web.cards import Card, ContextWindow, card
from bakeoff.review.web.reviewer_session import Answer, PageTexts, ReviewerSession, ReviewProgress

AHEAD = 12
"""Showings that the page prefetches."""
NAME_LIMIT = 80
_OTHER_ANSWERS = {LedgerKind.CANNOT: "Can’t judge", LedgerKind.LATER: "Later"}


@dataclass(frozen=True, slots=True)
class ReviewOptions:
    """Options of a review: with grades or not, shuffled or most informative first, judging or adjudicating."""

    graded: bool = False
    by_stakes: bool = False
    adjudicate: bool = False
    filled: bool = False
    repeats: float = 0.05


@dataclass(frozen=True, slots=True)
class UndoneVote:
    """An answer that was taken back, in the words of the page."""

    key: str
    judgment: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """A review open to several reviewers at once."""

    review: ReviewFolder
    options: ReviewOptions = field(default_factory=ReviewOptions)
    run: Path | None = None

    def __post_init__(self) -> None:
        """Read the pool once; each reviewer gets a session on arrival."""
        self.pool: ReviewPool = self.review.pool()
        self.judged: Counter[str] = Counter()
        self.name = self.pool.fingerprint()
        self._texts = PageTexts.of(self.pool)
        self._orders: dict[str, list[PassageView]] = {}
        self._around = ContextWindow(_pieces(self.pool, self.run))
        self._reviewers: dict[str, ReviewerSession] = {}
        self._lock = threading.Lock()
        self._settled: dict[str, ItemOutcome] = {}
        self._ranker = NextItemRanker(self.review, self.pool) if self.options.by_stakes else None

    def open(self, reviewer: str, have: Iterable[str] = ()) -> PageState:
        """Reread everything when a page is opened."""
        own = self._reviewer_session(reviewer)
        own.show(self._showings(own.reviewer))
        self._point(own)
        return self._state(own, have)

    def save_answer(
        self, reviewer: str, key: str, answer: Answer, time: str, have: Iterable[str] = ()
    ) -> PageState:
        """Save an answer durably."""
        own = self._reviewer_session(reviewer)
        entry = own.save_answer(key, answer, time)
        self._count(own.reviewer, entry, 1)
        if self._ranker is not None:
            self._ranker.note_judgment()
            self._point(own)
        return self._state(own, have)

    def undo(self, reviewer: str, time: str, have: Iterable[str] = ()) -> PageState:
        """Take back the reviewer's last answer."""
        own = self._reviewer_session(reviewer)
        vote = own.undo(time)
        if vote is None:
            return self._state(own, have)
        key, entry = vote
        self._count(own.reviewer, entry, -1)
        text = describe_vote(self.pool.labels, entry.judgment, entry.grade) or _OTHER_ANSWERS.get(
            entry.kind, ""
        )
        return self._state(own, have, UndoneVote(key, text, entry.note))

    def close(self) -> None:
        """Wait until pending writes are on disk."""
        for own in list(self._reviewers.values()):
            own.lock.acquire()
        if self._ranker is not None:
            self._ranker.close()

    def _reviewer_session(self, reviewer: str) -> ReviewerSession:
        name = checked_name(reviewer)
        with self._lock:
            if name not in self._reviewers:
                ledger, final = self.review.ledger, self.options.adjudicate
                self._reviewers[name] = ReviewerSession(
                    ledger, name, self._texts, self._showings(name), final
                )
                self._point(self._reviewers[name])
            return self._reviewers[name]

    def _showings(self, reviewer: str) -> list[PassageView]:
        options = self.options
        if not options.adjudicate:
            if reviewer not in self._orders:
                views = self.pool.showings(reviewer, repeats=options.repeats, auto=options.filled)
                self._orders[reviewer] = views
            return self._orders[reviewer]
        self._settled = load_state(self.review).settled
        disputed = {item for item, one in self._settled.items() if _is_disputed(one, reviewer)}
        return [one for one in self.pool.showings(reviewer, auto=True) if one.item.id in disputed]

    def _point(self, own: ReviewerSession) -> None:
        if self._ranker is not None:
            own.reorder(self._ranker.rank)

    def _state(
        self, own: ReviewerSession, have: Iterable[str], undone: UndoneVote | None = None
    ) -> PageState:
        there = set(have)
        coming = own.upcoming(AHEAD)
        cards = tuple(self._card(key, one) for key, one in coming if key not in there)
        advice = self._ranker.advice if self._ranker is not None else ""
        queue = tuple(key for key, _ in coming)
        return PageState(
            reviewer=own.reviewer,
            queue=queue,
            cards=cards,
            progress=own.progress(),
            latest=own.latest,
            advice=advice,
            undone=undone,
        )

    def _card(self, key: str, showing: PassageView) -> Card:
        opinions = self._settled[showing.item.id].opinions if self.options.adjudicate else ()
        return card(
            key, showing.item, self._around, (one for one in opinions if not one.final), self.pool.labels
        )

    def _count(self, reviewer: str, entry: LedgerEntry | None, step: int) -> None:
        if entry is not None and entry.kind in (LedgerKind.JUDGE, LedgerKind.CANNOT, LedgerKind.ADJUDICATE):
            self.judged[reviewer] += step


def checked_name(name: str) -> str:
    """A reviewer's name without surrounding space, or an error if it is not valid."""
    clean = " ".join(name.split())
    if not clean or len(clean) > NAME_LIMIT or not clean.isprintable():
        raise SettingError(f"{name!r} is not a name. Give 1 to {NAME_LIMIT} letters.")
    return clean


def _is_disputed(one: ItemOutcome, reviewer: str) -> bool:
    """Whether reviewers disagree on it, or this one has decided it."""
    mine = any(vote.final and vote.reviewer == reviewer for vote in one.opinions)
    return one.state is OutcomeState.CONFLICT or (one.state is OutcomeState.ADJUDICATED and mine)


def _pieces(pool: ReviewPool, run: Path | None) -> Iterable[tuple[str, int, int, str]]:
    """Every text of the pool, and every stored text of the run if available."""
    yield from ((item.document_id, item.start, item.end, item.text) for item in pool.items)
    if run is not None:
        from bakeoff.runs.analysis import open_run

        for row in open_run(run).passages.to_pylist():
            yield row["document_id"], row["start"], row["end"], row["text"]


EVERY = 10
"""The order is recomputed after this many judgments."""

SWITCH_S = 0.0005


class NextItemRanker:
    """The most informative items so far; `rank` and `advice` are replaced, never mutated."""

    def __init__(self, review: ReviewFolder, pool: ReviewPool) -> None:
        self._open_or_pool, self._pool = review, pool
        self._rankings = pool_rankings(pool)
        self._moves = 0
        self._lock = threading.Lock()
        self._working: threading.Thread | None = None
        self.rank: dict[str, int] = {}
        self.advice = ""
        self._look()
        # a keystroke needs the interpreter about twenty times and would wait each time while the order is computed
        sys.setswitchinterval(SWITCH_S)

    def note_judgment(self) -> None:
        """Count a judgment; every few judgments, recompute the order in the background."""
        with self._lock:
            self._moves += 1
            busy = self._working is not None and self._working.is_alive()
            if self._moves < EVERY or busy:
                return
            self._moves = 0
            self._working = threading.Thread(target=self._look, daemon=True)
            self._working.start()

    def close(self) -> None:
        """Wait for the computation."""
        if self._working is not None:
            self._working.join()

    def _look(self) -> None:
        settled = settled_pool(self._pool, self._open_or_pool.ledger.read().entries)
        relevant = {i: one.relevance > 0 for i, one in settled.items() if one.relevance is not None}
        ruled = {item for item, one in settled.items() if one.state is OutcomeState.RULE}
        pool = self._pool
        outlook, ranked = rank_open_items(
            stakes_of(self._rankings, relevant, pool.k, ruled=ruled), None, seed=pool.seed
        )
        self.rank = {one.item: place for place, one in enumerate(ranked)}
        self.advice = advice(outlook)


def advice(outlook: StoppingAdvice) -> str:
    """Whether to continue, without naming a system, so that reviewers stay blind."""
    if outlook.open == 0:
        return ""
    if outlook.certain:
        return "You may stop: no judgment of the open passages can change the decision."
    if outlook.likely:
        return (
            f"You may stop: the decision is the same in {outlook.probability:.0%} of simulated completions."
        )
    return ""
