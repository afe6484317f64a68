"""Resolves rules that name places: documents, spans and sections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.corpus.headings import matches, normalise_title
from bakeoff.errors import TruthError
from bakeoff.truth.corpus import TruthCorpus
from bakeoff.truth.documents import SHOWN
from bakeoff.truth.overlap import ranges
from bakeoff.truth.rule_matches import RuleMatches, hits, whole_documents
from bakeoff.truth.rules import Documents, NeighboursRule, Rule, Sections, SpansRule
from bakeoff.truth.spans import SpanFinder
from bakeoff.truth.text_tables import chunk_ranges

if TYPE_CHECKING:
    import pyarrow as pa

HEADING, LABEL = "heading", "section label of a chunk"


class PlaceFinder:
    """Resolves rules that name places in a corpus."""

    def __init__(self, corpus: TruthCorpus, chunkings: Mapping[str, pa.Table]) -> None:
        self.corpus = corpus
        self.chunkings = chunkings
        self._spans = SpanFinder(corpus, chunkings)

    def find(self, rule: Rule) -> list[RuleMatches]:
        """What a rule matches, or a TruthError with every part that can't be found."""
        match rule:
            case Documents():
                return [self._documents(rule)]
            case SpansRule():
                return [self._places(rule)]
            case Sections(over="chunks"):
                return self._labels(rule)
            case Sections():
                return [self._headings(rule)]
            case NeighboursRule():
                raise TruthError(
                    f"neighbours: {rule.count} are known only once vectors exist, during a run. Compare "
                    "stores with the measure kNN@k, and write truth for this query."
                )
        raise TypeError(f"no such rule: {rule!r}")

    def _documents(self, rule: Documents) -> RuleMatches:
        rows: list[int] = []
        wrong: list[str] = []
        for name in rule.names:
            try:
                rows += self.corpus.names.find(name, rule.match)
            except TruthError as exc:
                # an unread file is a separate finding, with its reason
                wrong += [] if self.corpus.names.left_out(name, rule.match) else [str(exc)]
        _raise(wrong)
        return hits(rule.source, rule.grade, whole_documents(sorted(set(rows))))

    def _places(self, rule: SpansRule) -> RuleMatches:
        spans: list[tuple[int, int, int]] = []
        wrong: list[str] = []
        for place in rule.places:
            try:
                spans += self._spans.find(place)
            except TruthError as exc:
                unread = place.document and self.corpus.names.left_out(place.document)
                wrong += [] if unread else [str(exc)]
        _raise(wrong)
        columns = zip(*spans, strict=True) if spans else ([], [], [])
        return hits(rule.source, rule.grade, ranges(*columns))

    def unmatched_titles(self, rule: Sections) -> list[str]:
        """One line for each wanted title that no section has, where another title of the rule was found."""
        import pyarrow.compute as pc

        columns = [chunks["section"] for chunks in self.chunkings.values()]
        columns = columns if rule.over == "chunks" else [self.corpus.sections["section"]]
        titles = list(dict.fromkeys(title for known in columns for title in pc.unique(known).to_pylist()))
        lost = [wanted for wanted in rule.names if not any(matches(title, wanted) for title in titles)]
        what = LABEL if rule.over == "chunks" else HEADING
        return [f"{_unmatched_text(wanted, titles, what)} The other titles count." for wanted in lost]

    def _headings(self, rule: Sections) -> RuleMatches:
        sections = self.corpus.sections
        rows = _chosen(rule, sections["section"], HEADING)
        places = ranges(*(sections[key].to_numpy() for key in ("doc", "start", "deep_end")))
        return hits(rule.source, rule.grade, places.take(rows))

    def _labels(self, rule: Sections) -> list[RuleMatches]:
        if not self.chunkings:
            raise TruthError("the rule is over chunks, but no chunker is set. Add a chunker.")
        return [self._matches_in(rule, name, chunks) for name, chunks in self.chunkings.items()]

    def _matches_in(self, rule: Sections, chunking: str, chunks: pa.Table) -> RuleMatches:
        rows = _chosen(rule, chunks["section"], LABEL)
        return hits(rule.source, rule.grade, chunk_ranges(chunks).take(rows), chunking)


def _chosen(rule: Sections, titles_column: pa.ChunkedArray, what: str) -> np.ndarray:
    """Rows whose title contains one of the wanted alternatives; raises if none is found."""
    import pyarrow as pa
    import pyarrow.compute as pc

    titles = pc.unique(titles_column).to_pylist()
    good = [title for title in titles if any(matches(title, wanted) for wanted in rule.names)]
    if not good:
        other = "documents" if rule.over == "chunks" else "chunks"
        remedy = f"Fix the title, or use over: {other}."
        raise TruthError(lines=[f"{_unmatched_text(wanted, titles, what)} {remedy}" for wanted in rule.names])
    return np.flatnonzero(pc.is_in(titles_column, value_set=pa.array(good, titles_column.type)).to_numpy())


def _unmatched_text(wanted: str, titles: list[str], what: str) -> str:
    import difflib

    folded = {normalise_title(title): title for title in titles if title}
    near = difflib.get_close_matches(normalise_title(wanted), folded, n=SHOWN, cutoff=0.5)
    nearest = f" Nearest: {', '.join(folded[name] for name in near)}." if near else ""
    return f'no {what} contains "{wanted}".{nearest}'


def _raise(wrong: list[str]) -> None:
    if wrong:
        raise TruthError(lines=wrong)
