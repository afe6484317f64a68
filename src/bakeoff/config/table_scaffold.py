"""`bakeoff init` for a table: proposes the columns of id, text and fields, and those of a table of questions."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.corpus.dates import date_seconds
from bakeoff.errors import CorpusError, DataError

if TYPE_CHECKING:
    from bakeoff.corpus.tables import TableFile

SAMPLE_ROWS = 1_000
MOST_IDS = 1_000_000
"""Number of document ids to compare with a column of questions."""
LONG_TEXT = 40
"""Mean number of characters from which a column counts as text."""
MOST_VALUES = 50
"""Most distinct values of a column to filter by."""
DRAFTS = 5
TITLES = ("title", "subject", "summary", "headline", "name")
TEXTS = (
    *TITLES,
    "body",
    "text",
    "content",
    "description",
    "message",
    "question",
    "answer",
    "abstract",
    "comment",
)
QUESTIONS = ("question", "query", "query_text", "text", "q")


@dataclass(frozen=True)
class Column:
    """A column of a table, with its first values as texts."""

    name: str
    values: tuple[str | None, ...]

    @cached_property
    def filled(self) -> list[str]:
        """The non-empty values."""
        return [value for value in self.values if value and value.strip()]

    @cached_property
    def unique(self) -> bool:
        """Whether every row has a different value."""
        return len(self.filled) == len(self.values) == len(set(self.filled))

    @property
    def length(self) -> float:
        """The mean number of characters."""
        return sum(map(len, self.filled)) / max(1, len(self.filled))

    @cached_property
    def dated(self) -> bool:
        """Whether the values are dates."""
        return bool(self.filled) and all(map(_is_date, self.filled))

    @cached_property
    def numeric(self) -> bool:
        """Whether the values are numbers."""
        return bool(self.filled) and all(map(_is_number, self.filled))

    def has_name(self, *names: str) -> bool:
        """Whether the column's name is, or ends in, one of these."""
        words = self.name.lower().replace("-", "_").replace(" ", "_").split("_")
        return words[-1] in names


@dataclass(frozen=True, kw_only=True)
class TableSummary:
    """The proposed columns for a table of documents."""

    place: Path
    rows: int | None
    id: str
    text: tuple[str, ...]
    fields: tuple[str, ...]
    dates: tuple[str, ...]
    left_out: tuple[str, ...]
    titles: tuple[tuple[str, str], ...]

    @property
    def chunkers(self) -> tuple[tuple[str, str], ...]:
        """The chunkers to compare, each with a description."""
        return ("whole", "one chunk per row"), ("sentences", "whole sentences up to a size")

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return self.place.stem

    @property
    def size(self) -> str:
        """Size of the corpus, for the first line of the experiment."""
        return f"{self.rows:,} rows" if self.rows is not None else f"{SAMPLE_ROWS:,} rows or more"

    def corpus_text(self, into: Path) -> str:
        """The corpus of the experiment, as YAML."""
        table = json.dumps(os.path.relpath(self.place.resolve(), into.resolve()), ensure_ascii=False)
        lines = [f"table: {table}", f"id: {_quote(self.id)}", f"text: {_yaml_list(self.text)}"]
        lines += [f"fields: {_yaml_list(self.fields)}    # for filters of questions"] if self.fields else []
        lines += [f"# not used: {', '.join(self.left_out)}"] if self.left_out else []
        return "\n  ".join(lines)


@dataclass(frozen=True, slots=True)
class QuestionColumns:
    """Columns of a table of questions: the question and the answering document; '' if not found."""

    text: str
    document: str
    known: float
    """Share of rows whose document is in the corpus."""


def inspect_table(place: Path) -> TableSummary:
    """Inspect the first rows of a table and propose its columns."""
    table, columns = _columns(place)
    own = _id_column(columns, place)
    text = _text_columns(columns, own)
    fields = [column for column in columns if column.name not in (own, *text) and _is_field(column)]
    used = {own, *text, *(column.name for column in fields)}
    count = len(columns[0].values)
    return TableSummary(
        place=place,
        rows=count if count < SAMPLE_ROWS else table.rows,
        id=own,
        text=tuple(text),
        fields=tuple(column.name for column in fields),
        dates=tuple(column.name for column in fields if column.dated),
        left_out=tuple(column.name for column in columns if column.name not in used),
        titles=tuple(_titles(columns, own, text)),
    )


