"""Finds character spans for what a query file names: lines, characters, a quoted passage, a symbol, a chunk id."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from bakeoff.config.pydantic_messages import shorten
from bakeoff.errors import TruthError
from bakeoff.truth.corpus import TruthCorpus
from bakeoff.truth.rules import CharacterRange, ChunkName, LineRange, PassageRule, Symbol
from bakeoff.truth.symbols import definitions
from bakeoff.truth.treesitter_symbols import Definitions
from bakeoff.truth.words import Words

if TYPE_CHECKING:
    import pyarrow as pa

MOST_NAMES = 20_000
"""Number of chunk ids to compare when suggesting a similar one."""
Span = tuple[int, int, int]
"""(document row, start, end) in characters."""


class SpanFinder:
    """Finds spans in a corpus; each source file is parsed once."""

    def __init__(self, corpus: TruthCorpus, chunkings: Mapping[str, pa.Table]) -> None:
        self.corpus = corpus
        self._chunkings = chunkings
        self._definitions: dict[int, Definitions] = {}

    def find(self, place: LineRange | CharacterRange | PassageRule | Symbol | ChunkName) -> list[Span]:
        """The spans of a place."""
        match place:
            case LineRange():
                return [self._lines(place)]
            case CharacterRange():
                return [self._characters(place)]
            case PassageRule():
                return [self._passage(place)]
            case Symbol():
                return self._symbol(place)
            case ChunkName():
                return [self._chunk(place)]

    def _chunk(self, place: ChunkName) -> Span:
        """Span of a chunk; it applies to every chunker, not only the one with that id."""
        for name, rows in self._chunk_rows.items():
            if place.name in rows:
                row = self._chunkings[name].slice(rows[place.name], 1).to_pylist()[0]
                return row["doc"], row["start"], row["end"]
        names = [one for rows in self._chunk_rows.values() for one in rows]
        near = difflib.get_close_matches(place.name, names[:MOST_NAMES], n=2)
        nearest = f" Nearest: {', '.join(near)}." if near else ""
        raise TruthError(
            f'no chunk has the id "{place.name}".{nearest} Ids come from the table under `chunks` in the experiment.'
        )

    @cached_property
    def _chunk_rows(self) -> dict[str, dict[str, int]]:
        """Row of each chunk id, by chunking."""
        return {
            name: {one: row for row, one in enumerate(chunks["id"].to_pylist())}
            for name, chunks in self._chunkings.items()
        }

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
        spans = [(doc, *span) for doc in docs for span in passages(self.corpus.text(doc), place.text)]
        if not spans and place.document and self.corpus.kind(docs[0]) == "pdf":
            spans = [(docs[0], *span) for span in same_letters(self.corpus.text(docs[0]), place.text)]
        if len(spans) == 1:
            return spans[0]
        quoted = shorten(place.text)
        where = self.corpus.id(docs[0]) if place.document else "any document"
        if not spans:
            raise TruthError(f"passage {quoted} is not in {where}. Copy it from the text as it was read.")
        some = " and ".join(f"{self.corpus.id(d)} line {self.corpus.line_of(d, s)}" for d, s, _ in spans[:2])
        raise TruthError(
            f"passage {quoted} occurs {len(spans)} times: {some}."
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

    def _unknown_symbol(self, name: str, document: str, definitions: Definitions) -> str:
        last = name.rsplit(".", 1)[-1]
        inner = [other for other in definitions if other.rsplit(".", 1)[-1] == last]
        near = dict.fromkeys([*inner, *difflib.get_close_matches(name, definitions, n=3, cutoff=0.5)])
        some = ", ".join(list(near)[:3]) or ", ".join(list(definitions)[:3]) or "none"
        return f'no symbol "{name}" in {document}. Nearest: {some}. Names are dotted: Class.method.'


def passages(text: str, passage: str) -> list[tuple[int, int]]:
    """Positions of a passage in a text: as written, else with any white space between its words."""
    exact = [match.span() for match in re.finditer(re.escape(passage), text)]
    words = passage.split()
    if exact or len(words) < 2:
        return exact
    if not all(word in text for word in words):
        return []
    return [match.span() for match in re.finditer(r"\s+".join(map(re.escape, words)), text)]


def same_letters(text: str, passage: str) -> list[tuple[int, int]]:
    """Positions of a passage's letters, ignoring whitespace: PDF readers may split and join words."""
    return [(span.start, span.end) for span in Words(text).places(Words(passage).words)]
