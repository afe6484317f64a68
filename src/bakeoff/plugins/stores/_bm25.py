"""Postings as arrays: for each word the rows that hold it and how often, what it adds to a score, the best rows."""

from __future__ import annotations

from collections import Counter

import numpy as np

from bakeoff.types import Hits

Arrays = dict[str, np.ndarray]
"""`ids` and `lengths` of the rows; from `starts` of a word on, the `rows` that hold it and their `counts`."""


def invert(places: dict[str, int], texts: list[tuple[int, Counter[str]]]) -> Arrays:
    """Rows of an id and its words, turned into rows of each word, whose place is given."""
    pairs = [(places[w], row, n) for row, (_, c) in enumerate(texts) for w, n in c.items()]
    words, rows, counts = np.array(pairs, np.int64).reshape(-1, 3).T
    order = np.lexsort((rows, words))
    return {
        "ids": np.array([number for number, _ in texts], np.int64),
        "lengths": np.array([found.total() for _, found in texts], np.float64),
        "starts": np.searchsorted(words[order], np.arange(len(places) + 1)),
        "rows": rows[order].astype(np.int32),
        "counts": counts[order].astype(np.float32),
    }


def gain(arrays: Arrays, place: int, k1: float, b: float) -> tuple[np.ndarray, np.ndarray]:
    """The rows that hold a word, and what it adds to each one's score.

    ln(1 + (N − n + ½) / (n + ½)) · tf (k1 + 1) / (tf + k1 (1 − b + b · length / mean)).
    """
    lengths, starts = arrays["lengths"], arrays["starts"]
    part = slice(starts[place], starts[place + 1])
    rows, counts = arrays["rows"][part], arrays["counts"][part].astype(np.float64)
    rarity = np.log1p((len(lengths) - len(rows) + 0.5) / (len(rows) + 0.5))
    long = 1 - b + b * lengths[rows] / lengths.mean()
    return rows, rarity * counts * (k1 + 1) / (counts + k1 * long)


def best(ids: np.ndarray, scores: np.ndarray, k: int) -> Hits:
    """The k best rows that hold a word; equal scores in the order of their ids."""
    found = np.flatnonzero(scores)
    if len(found) > k:
        edge = np.partition(scores[found], len(found) - k)[len(found) - k]
        found = found[scores[found] >= edge]
    order = found[np.lexsort((ids[found], -scores[found]))][:k]
    return Hits(ids[order], scores[order])
