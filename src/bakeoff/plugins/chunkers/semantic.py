"""Chunks along a document's own structure: definitions in code, headings in prose."""  # S2-19, S2-20, S2-21

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from bakeoff.corpus import headings
from bakeoff.corpus.document_kinds import CODE, DATA
from bakeoff.corpus.grammars import GRAMMARS, LoadedGrammar, grammar_versions, load
from bakeoff.corpus.grammars.parsing import ParseError
from bakeoff.corpus.segmentation import VERSION
from bakeoff.plugins._settings import Settings
from bakeoff.plugins._titles import title_of
from bakeoff.plugins.chunkers._code import CodeBlock, blocks
from bakeoff.plugins.chunkers._context import CodeContext, Style, section_context, shorten
from bakeoff.plugins.chunkers._pieces import PROSE, SOURCE, Span, split, split_lines, trim
from bakeoff.types import Document, Piece

_log = logging.getLogger(__name__)


class SemanticChunker:
    """Keeps functions, methods, classes and sections whole and prepends each chunk's location."""

    version: ClassVar[str] = f"3 with {grammar_versions()} and {VERSION}"

    class Params(Settings):
        """Parameters of the semantic chunker."""

        context: Style = Field(
            Style.BRACKET,
            description="style of the file, scope or section prepended to a chunk for embedding",
        )
        max_chars: int = Field(
            2500, ge=1, description="most characters in a chunk; longer ones are cut at lines"
        )
        max_lines: int = Field(80, ge=1, description="most lines in a chunk of code")
        merge_below: int = Field(
            800, ge=0, description="small neighbours of one scope are joined up to this many characters"
        )

    def __init__(self, params: Params) -> None:
        self._params = params
        self._signatures = params.context is Style.SIGNATURE
        self._warned_kinds: set[str] = set()

    def chunk(self, document: Document) -> Iterator[Piece]:
        """Yield the document's pieces in order."""
        kind = document.kind
        if kind in CODE or kind in DATA:
            return self._code(document)
        return self._prose(document)

    # --- code ---

    def _code(self, document: Document) -> Iterator[Piece]:
        text = document.text
        about = document.title or title_of(text, document.kind)
        mark = GRAMMARS[document.kind].comment if document.kind in GRAMMARS else "#"
        contexts = CodeContext(self._params.context, document.id, about, mark)
        for block in self._blocks(document):
            context, symbol = contexts.of(block.path, block.own), _symbol(block)
            for start, end in self._cut_code(text, block):
                if span := trim(text, start, end):
                    yield Piece(span[0], span[1], context, "", symbol)

    def _blocks(self, document: Document) -> Sequence[CodeBlock]:
        """The definitions of a document; a single block if it can't be parsed."""
        params = self._params
        if grammar := self._grammar(document.kind):
            try:
                return blocks(document.text, grammar, params.merge_below, params.max_chars, self._signatures)
            except ParseError as exc:
                self._warn_once(document.kind, f"{document.id} does not parse as {document.kind} ({exc})")
        return [CodeBlock(0, len(document.text), (), ())]

    def _grammar(self, kind: str) -> LoadedGrammar | None:
        if kind not in GRAMMARS:
            if kind in CODE:
                self._warn_once(kind, f"no grammar is known for {kind}")
            return None
        try:
            return load(kind)
        except ImportError:
            package = GRAMMARS[kind].package.replace("_", "-")
            self._warn_once(kind, f"the grammar of {kind} is not installed (pip install {package})")
            return None

    def _warn_once(self, kind: str, what: str) -> None:
        """Warn once per kind that it is split at lines, not at definitions."""
        if kind not in self._warned_kinds:
            self._warned_kinds.add(kind)
            _log.warning("semantic: %s; such documents are split at lines, not at definitions", what)

    def _cut_code(self, text: str, block: CodeBlock) -> Iterable[Span]:
        start, end, params = block.start, block.end, self._params
        if end - start <= params.max_chars and text.count("\n", start, end) < params.max_lines:
            return ((start, end),)
        return (
            part
            for lines in split_lines(text, start, end, params.max_lines, SOURCE)
            for part in split(text, *lines, params.max_chars, SOURCE)
        )

    # --- prose ---

    def _prose(self, document: Document) -> Iterator[Piece]:
        text = document.text
        for part in headings.stretches(text, document.kind):
            trail = [replace(heading, title=shorten(heading.title)) for heading in part.trail]
            titles = [heading.title for heading in trail]
            levels = [heading.level if document.kind in headings.MARKED else 0 for heading in trail]
            context = section_context(self._params.context, document.id, titles, levels)
            section = headings.label(document.kind, trail)
            for start, end in split(text, part.start, part.end, self._params.max_chars, PROSE):
                if span := trim(text, start, end):
                    yield Piece(*span, context, section)


def _symbol(block: CodeBlock) -> str:
    """Dotted names of what a block defines, or of the enclosing scope."""
    scope = shorten(".".join([definition.symbol for definition in block.path if definition.symbol]))
    names = [f"{scope}.{own.symbol}" if scope else own.symbol for own in block.own if own.symbol]
    return shorten(", ".join(names) or scope)
