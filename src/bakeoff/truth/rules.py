"""Truth rules, independent of their notation: one frozen class per family, and the combinators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

Over = Literal["chunks", "lines", "sections", "documents"]
NameMatch = Literal["auto", "exact", "path_suffix", "substring", "glob"]
WordMatch = Literal["word", "substring"]


@dataclass(frozen=True, slots=True)
class ExpectedCount:
    """An author's expected number of matches, and the tolerated share; a deviation is a warning."""

    documents: int | None = None
    hits: int | None = None
    within: float = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Base of all rules: the grade (0 to 3) and source of its judgments, and its author's expectation."""

    grade: int | None = None
    name: str = ""
    min_documents: int | None = None
    expected: ExpectedCount | None = None

    @property
    def source(self) -> str:
        """The source of its judgments: the author's name for it, else its kind."""
        return self.name or self.kind

    @property
    def kind(self) -> str:
        """The key of the rule in a query file."""
        return type(self).__name__.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents(Rule):
    """Whole documents, by id, path suffix or glob."""

    names: tuple[str, ...]
    match: NameMatch = "auto"


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of a document, from 1, inclusive."""

    document: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class CharacterRange:
    """Characters of a document, from 0, the end excluded."""

    document: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PassageRule:
    """A quoted text that occurs once in its document, or in the corpus if no document is named."""

    text: str
    document: str = ""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named definition in a source file, such as `JSONDecoder.raw_decode`."""

    document: str
    name: str


@dataclass(frozen=True, slots=True)
class ChunkName:
    """The characters of a chunk, by the id it has in a table of chunks."""

    name: str
    document: str = ""


Place: TypeAlias = LineRange | CharacterRange | PassageRule | Symbol | ChunkName
"""A place of a document, in one of the notations of a query file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpansRule(Rule):
    """Character spans, in any notation."""

    places: tuple[Place, ...]
    written: Literal["lines", "characters", "passage", "symbol", "chunks"]

    @property
    def kind(self) -> str:
        """The key of the rule in a query file."""
        return self.written


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsRule(Rule):
    """Texts that contain at least a given number of these words or phrases."""

    of: tuple[str, ...]
    at_least: int
    match: WordMatch = "word"
    case: bool = False
    over: Over = "chunks"
    written: Literal["keywords", "signals"] = "keywords"

    @property
    def kind(self) -> str:
        """The key of the rule in a query file; signals include their number."""
        return f"signals>={self.at_least}" if self.written == "signals" else self.written


@dataclass(frozen=True, slots=True, kw_only=True)
class Sql(Rule):
    """Texts for which a SQL condition is true."""

    where: str
    over: Over = "chunks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections(Rule):
    """Sections by title; `universal` ones, else the conventions', count only for SecAcc, never as judgments."""

    names: tuple[str, ...]
    universal: tuple[str, ...] = ()
    over: Literal["documents", "chunks"] = "documents"


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighboursRule(Rule):
    """The nearest vectors by exact search; known only once vectors exist."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf(Rule):
    """What at least one of its rules matches; each keeps its source unless this one is named."""

    rules: tuple[Rule, ...]

    @property
    def kind(self) -> str:
        """The sources it unites."""
        return f"any-of({','.join(rule.source for rule in self.rules)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf(Rule):
    """What all of its rules match."""

    rules: tuple[Rule, ...]

    @property
    def kind(self) -> str:
        """The sources it intersects."""
        return f"all-of({','.join(rule.source for rule in self.rules)})"


def leaves(rule: Rule, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Rule]]:
    """Every rule of a tree except combinators, with its path."""
    if isinstance(rule, AnyOf | AllOf):
        key = "any" if isinstance(rule, AnyOf) else "all"
        for place, child in enumerate(rule.rules):
            yield from leaves(child, (*path, key, place))
    else:
        yield path, rule


def section_titles(rule: Rule | None, universal: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Target titles of a query's section rules, and what also counts for SecAcc: theirs, else `universal`."""
    parts = [leaf for _, leaf in leaves(rule) if isinstance(leaf, Sections)] if rule else []
    titles = tuple(name for part in parts for name in part.names)
    own = tuple(dict.fromkeys(name for part in parts for name in part.universal))
    return titles, own or universal
