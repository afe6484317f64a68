"""Turns a retriever's answers into rankings of passages; each distinct place in the corpus is one chunk.

A row found nowhere in the corpus keeps its rank as a passage outside it, and counts as wrong.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from bakeoff.corpus.headings import label, stretches
from bakeoff.errors import RetrieverError
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.chunk import ChunkedCorpus
from bakeoff.pipeline.placement import KEPT_TEXTS, OUTSIDE, Place, Placement, Placer
from bakeoff.storage.redaction import redact
from bakeoff.storage.schemas import CHUNKS
from bakeoff.truth.overlap import Ranges, ranges
from bakeoff.types import Hits, RetrievedRow

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

EXAMPLES = 3
SHOWN = 60


@dataclass(frozen=True, slots=True)
class AnswerPlaces:
    """How one answer was placed: rows by method, and rows dropped as repeated or beyond k."""

    places: Counter[Place]
    ambiguous: int = 0
    repeated: int = 0
    beyond: int = 0


@dataclass(frozen=True, slots=True)
class _Passage:
    """A distinct place that a retriever returned."""

    doc: int
    start: int
    end: int
    text: str
    name: str = ""


@dataclass(slots=True)
class RetrievedPassages:
    """The distinct passages one retriever returned, numbered in order of appearance, and how each answer was
    placed."""

    name: str
    documents: pa.Table
    placer: Placer
    answers: list[AnswerPlaces] = field(default_factory=list)
    lost: list[RetrievedRow] = field(default_factory=list)
    _rows: dict[tuple[int, int, int], int] = field(default_factory=dict)
    _passages: list[_Passage] = field(default_factory=list)
    _outside: dict[str, int] = field(default_factory=dict)
    _known: dict[RetrievedRow, tuple[int, Placement]] = field(default_factory=dict)
    _chunking: ChunkedCorpus | None = None

    def rank(self, answer: Iterable[RetrievedRow], k: int) -> Hits:
        """Rank an answer's passages in its own order; a repeated passage counts once."""
        import numpy as np

        rows = list(answer)
        scores = answer_scores(rows)
        places: Counter[Place] = Counter()
        ids: dict[int, float] = {}
        ambiguous = repeated = 0
        for row, score in zip(rows[:k], scores, strict=False):
            number, placement = self._number(row)
            places[placement.how] += 1
            ambiguous += placement.several
            repeated += number in ids
            ids.setdefault(number, score)
        self.answers.append(AnswerPlaces(places, ambiguous, repeated, max(0, len(rows) - k)))
        return Hits(np.fromiter(ids, np.int64, len(ids)), np.fromiter(ids.values(), np.float64, len(ids)))

    def add(self, doc: int, span: tuple[int, int] | None) -> int:
        """Number of a passage added for comparison; the whole document if no span is given."""
        start, end = span or (0, len(self.placer.text(doc)))
        return self._keep(_Passage(doc, start, end, self.placer.text(doc)[start:end]))

    def ranges(self, ids: np.ndarray) -> Ranges:
        """Positions of passages."""
        chosen = [self._passages[number] for number in ids.tolist()]
        return ranges(*([getattr(one, name) for one in chosen] for name in ("doc", "start", "end")))

    def outside(self, ids: np.ndarray) -> np.ndarray:
        """Mask of passages in a ranking that are not in the corpus."""
        import numpy as np

        docs = [self._passages[number].doc for number in ids.tolist()]
        return np.array(docs, np.int64) >= self.documents.num_rows

    def chunking(self) -> ChunkedCorpus:
        """The passages so far as chunks; they never cover the whole corpus."""
        if self._chunking is None or self._chunking.chunks.num_rows != len(self._passages):
            table = self._table()
            name = fingerprint("retrieved", self.name, table["id"].to_pylist())
            self._chunking = ChunkedCorpus(
                self.name, table, name, 0.0, 0, 0, whole=False, outside=tuple(self._outside)
            )
        return self._chunking

    def require_placed(self) -> None:
        """Raise if not one row is in the corpus: its ids or texts belong to something else."""
        every = sum(sum(one.places.values()) for one in self.answers)
        lost = sum(one.places[how] for one in self.answers for how in OUTSIDE)
        if every and lost == every:
            examples = ", ".join(repr(one) for one in self.documents["id"][:EXAMPLES].to_pylist())
            some = ", ".join(_shorten(row) for row in self.lost[:EXAMPLES])
            raise RetrieverError(
                f"none of its {every:,} results is in the corpus, for example {some}. Ids in the corpus "
                f"look like {examples}. Map `id` to such ids, or `text` to the passage."
            )

    def _number(self, row: RetrievedRow) -> tuple[int, Placement]:
        """Number of a row's passage; a row seen before is not placed again."""
        key = row._replace(score=None)
        if key not in self._known:
            placement = self.placer.place(row)
            self._known[key] = self._keep(self._passage(row, placement)), placement
        return self._known[key]

    def _keep(self, passage: _Passage) -> int:
        place = passage.doc, passage.start, passage.end
        if place not in self._rows:
            self._rows[place] = len(self._passages)
            self._passages.append(passage)
        return self._rows[place]

    def _passage(self, row: RetrievedRow, placement: Placement) -> _Passage:
        if placement.how not in OUTSIDE:
            start, end = placement.start, placement.end
            return _Passage(placement.doc, start, end, self.placer.text(placement.doc)[start:end])
        row = row._replace(document=_mask_secrets(row.document), text=_mask_secrets(row.text))
        self.lost.append(row)
        text = row.text or ""
        name = row.document if placement.how == "unknown id" else f"unplaced:{fingerprint(text)[:12]}"
        number = self._outside.setdefault(name or "", len(self._outside))
        return _Passage(self.documents.num_rows + number, 0, len(text), text, name or "")

    def _table(self) -> pa.Table:
        ids = self.documents["id"]
        place = _PlaceInDocument(self.documents, self.placer)
        rows = [(_chunk_id(one, ids), *place.of(one)) for one in self._passages]
        return CHUNKS.table_of_rows(rows)


