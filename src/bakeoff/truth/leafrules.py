"""Rules that point at places: documents, spans and sections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.errors import TruthError
from bakeoff.truth.corpus import Corpus
from bakeoff.truth.documents import SHOWN
from bakeoff.headings import Section, matches, normalised, sections
from bakeoff.truth.hits import Hits, hits, whole_documents
from bakeoff.truth.overlap import ranges
from bakeoff.truth.rules import Documents, Neighbours, Rule, Sections, Spans
from bakeoff.truth.spans import SpanFinder
from bakeoff.truth.texts import chunk_ranges

if TYPE_CHECKING:
    import pyarrow as pa


class PlaceFinder:
    """Answers rules that point at places of a corpus; headings are looked for once."""

    def __init__(self, corpus: Corpus, chunkings: Mapping[str, pa.Table]) -> None:
        self.corpus = corpus
        self.chunkings = chunkings
        self._spans = SpanFinder(corpus)
        self._sections: list[tuple[int, Section]] | None = None

    def find(self, rule: Rule) -> list[Hits]:
        """What a rule finds, or a TruthError with every part of it that cannot be found."""
        match rule:
            case Documents():
                return [self._documents(rule)]
            case Spans():
                return [self._places(rule)]
            case Sections(over="chunks"):
                return self._labels(rule)
            case Sections():
                return [self._headings(rule)]
            case Neighbours():
                raise TruthError(
                    f"neighbours: {rule.count} are known only from vectors, by exact search while running."
                    " Compare stores with the measure kNN@k, and give this query a truth of its own."
                )
        raise TypeError(f"no such rule: {rule!r}")

    def _documents(self, rule: Documents) -> Hits:
        rows: list[int] = []
        wrong: list[str] = []
        for name in rule.names:
            try:
                rows += self.corpus.names.find(name, rule.match)
            except TruthError as exc:
                wrong.append(str(exc))
        _raise(wrong)
        return hits(rule.source, rule.grade, whole_documents(sorted(set(rows))))

    def _places(self, rule: Spans) -> Hits:
        found: list[tuple[int, int, int]] = []
        wrong: list[str] = []
        for place in rule.places:
            try:
                found += self._spans.find(place)
            except TruthError as exc:
                wrong.append(str(exc))
        _raise(wrong)
        return hits(rule.source, rule.grade, ranges(*zip(*found, strict=True)))

    def _headings(self, rule: Sections) -> Hits:
        if self._sections is None:
            texts = ((doc, self.corpus.text(doc)) for doc in range(len(self.corpus)))
            found = ((doc, sections(text, self.corpus.kinds[doc])) for doc, text in texts)
            self._sections = [(doc, part) for doc, parts in found for part in parts]
        known = [part.title for _, part in self._sections]
        chosen = [self._sections[row] for row in _chosen(rule, known, "heading")]
        places = [(doc, part.start, part.deep_end) for doc, part in chosen]
        return hits(rule.source, rule.grade, ranges(*zip(*places, strict=True)))

    def _labels(self, rule: Sections) -> list[Hits]:
        if not self.chunkings:
            raise TruthError("the rule is over chunks, but there is no chunking. Name a chunker first.")
        return [self._labelled(rule, name, chunks) for name, chunks in self.chunkings.items()]

    def _labelled(self, rule: Sections, chunking: str, chunks: pa.Table) -> Hits:
        labels = chunks["section"].to_pylist()
        rows = np.array(_chosen(rule, labels, "section label of a chunk"))
        return hits(rule.source, rule.grade, chunk_ranges(chunks).take(rows), chunking)


def _chosen(rule: Sections, known: list[str], what: str) -> list[int]:
    """Rows whose title contains a wanted one; a wanted title that is contained in none is an error."""
    titles = list(dict.fromkeys(known))
    good = {title for title in titles if any(matches(title, wanted) for wanted in rule.names)}
    lost = [wanted for wanted in rule.names if not any(matches(title, wanted) for title in good)]
    other = "documents" if rule.over == "chunks" else "chunks"
    _raise([_lost(wanted, titles, what, other) for wanted in lost])
    return [row for row, title in enumerate(known) if title in good]


def _lost(wanted: str, titles: list[str], what: str, other: str) -> str:
    import difflib

    folded = {normalised(title): title for title in titles if title}
    near = difflib.get_close_matches(normalised(wanted), folded, n=SHOWN, cutoff=0.5)
    nearest = f" Nearest: {', '.join(folded[name] for name in near)}." if near else ""
    return f'no {what} contains "{wanted}".{nearest} Fix the title, or say over: {other}.'


def _raise(wrong: list[str]) -> None:
    if wrong:
        raise TruthError("\n".join(wrong))
