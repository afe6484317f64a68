"""Reads review files of both templates (S4-48, S4-49), checked row by row; they are never changed.

A file is taken whole or not at all: one misspelt judgment, double rank or missing key, and nothing of it counts.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.config import yaml_document
from bakeoff.config.yaml_document import Keys, YamlDocument
from bakeoff.errors import DataError
from bakeoff.measures.labels import Label
from bakeoff.review.choices import BY_WORD, Choice
from bakeoff.types import Json

AUTO = "[AUTO]"
_NAME = re.compile(r"^review_(?P<query>.+?)_(?P<system>.+)\.ya?ml$", re.IGNORECASE)
_EXTENSION = re.compile(r"\.(pdf|txt|md|html?)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetRow:
    """One judged result; `written` is the judgment as written in the file, `line` its line."""

    rank: int
    chunk_id: str
    judgment: Label
    written: str
    notes: str
    line: int
    grade: int | None = None
    document_id: str = ""
    section: str = ""
    score: float | None = None

    @property
    def auto(self) -> bool:
        """Whether a program filled it in and no person changed it."""
        return self.judgment is Label.KEYWORD_MATCH and _is_auto(self.notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One review file: a system's results for a query, each with a reviewer's judgment."""

    path: Path
    query_id: str
    query_text: str
    system: str
    category: str
    reviewer: str
    date: str
    complete: bool
    rows: tuple[SheetRow, ...]
    short: bool = False
    automated: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name

    @property
    def open(self) -> tuple[SheetRow, ...]:
        """The results nobody judged."""
        return tuple(row for row in self.rows if row.judgment is Label.UNJUDGED)

    @property
    def filled_by_rule(self) -> bool:
        """Whether a program filled in every result: such a file counts as reviewed (C-22)."""
        return all(row.auto for row in self.rows)


def read_sheet(path: Path) -> Sheet:
    """Read a review file of either template; the first problem is an error with its line."""
    located = yaml_document.read(path, DataError, name=path.name)
    if not isinstance(located.data, dict):
        raise DataError(f"{path.name}: not a review file. It begins with metadata: or query_id:")
    return _full(path, located) if "metadata" in located.data else _short(path, located)


def review_files(folder: Path) -> list[Path]:
    """The YAML files below a folder, in the order of their names."""
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise DataError(f"{folder} does not exist. Give the folder of the review files.")
    files = sorted({*folder.rglob("*.yaml"), *folder.rglob("*.yml")}, key=lambda path: (path.name, str(path)))
    if not files:
        raise DataError(f"{folder} contains no YAML file. Write review files with: bakeoff review export RUN")
    return files


def choice_of(written: str, where: str) -> Choice | None:
    """The choice, ignoring blanks and case; a misspelling is an error with the nearest word."""
    word = re.sub(r"[\s-]+", "_", written.strip()).upper()
    if not word:
        return None
    if word in BY_WORD:
        return BY_WORD[word]
    names = list(BY_WORD)
    near = [name for name in names if name.startswith(word)] or difflib.get_close_matches(word, names, 1, 0.5)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise DataError(
        f"{where}: judgment {written!r} is none of {', '.join(names)}.{hint} Nothing of this file was imported."
    )


def _full(path: Path, located: YamlDocument) -> Sheet:
    _known_keys(located, (), ("metadata", "query", "results"))
    _known_keys(located, ("metadata",), ("query_id", "model", "review_complete"))
    metadata, query = located.data["metadata"], located.data["query"]
    complete = metadata["review_complete"]
    if not isinstance(complete, bool):
        where = located.where(("metadata", "review_complete"))
        raise DataError(f"{where}: review_complete is {complete!r}. Write true or false.")
    return Sheet(
        path=path,
        query_id=_text(located, ("metadata", "query_id"), required=True),
        query_text=_text(located, ("query", "text")) if isinstance(query, dict) else str(query),
        system=_text(located, ("metadata", "model"), required=True),
        category=_text(located, ("metadata", "category")),
        reviewer=_text(located, ("metadata", "reviewer")),
        date=_text(located, ("metadata", "review_date")),
        complete=complete,
        rows=_rows(located),
        automated=_numbers(located.data.get("automated_metrics")),
    )


def _numbers(data: Json) -> dict[str, float]:
    """The figures another tool left in the file; other values are skipped."""
    pairs = data.items() if isinstance(data, dict) else ()
    return {key: float(value) for key, value in pairs if isinstance(value, int | float)}