def inspect_questions(place: Path, documents: TableSummary) -> QuestionColumns:
    """The columns of a table of questions; the document column is found by its values."""
    _, columns = _columns(place)
    ids = _ids(documents)
    shares = {column.name: _share(column, ids) for column in columns}
    document = max(shares, key=lambda name: shares[name])
    texts = [
        column for column in columns if not column.numeric and not column.dated and column.name != document
    ]
    if not shares[document]:
        raise DataError(
            f"no column of {place.name} has values of {documents.id} in {documents.place.name}. Columns: "
            f"{', '.join(column.name for column in columns)}. One must contain the answering document."
        )
    if not texts:
        raise DataError(f"{place.name} has no column of questions. Columns: {', '.join(shares)}.")
    named = [column for column in texts if column.has_name(*QUESTIONS)]
    text = max(named or texts, key=lambda column: column.length)
    return QuestionColumns(text.name, document, shares[document])


def _columns(place: Path) -> tuple[TableFile, list[Column]]:
    from bakeoff.corpus.tables import open_table
    from bakeoff.corpus.tables.cells import as_text

    table = open_table(place)
    first = next(table.batches(table.columns), None)
    if first is None or not first.num_rows:
        raise CorpusError(f"{place} has no row. Give a table with documents.")
    sample = first.slice(0, SAMPLE_ROWS)
    found = []
    for name in table.columns:
        try:
            values = as_text(sample.column(name), name).to_pylist()
        except DataError:  # a vector, or another value that is not text
            continue
        found.append(Column(name, tuple(values)))
    return table, found


def _ids(documents: TableSummary) -> set[str]:
    from bakeoff.corpus.tables import open_table
    from bakeoff.corpus.tables.cells import as_text

    found: set[str] = set()
    for batch in open_table(documents.place).batches([documents.id]):
        found.update(filter(None, as_text(batch.column(0), documents.id).to_pylist()))
        if len(found) > MOST_IDS:
            break
    return found


def _id_column(columns: Sequence[Column], place: Path) -> str:
    """The unique column that is named like an id, else the first short unique one."""
    unique = [column for column in columns if column.unique and not column.dated]
    named = [column for column in unique if column.has_name("id", "key", "number", "uuid", "docno", "nr")]
    short = [column for column in unique if column.length < LONG_TEXT]
    for column in (*named, *short, *unique):
        return column.name
    raise CorpusError(
        f"no column of {place.name} has a different value in every row, so none can be the id. Columns: "
        f"{', '.join(column.name for column in columns)}. Add a column with a number per row."
    )


def _text_columns(columns: Sequence[Column], own: str) -> list[str]:
    """Titles first, then columns of long texts; if there are none, the longest."""
    free = [c for c in columns if c.name != own and c.filled and not c.dated and not c.numeric]
    chosen = [c for c in free if c.has_name(*TEXTS) or c.length >= LONG_TEXT]
    if not chosen and free:
        chosen = [max(free, key=lambda column: column.length)]
    if not chosen:
        raise CorpusError(f"no column besides {own} holds text. Name the columns in `corpus: text`.")
    return [c.name for c in sorted(chosen, key=lambda column: not column.has_name(*TITLES))]


def _is_field(column: Column) -> bool:
    few = len(set(column.filled)) <= min(MOST_VALUES, max(2, len(column.values) // 2))
    return bool(column.filled) and (column.dated or column.numeric or few)


def _titles(columns: Sequence[Column], own: str, text: Sequence[str]) -> list[tuple[str, str]]:
    """Ids and first lines of texts, for drafting questions."""
    by_name = {column.name: column.values for column in columns}
    rows = zip(by_name[own], by_name[text[0]], strict=True)
    found = {" ".join(title.split()[:20]): str(name) for name, title in rows if title and title.strip()}
    return [(name, title) for title, name in list(found.items())[:DRAFTS]]


def _share(column: Column, ids: Collection[str]) -> float:
    return sum(value in ids for value in column.filled) / max(1, len(column.values))


def _is_date(text: str) -> bool:
    try:
        date_seconds(text)
    except ValueError:
        return False
    return len(text) >= len("2026-05-01")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _quote(name: str) -> str:
    return (
        name
        if name.replace("_", "").isalnum() and name.isascii() and not name.isdigit()
        else json.dumps(name)
    )


def _yaml_list(names: Sequence[str]) -> str:
    return f"[{', '.join(map(_quote, names))}]"
