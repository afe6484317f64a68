"""The order of `review next` for a page: computed in the background, so that no keystroke waits for it."""

from __future__ import annotations

import sys
import threading

from bakeoff.review.decision_model import stakes_of
from bakeoff.review.measures import pool_rankings
from bakeoff.review.next import StoppingAdvice, rank_open_items
from bakeoff.review.outcomes import OutcomeState, settled_pool
from bakeoff.review.pool import ReviewPool
from bakeoff.review.review_folder import ReviewFolder

EVERY = 10
"""The order is recomputed after this many judgments."""

SWITCH_S = 0.0005


class NextItemRanker:
    """Which items are most informative, as far as is known; `rank` and `advice` are replaced whole, never changed."""

    def __init__(self, desk: ReviewFolder, pool: ReviewPool) -> None:
        self._desk, self._pool = desk, pool
        self._rankings = pool_rankings(pool)
        self._moves = 0
        self._lock = threading.Lock()
        self._working: threading.Thread | None = None
        self.rank: dict[str, int] = {}
        self.advice = ""
        self._look()
        # a keystroke asks for the interpreter some twenty times; each would wait so long while the order is made
        sys.setswitchinterval(SWITCH_S)

    def moved(self) -> None:
        """A judgment was made; from time to time the order is made anew, in the background."""
        with self._lock:
            self._moves += 1
            busy = self._working is not None and self._working.is_alive()
            if self._moves < EVERY or busy:
                return
            self._moves = 0
            self._working = threading.Thread(target=self._look, daemon=True)
            self._working.start()

    def close(self) -> None:
        """Wait for what is being computed."""
        if self._working is not None:
            self._working.join()

    def _look(self) -> None:
        settled = settled_pool(self._pool, self._desk.ledger.read().entries)
        known = {i: one.relevance > 0 for i, one in settled.items() if one.relevance is not None}
        ruled = {item for item, one in settled.items() if one.state is OutcomeState.RULE}
        pool = self._pool
        outlook, ranked = rank_open_items(
            stakes_of(self._rankings, known, pool.k, ruled=ruled), None, seed=pool.seed
        )
        self.rank = {one.item: place for place, one in enumerate(ranked)}
        self.advice = advice(outlook)


def advice(outlook: StoppingAdvice) -> str:
    """Whether to go on, in words that name no system: who judges stays blind."""
    if outlook.open == 0:
        return ""
    if outlook.certain:
        return "You may stop: no judgment of the open passages can change the decision."
    if outlook.likely:
        return (
            f"You may stop: the decision is the same in {outlook.probability:.0%} of simulated completions."
        )
    return ""
