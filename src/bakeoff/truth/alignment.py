"""Aligns truth to another reader's text: finds each judged span again by its words.

A span missing in the text stays in the truth, at a position no chunk covers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.truth.resolve import Truth
from bakeoff.truth.words import Span, Words

if TYPE_CHECKING:
    import pyarrow as pa

LOST = 1 << 30
"""Start of spans that a text lacks: beyond every text."""


def align_truth(truth: Truth, reference: pa.Table, documents: pa.Table) -> Truth:
    """Translate truth resolved on the reference to the same documents in another reading."""
    import pyarrow as pa

    table = truth.judgments
    texts = _Texts(reference, documents)
    columns = [table[name].to_pylist() for name in ("doc", "start", "end")]
    found: dict[tuple[int, int, int], Span] = {}
    for row, (doc, start, end) in enumerate(zip(*columns, strict=True)):
        if start is not None and (doc, start, end) not in found:
            found[doc, start, end] = texts.find(doc, start, end) or Span(LOST + row, LOST + row + 1)
    spans = [
        None if start is None else found[doc, start, end] for doc, start, end in zip(*columns, strict=True)
    ]
    for name in ("start", "end"):
        values = pa.array([None if span is None else getattr(span, name) for span in spans], pa.int32())
        table = table.set_column(table.column_names.index(name), name, values)
    return replace(truth, judgments=table, aligned=True)


def lost_spans(judgments: pa.Table) -> np.ndarray:
    """Mask of judgments whose span the text lacks."""
    starts: np.ndarray = judgments["start"].fill_null(0).to_numpy() >= LOST
    return starts


class _Texts:
    """The texts of two readings; each text's words are found once."""

    def __init__(self, reference: pa.Table, documents: pa.Table) -> None:
        self._tables = reference, documents
        self._same = np.array(reference["version"].to_pylist()) == np.array(documents["version"].to_pylist())
        self._words: dict[tuple[int, int], Words] = {}

    def find(self, doc: int, start: int, end: int) -> Span | None:
        """Locate a span of the reference in the other text; None if it is missing."""
        if self._same[doc]:
            return Span(start, end)
        own, other = self._of(0, doc), self._of(1, doc)
        first, past = own.between(start, end)
        if first == past:
            return None
        position = first / max(len(own.words), 1)
        return other.find(own.words[first:past], round(position * len(other.words)))

    def _of(self, side: int, doc: int) -> Words:
        if (side, doc) not in self._words:
            self._words[side, doc] = Words(self._tables[side]["text"][doc].as_py())
        return self._words[side, doc]
