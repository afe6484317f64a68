"""Queries that ask the same: equal words, or nearly the same set of words (F10).

Two sets with a Jaccard index of at least t share one of each one's rarest words, so only an index of these
words, by set size and position, is searched (prefix and position filter).
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bakeoff.corpus.segmentation import word_spans

JACCARD = 0.8
CROWD = 50
"""In a group of this many similar queries, further ones are not compared: the group is found anyway."""


@dataclass(frozen=True, slots=True)
class SimilarQueries:
    """Two queries by index; `same` if all words are equal and in the same order."""

    first: int
    second: int
    jaccard: float
    same: bool


def words(text: str) -> list[str]:
    """Words of a text in order, in any script, without case and punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return [folded[start:end] for start, end in word_spans(folded)]


def find_similar(texts: Sequence[str], threshold: float = JACCARD) -> list[SimilarQueries]:
    """For every text similar to an earlier one, the most similar earlier one."""
    word_lists = [words(text) for text in texts]
    first_of: dict[tuple[str, ...], int] = {}
    similar: list[SimilarQueries] = []
    distinct: list[int] = []
    for place, word_list in enumerate(word_lists):
        first = first_of.setdefault(tuple(word_list), place)
        if first != place and word_list:
            similar.append(SimilarQueries(first, place, 1.0, same=True))
        elif word_list:
            distinct.append(place)
    similar += _near(distinct, [frozenset(word_list) for word_list in word_lists], threshold)
    return sorted(similar, key=lambda pair: (pair.second, pair.first))


@dataclass(slots=True)
class _Index:
    """Indices by (word, size of the set, position of the word in it)."""

    threshold: float
    rank: dict[str, int]
    postings: dict[str, dict[tuple[int, int], list[int]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )

    def prefix(self, bag: frozenset[str]) -> list[str]:
        """The rarest words; any set that is similar enough shares one of them."""
        length = len(bag) - math.ceil(self.threshold * len(bag) - 1e-9) + 1
        return sorted(bag, key=self.rank.__getitem__)[:length]

    def candidates(self, bag: frozenset[str]) -> Iterator[int]:
        """Indices whose sets could be similar enough."""
        size = len(bag)
        for position, word in enumerate(self.prefix(bag)):
            for (other_size, other_position), places in self.postings.get(word, {}).items():
                least_shared = self.threshold / (1 + self.threshold) * (size + other_size) - 1e-9
                if min(size - position, other_size - other_position) >= least_shared:
                    yield from places

    def add(self, place: int, bag: frozenset[str]) -> None:
        """Add a set to the index."""
        for position, word in enumerate(self.prefix(bag)):
            self.postings[word][len(bag), position].append(place)


def _near(places: list[int], bags: list[frozenset[str]], threshold: float) -> Iterator[SimilarQueries]:
    counts = Counter(word for place in places for word in bags[place])
    order = sorted(counts, key=lambda word: (counts[word], word))
    index = _Index(threshold, {word: rank for rank, word in enumerate(order)})
    group = {place: place for place in places}
    sizes = Counter(places)
    for place in places:
        near = [(_jaccard(bags[place], bags[other]), -other) for other in set(index.candidates(bags[place]))]
        best, other = max(near, default=(0.0, 0))
        if best >= threshold - 1e-9:
            yield SimilarQueries(-other, place, best, same=False)
            group[place] = group[-other]
            sizes[group[place]] += 1
        if sizes[group[place]] <= CROWD:
            index.add(place, bags[place])


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)