class _PlaceInDocument:
    """Finds the lines and sections of passages."""

    def __init__(self, documents: pa.Table, placer: Placer) -> None:
        self._kinds, self._placer = documents["kind"], placer
        self._lines = lru_cache(maxsize=KEPT_TEXTS)(self._breaks)
        self._sections = lru_cache(maxsize=KEPT_TEXTS)(self._labels)

    def of(self, one: _Passage) -> tuple[int, int, int, int, int, str, str, str, str]:
        """Return the columns of a chunk after its id."""
        if one.name:
            return one.doc, one.start, one.end, 1, 1 + one.text.count("\n"), "", "", "", one.text
        breaks = self._lines(one.doc)
        first = bisect_left(breaks, one.start) + 1
        last = bisect_left(breaks, max(one.end - 1, one.start)) + 1
        starts, labels = self._sections(one.doc)
        section = labels[bisect_right(starts, one.start) - 1] if starts else ""
        return one.doc, one.start, one.end, first, last, section, "", "", one.text

    def _breaks(self, doc: int) -> list[int]:
        return [match.start() for match in re.finditer("\n", self._placer.text(doc))]

    def _labels(self, doc: int) -> tuple[list[int], list[str]]:
        kind = self._kinds[doc].as_py()
        spans = list(stretches(self._placer.text(doc), kind))
        return [one.start for one in spans], [label(kind, one.trail) for one in spans]


def _mask_secrets(text: str | None) -> str | None:
    """Mask secrets in a row outside the corpus before storing it: a server may echo the key it was sent."""
    return text and redact(text)


def _chunk_id(one: _Passage, ids: pa.ChunkedArray) -> str:
    name = one.name or ids[one.doc].as_py()
    return f"{name}#{one.start}-{one.end}.{fingerprint(one.text)[:8]}"


def answer_scores(rows: list[RetrievedRow]) -> list[float]:
    """Return the scores of an answer; descending numbers if it has none."""
    scores = [row.score for row in rows]
    if all(score is None for score in scores):
        return [-float(rank) for rank in range(1, len(rows) + 1)]
    found: list[float] = []
    for rank, score in enumerate(scores, 1):
        if score is None or not math.isfinite(score):
            raise RetrieverError(
                f"the score at rank {rank} is {score!r}, not a number. Map `score` to a number that every result has, "
                "or leave it out: then the order of the answer counts."
            )
        if found and score > found[-1] + 1e-6:
            raise RetrieverError(
                f"the result at rank {rank} scores {score:g}, more than the one before it ({found[-1]:g}). A higher "
                "score must be better; leave `score` out where it is a distance: then the order of the answer counts."
            )
        found.append(float(score))
    return found


def _shorten(row: RetrievedRow) -> str:
    what = repr(row.document) if row.document is not None else repr(row.text or "")
    return what if len(what) <= SHOWN else f"{what[:SHOWN]}…"
