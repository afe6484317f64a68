"""What rules match: documents and character spans with grades, and how `all` combines them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bakeoff.truth.overlap import WHOLE, Ranges, changes, concatenate_ranges, overlap_pairs, ranges

CHUNK_SHARE = 0.5
"""Under `all`, a chunk and a span match if they share this much of the shorter one."""


@dataclass(frozen=True, slots=True)
class RuleMatches:
    """Ranges of one source with their grades.

    `chunking` is the fingerprint of the chunking they belong to, or '' if unbound.
    """

    source: str
    chunking: str
    at: Ranges
    grade: np.ndarray

    def __len__(self) -> int:
        return len(self.grade)

    def take(self, rows: np.ndarray) -> RuleMatches:
        """Some of the hits."""
        return replace(self, at=self.at.take(rows), grade=self.grade[rows])

    def rename(self, source: str, grade: int | None) -> RuleMatches:
        """The same matches under another source, and one grade if given."""
        grades = self.grade if grade is None else np.full_like(self.grade, grade)
        return replace(self, source=source, grade=grades)


def hits(source: str, grade: int | None, at: Ranges, chunking: str = "") -> RuleMatches:
    """Matches that all have one grade, 1 by default."""
    return RuleMatches(source, chunking, at, np.full(len(at), 1 if grade is None else grade, dtype=np.int8))


def whole_documents(docs: Sequence[int]) -> Ranges:
    """Ranges that are whole documents."""
    nothing = np.full(len(docs), WHOLE)
    return ranges(docs, nothing, nothing)


def unique(matches: RuleMatches) -> RuleMatches:
    """Each range once, with its highest grade, ordered by document and start."""
    order = np.lexsort((-matches.grade, matches.at.end, matches.at.start, matches.at.doc))
    ordered = matches.take(order)
    return ordered.take(np.flatnonzero(changes(ordered.at.doc, ordered.at.start, ordered.at.end)))


def join_matches(parts: Iterable[RuleMatches], source: str, chunking: str) -> RuleMatches:
    """Merge matches into one source, each range once."""
    parts = list(parts)
    grade = np.concatenate([np.zeros(0, dtype=np.int8), *(part.grade for part in parts)])
    return unique(RuleMatches(source, chunking, concatenate_ranges(part.at for part in parts), grade))


def intersection(children: Sequence[Sequence[RuleMatches]], source: str) -> list[RuleMatches]:
    """What all children match: unbound spans, and chunks if a child is bound to a chunking."""
    bound = sorted({part.chunking for child in children for part in child if part.chunking})
    free = _of(children[0], source, "")
    tied = {chunking: _of(children[0], source, chunking) for chunking in bound}
    for child in children[1:]:
        next_free = _of(child, source, "")
        for chunking in bound:
            next_tied = _of(child, source, chunking)
            pairs = (free, next_tied), (tied[chunking], next_free), (tied[chunking], next_tied)
            tied[chunking] = join_matches((_common(*pair) for pair in pairs), source, chunking)
        free = join_matches([_common(free, next_free)], source, "")
    return [free, *tied.values()] if len(free) or not tied else list(tied.values())


def _of(child: Sequence[RuleMatches], source: str, chunking: str) -> RuleMatches:
    return join_matches((part for part in child if part.chunking == chunking), source, chunking)


def _common(left: RuleMatches, right: RuleMatches) -> RuleMatches:
    """Intersection of two sets: of two spans their overlap, of a chunk and a span the chunk."""
    tied = bool(left.chunking or right.chunking)
    pairs = overlap_pairs(left.at, right.at, CHUNK_SHARE if tied else 0.0)
    one, other = left.take(pairs.left), right.take(pairs.right)
    grade = np.minimum(one.grade, other.grade)
    if left.chunking and right.chunking:
        same = (one.at.start == other.at.start) & (one.at.end == other.at.end)
        return replace(one, grade=grade).take(np.flatnonzero(same))
    if tied:
        return replace(one if left.chunking else other, grade=grade)
    start, end = np.maximum(one.at.start, other.at.start), np.minimum(one.at.end, other.at.end)
    end = np.where(one.at.whole, other.at.end, np.where(other.at.whole, one.at.end, end))
    return RuleMatches(left.source, "", Ranges(one.at.doc, start, end), grade)
