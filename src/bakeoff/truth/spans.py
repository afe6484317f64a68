"""Character spans from what a query file points at: lines, characters, a quoted passage, a symbol."""

from __future__ import annotations

import difflib
import re

from bakeoff.config.pydantic_messages import shorten
from bakeoff.errors import TruthError
from bakeoff.truth.corpus import TruthCorpus
from bakeoff.truth.rules import CharacterRange, LineRange, PassageRule, Symbol
from bakeoff.truth.symbols import definitions
from bakeoff.truth.treesitter_symbols import Definitions

Span = tuple[int, int, int]
"""(document row, start, end) in characters."""


class SpanFinder:
    """Finds places in a corpus; each source file is parsed once."""

    def __init__(self, corpus: TruthCorpus) -> None:
        self.corpus = corpus
        self._definitions: dict[int, Definitions] = {}

    def find(self, place: LineRange | CharacterRange | PassageRule | Symbol) -> list[Span]:
        """The spans a place means."""
        match place:
            case LineRange():
                return [self._lines(place)]
            case CharacterRange():
                return [self._characters(place)]
            case PassageRule():
                return [self._passage(place)]
            case Symbol():
                return self._symbol(place)

    def _lines(self, place: LineRange) -> Span:
        doc = self.corpus.names.one(place.document)
        starts = self.corpus.line_starts(doc)
        text = self.corpus.text(doc)
        if place.last > len(starts):
            raise TruthError(
                f"lines {place.first} to {place.last} of {self.corpus.id(doc)}, which has {len(starts)}."
                " Correct the lines; they count from 1."
            )
        end = starts[place.last] if place.last < len(starts) else len(text)
        start = starts[place.first - 1]
        return doc, start, start + len(text[start:end].rstrip("\r\n"))

    def _characters(self, place: CharacterRange) -> Span:
        doc = self.corpus.names.one(place.document)
        length = len(self.corpus.text(doc))
        if place.end > length:
            raise TruthError(
                f"characters {place.start} to {place.end} of {self.corpus.id(doc)}, which has {length}."
                " Correct them; they count from 0, and they are characters, not bytes."
            )
        return doc, place.start, place.end

    def _passage(self, place: PassageRule) -> Span:
        docs = [self.corpus.names.one(place.document)] if place.document else range(len(self.corpus))
        found = [(doc, *span) for doc in docs for span in passages(self.corpus.text(doc), place.text)]
        if len(found) == 1:
            return found[0]
        quoted = shorten(place.text)
        where = self.corpus.id(docs[0]) if place.document else "any document"
        if not found:
            raise TruthError(f"passage {quoted} is not in {where}. Copy it from the text as it was read.")
        some = " and ".join(f"{self.corpus.id(d)} line {self.corpus.line_of(d, s)}" for d, s, _ in found[:2])
        raise TruthError(
            f"passage {quoted} stands {len(found)} times: {some}."
            " Quote more of it, or name the document: passage: {document: ..., text: ...}."
        )

    def _symbol(self, place: Symbol) -> list[Span]:
        doc = self.corpus.names.one(place.document)
        if doc not in self._definitions:
            parts = self.corpus.text(doc), self.corpus.kind(doc), self.corpus.id(doc)
            self._definitions[doc] = definitions(*parts)
        known = self._definitions[doc]
        if place.name not in known:
            raise TruthError(self._unknown_symbol(place.name, self.corpus.id(doc), known))
        return [(doc, *span) for span in known[place.name]]

    def _unknown_symbol(self, name: str, document: str, known: Definitions) -> str:
        last = name.rsplit(".", 1)[-1]
        inner = [other for other in known if other.rsplit(".", 1)[-1] == last]
        near = dict.fromkeys([*inner, *difflib.get_close_matches(name, known, n=3, cutoff=0.5)])
        some = ", ".join(list(near)[:3]) or ", ".join(list(known)[:3]) or "none"
        return f'no symbol "{name}" in {document}. Nearest: {some}. Names are dotted: Class.method.'


def passages(text: str, wanted: str) -> list[tuple[int, int]]:
    """Where a passage stands in a text: as written, else with any white space between its words."""
    exact = [match.span() for match in re.finditer(re.escape(wanted), text)]
    words = wanted.split()
    if exact or len(words) < 2:
        return exact
    if not all(word in text for word in words):
        return []
    return [match.span() for match in re.finditer(r"\s+".join(map(re.escape, words)), text)]
