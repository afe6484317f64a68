"""A drafted query, and the choice among many: spread over kinds and documents, the same for the same seed."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bakeoff.fingerprint import fingerprint
from bakeoff.truth.duplicates import find_similar
from bakeoff.truth.query_words import words
from bakeoff.types import Json


@dataclass(frozen=True, slots=True)
class QueryDraft:
    """One query with its truth as a query file writes it; `document` is the one it was made from."""

    text: str
    category: str
    difficulty: str
    truth: Mapping[str, Json]
    document: str
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """A name that stays the same while the draft does."""
        slug = "-".join(word for word in words(self.text)[:4] if word.isascii())
        return f"{slug or 'query'}-{fingerprint(self.text, dict(self.truth))[:6]}"


def choose(drafts: Iterable[QueryDraft], n: int, seed: int) -> list[QueryDraft]:
    """At most n drafts, as evenly over categories as there are drafts, no two alike."""
    pool = sorted(drafts, key=lambda draft: (draft.category, draft.document, draft.text))
    # of two that are nearly alike one can stay; two that are equal have two answers, and neither is asked for
    pairs = find_similar([draft.text for draft in pool])
    left_out = {
        place for pair in pairs for place in ((pair.first, pair.second) if pair.same else (pair.second,))
    }
    by_category: dict[str, list[QueryDraft]] = defaultdict(list)
    for place, draft in enumerate(pool):
        if place not in left_out:
            by_category[draft.category].append(draft)
    queues = [_spread(group, seed) for group in by_category.values()]
    turns = (draft for turn in itertools.zip_longest(*queues) for draft in turn if draft is not None)
    return sorted(itertools.islice(turns, n), key=lambda draft: (draft.category, draft.document, draft.id))


def _spread(drafts: Sequence[QueryDraft], seed: int) -> list[QueryDraft]:
    """In random order, but a second draft of a document only after the first of every other."""
    dice = random.Random(f"{seed} {drafts[0].category}")
    shuffled = dice.sample(list(drafts), len(drafts))
    taken: dict[str, int] = defaultdict(int)
    turns = []
    for place, draft in enumerate(shuffled):
        turns.append((taken[draft.document], place))
        taken[draft.document] += 1
    return [shuffled[place] for _, place in sorted(turns)]
