"""The result of an import: queries in our format, and an account of where every field of the source went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.corpus.segmentation import word_spans, words
from bakeoff.errors import DataError
from bakeoff.fingerprint import fingerprint
from bakeoff.types import Json

TruthValue = str | dict[str, object]
"""`negative`, `unjudged`, or a rule as a query file writes it."""
SHOWN = 5
SLUG_WORDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """Import options: a BEIR split, a field of TREC topics, the meaning of grades, the columns of a table."""

    split: str = ""
    keep_unjudged: bool = False
    any_extension: bool = False
    section_labels: bool = False
    topic_field: str = ""
    grades: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Our name of a column → its name in the header."""


@dataclass(frozen=True, slots=True)
class ImportDraft:
    """One query; `where` is its location in the source, for messages."""

    id: str
    text: str
    truth: TruthValue
    where: str
    category: str = ""
    difficulty: str = ""
    intent: str = ""
    notes: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class FieldMove:
    """Where a field of the source went, and how often it occurred."""

    source: str
    target: str
    count: int

    @property
    def kept(self) -> bool:
        """Whether the field has no meaning here and was kept unchanged."""
        return self.target.startswith(("tags.", "metadata.extra"))


@dataclass(frozen=True, slots=True)
class ImportedQueries:
    """An imported file in our format."""

    format: str
    files: tuple[str, ...]
    metadata: Mapping[str, Json]
    queries: tuple[ImportDraft, ...]
    moves: tuple[FieldMove, ...]
    attention: tuple[str, ...]


class ImportLog:
    """Counts where fields go, and collects what a person should check."""

    def __init__(self) -> None:
        self._moves: dict[tuple[str, str], int] = {}
        self._attention: dict[str, list[str]] = {}

    def note_moved(self, source: str, target: str, count: int = 1) -> None:
        """Record that a field went to a place of ours, and how often."""
        self._moves[source, target] = self._moves.get((source, target), 0) + count

    def attend(self, message: str, subject: str = "") -> None:
        """Record what needs a person's attention, once for everything it concerns."""
        about = self._attention.setdefault(message, [])
        if subject and subject not in about[-1:]:
            about.append(subject)

    def collect(
        self,
        format_: str,
        paths: tuple[Path, ...],
        metadata: Mapping[str, object],
        queries: list[ImportDraft],
    ) -> ImportedQueries:
        """Assemble the import; a repeated query id is an error that names both places."""
        if not queries:
            raise DataError(f"{paths[0]} holds no queries. Give a file that has some.")
        _check_ids(queries)
        moves = tuple(FieldMove(*names, count) for names, count in self._moves.items())
        attention = tuple(_message(message, about) for message, about in self._attention.items())
        files = tuple(path.name for path in paths)
        return ImportedQueries(format_, files, metadata, tuple(queries), moves, attention)


def _message(message: str, about: list[str]) -> str:
    if not about:
        return message
    more = f" and {len(about) - SHOWN} more" if len(about) > SHOWN else ""
    return f"{', '.join(about[:SHOWN])}{more}: {message}"


def _check_ids(queries: list[ImportDraft]) -> None:
    first: dict[str, str] = {}
    for query in queries:
        if query.id in first:
            raise DataError(
                f"{query.where}: query id {query.id!r} is also at {first[query.id]}. Give each query its own id."
            )
        first[query.id] = query.where


def made_id(text: str) -> str:
    """A stable id for a query without one: its first words and a hash of its text."""
    low = text.lower()
    tokens = words(low) if low.isascii() else [low[start:end] for start, end in word_spans(low)]
    return "-".join([*tokens[:SLUG_WORDS], fingerprint(text)[:6]])