def _short(path: Path, located: YamlDocument) -> Sheet:
    """S4-48 has neither a system nor a mark of completion: they come from the file name and the judgments."""
    _known_keys(located, (), ("query_id", "results"))
    rows, named = _rows(located), _NAME.match(path.name)
    query = _text(located, ("query_id",), required=True)
    own = path.name.removeprefix(f"review_{query}_").rsplit(".", 1)[0]
    system = own if path.name.startswith(f"review_{query}_") else named["system"] if named else ""
    return Sheet(
        path=path,
        query_id=query,
        query_text=_text(located, ("query",)),
        system=system,
        category="",
        reviewer=_text(located, ("reviewer",)),
        date=_text(located, ("date",)),
        complete=all(row.judgment is not Label.UNJUDGED for row in rows),
        rows=rows,
        short=True,
    )


def _rows(located: YamlDocument) -> tuple[SheetRow, ...]:
    data = located.data["results"]
    if not isinstance(data, list) or not data:
        raise DataError(
            f"{located.where(('results',))}: results is not a list of judged results. Export it again."
        )
    rows = tuple(_row(located, place) for place in range(len(data)))
    _check_rows(located, rows)
    return rows


def _row(located: YamlDocument, place: int) -> SheetRow:
    at: Keys = ("results", place)
    data = _known_keys(located, at, ("rank", "chunk_id", "judgment"))
    rank = data["rank"]
    if isinstance(rank, bool) or not isinstance(rank, int) or rank < 1:
        raise DataError(f"{located.where((*at, 'rank'))}: rank is {rank!r}. Write the rank, from 1.")
    written = "" if data["judgment"] is None else str(data["judgment"])
    choice = choice_of(written, located.where((*at, "judgment")))
    notes = _text(located, (*at, "notes"))
    score = data.get("score")
    return SheetRow(
        rank=rank,
        chunk_id=_text(located, (*at, "chunk_id"), required=True),
        judgment=Label.UNJUDGED if choice is None else choice.label_for(filled=_is_auto(notes)),
        grade=None if choice is None else choice.grade,
        written=written,
        notes=notes,
        line=located.line((*at, "judgment")),
        document_id=_text(located, (*at, "report_id")),
        section=_text(located, (*at, "section_name")),
        score=float(score) if isinstance(score, int | float) and not isinstance(score, bool) else None,
    )


def _check_rows(located: YamlDocument, rows: Sequence[SheetRow]) -> None:
    ranks: dict[int, int] = {}
    chunks: dict[str, int] = {}
    # some tools' chunk ids contain the document's id (S4-51)
    by_document = 2 * sum(
        bool(row.document_id) and _stem(row.document_id) in row.chunk_id for row in rows
    ) >= len(rows)
    for place, row in enumerate(rows):
        if row.rank in ranks:
            where = located.where(("results", place, "rank"))
            raise DataError(
                f"{where}: rank {row.rank} is also in line {ranks[row.rank]}. Correct one of them."
            )
        if row.chunk_id in chunks:
            where = located.where(("results", place, "chunk_id"))
            raise DataError(
                f"{where}: {row.chunk_id} is also in line {chunks[row.chunk_id]}. Remove one of them."
            )
        if by_document and row.document_id and _stem(row.document_id) not in row.chunk_id:
            where = located.where(("results", place, "chunk_id"))
            raise DataError(
                f"{where}: chunk_id {row.chunk_id!r} is not of report_id {row.document_id!r}. One of them was edited: "
                "export the file again and copy the judgments over."
            )
        ranks[row.rank] = located.line(("results", place, "rank"))
        chunks[row.chunk_id] = located.line(("results", place, "chunk_id"))
    gap = next((rank for rank in range(1, len(rows) + 1) if rank not in ranks), None)
    if gap is not None:
        raise DataError(
            f"{located.where(('results',))}: rank {gap} is missing of {len(rows)} results. Restore it."
        )


def _is_auto(notes: str) -> bool:
    return notes.strip().upper().startswith(AUTO)


def _stem(name: str) -> str:
    return _EXTENSION.sub("", name)


def _known_keys(located: YamlDocument, at: Keys, required: Sequence[str]) -> Mapping[str, Json]:
    """The mapping at a path, which must have these keys; other keys are kept unchecked."""
    data = located.data
    for key in at:
        data = data[key]
    if not isinstance(data, dict):
        raise DataError(
            f"{located.where(at)}: not a mapping of {', '.join(required)}. Export the file again."
        )
    missing = [key for key in required if key not in data]
    if missing:
        place = f" of {'.'.join(map(str, at))}" if at else ""
        raise DataError(
            f"{located.where(at)}: {missing[0]}{place} is missing. The file may be half-written: export it again."
        )
    return data


def _text(located: YamlDocument, at: Keys, *, required: bool = False) -> str:
    data = located.data
    for key in at:
        data = data.get(key) if isinstance(data, dict) else data[key] if isinstance(key, int) else None
    text = "" if data is None else str(data)
    if required and not text.strip():
        raise DataError(f"{located.where(at)}: {at[-1]} is empty. Fill it in as it was exported.")
    return text
