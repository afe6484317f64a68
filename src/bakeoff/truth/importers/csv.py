"""A table of query, document and grade, with or without a header."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.config.pydantic_messages import did_you_mean
from bakeoff.errors import DataError
from bakeoff.truth.importers.draft import ImportDraft, ImportedQueries, ImportLog, ImportOptions, made_id
from bakeoff.truth.importers.fields import difficulty, merge_tags
from bakeoff.truth.importers.grades import regrade
from bakeoff.truth.importers.listing import one_file
from bakeoff.truth.importers.qrels import Judgment, check_judgments, parse_grade
from bakeoff.truth.importers.rules import GradedJudgment, graded_truth
from bakeoff.truth.importers.textfile import read_text

FORMAT = "csv"
COLUMNS = {
    "text": ("query", "query_text", "question", "text"),
    "document": (
        "document",
        "document_id",
        "doc",
        "doc_id",
        "docid",
        "file",
        "path",
        "corpus_id",
        "relevant_document",
    ),
    "grade": ("grade", "relevance", "rel", "score", "label", "judgment", "rating"),
    "id": ("id", "query_id", "qid"),
    "category": ("category",),
    "difficulty": ("difficulty",),
    "intent": ("intent",),
    "cluster": ("cluster",),
    "notes": ("notes", "note"),
}
"""Our name of a column → its possible names in the header."""
_KNOWN = {name: field for field, names in COLUMNS.items() for name in names}
_LABELS = ("category", "difficulty", "intent", "cluster", "notes")
MERGED_SHOWN = 5


@dataclass(frozen=True, slots=True)
class _Row:
    """One row by our column names; `other` holds unknown columns."""

    where: str
    line: int
    known: dict[str, str]
    other: dict[str, str]

    @property
    def query(self) -> str:
        return self.known.get("id") or made_id(self.known["text"])


def import_csv(paths: Sequence[Path], options: ImportOptions) -> ImportedQueries:
    """The queries of a table, one row a judgment."""
    path = one_file(paths, FORMAT)
    ledger = ImportLog()
    rows = _rows(path, options.columns, ledger)
    groups: dict[str, list[_Row]] = {}
    for row in rows:
        groups.setdefault(row.query, []).append(row)
    _attend_merged(groups, len(rows), ledger)
    judged = {name: check_judgments([_judgment(name, row) for row in own if row.known["document"]])
              for name, own in groups.items()}  # fmt: skip
    grades = regrade([one for own in judged.values() for one in own], options.grades, ledger)
    drafts = [
        _draft(name, own, [grades[one] for one in judged[name]], ledger) for name, own in groups.items()
    ]
    return ledger.collect(FORMAT, (path,), {"name": path.stem}, drafts)


def _attend_merged(groups: Mapping[str, Sequence[_Row]], rows: int, ledger: ImportLog) -> None:
    """Report which rows became one query, and why."""
    several = [own for own in groups.values() if len(own) > 1]
    if not several:
        return
    key = "id" if several[0][0].known.get("id") else "text"
    examples = [
        f"{own[0].known[key]!r} (lines {', '.join(str(row.line) for row in own)})"
        for own in several[:MERGED_SHOWN]
    ]
    more = f" and {len(several) - MERGED_SHOWN:,} more" if len(several) > MERGED_SHOWN else ""
    advice = "" if key == "id" else " Give each its own id (--id-column) if they are different queries."
    ledger.attend(
        f"{rows:,} rows became {len(groups):,} queries: rows with the same {key} are judgments of one query: "
        f"{', '.join(examples)}{more}.{advice}"
    )


def _rows(path: Path, chosen: Mapping[str, str], ledger: ImportLog) -> list[_Row]:
    text = read_text(path)
    reader = csv.reader(io.StringIO(text), delimiter=_delimiter(text), strict=True)
    try:
        cells = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as exc:
        raise DataError(f"{path.name}, line {reader.line_num}: {exc}. Correct the quotes.") from exc
    if not cells:
        raise DataError(
            f"{path.name} has no row with anything in it. Give a table of query, document and grade."
        )
    header = [cell.strip() for cell in cells[0][1]]
    fields = _fields_of(header, chosen, path)
    if "text" in fields and "document" in fields:
        _check_header(header, fields, path)
        names = list(zip(header, fields, strict=True))
        cells = cells[1:]
    else:
        names = _by_position(header, fields, chosen, path, ledger)
    rows = [_row(path, line, row, names) for line, row in cells]
    for place, (source, name) in enumerate(names):
        filled = sum(bool(row[place].strip()) for _, row in cells)
        if filled:
            ledger.note_moved(source, _target(source, name), filled)
    return rows


def _fields_of(header: Sequence[str], chosen: Mapping[str, str], path: Path) -> list[str]:
    """Our name of each column ('' if unknown); chosen columns take precedence over known names."""
    fields = [_KNOWN.get(_plain(name), "") for name in header]
    places = {name: _column(header, column, name, path) for name, column in chosen.items() if column}
    fields = ["" if name in places else name for name in fields]
    for name, place in places.items():
        fields[place] = name
    return fields


def _column(header: Sequence[str], column: str, name: str, path: Path) -> int:
    alike = [place for place, own in enumerate(header) if own == column]
    alike = alike or [place for place, own in enumerate(header) if _plain(own) == _plain(column)]
    if not alike:
        near = did_you_mean(column, list(header))
        raise DataError(
            f"{path.name}, line 1: no column {column!r} for --{name}-column.{near} Columns: {', '.join(header)}."
        )
    return alike[0]


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")


def _delimiter(text: str) -> str:
    """Whichever of tab, semicolon and comma occurs most in the first line."""
    first = text.lstrip().split("\n", 1)[0]
    return max("\t;,", key=first.count)


def _check_header(header: list[str], fields: list[str], path: Path) -> None:
    twice = [name for name in set(filter(None, fields)) if fields.count(name) > 1]
    if twice or len(set(header)) < len(header):
        raise DataError(f"{path.name}, line 1: two columns mean the same: {', '.join(header)}. Remove one.")


def _by_position(
    first: list[str], fields: list[str], chosen: Mapping[str, str], path: Path, ledger: ImportLog
) -> list[tuple[str, str]]:
    """Columns of a table without a header; a third one that is not a number is an unknown header."""
    number = len(first) == 2 or (len(first) == 3 and first[2].strip().lstrip("-").isdigit())
    if not number or any(chosen.values()):
        columns = "; ".join(f"{name}: {', '.join(names)}" for name, names in COLUMNS.items())
        missing = " and ".join(f"--{name}-column" for name in ("text", "document") if name not in fields)
        raise DataError(
            f"{path.name}, line 1: no header with a query and a document. Columns: {', '.join(first)}. Name yours "
            f"with {missing}, or use names that are known: {columns}."
        )
    ledger.attend("no header was found; the columns were taken as query, document and grade in this order.")
    return [("column 1", "text"), ("column 2", "document"), ("column 3", "grade")][: len(first)]


def _target(source: str, name: str) -> str:
    targets = {"": f"tags.{source}", "document": "truth.documents", "grade": "truth.grade"}
    return targets.get(name, name)


def _row(path: Path, line: int, row: list[str], names: list[tuple[str, str]]) -> _Row:
    where = f"{path.name}, line {line}"
    if len(row) != len(names):
        raise DataError(
            f"{where}: {len(row)} columns, not {len(names)}. Quote cells that hold the separator."
        )
    fields = {field: cell.strip() for (_, field), cell in zip(names, row, strict=True) if field}
    other = {
        source: cell for (source, field), cell in zip(names, row, strict=True) if not field and cell.strip()
    }
    if not fields["text"]:
        raise DataError(f"{where}: the query is blank. Repeat it in every row.")
    return _Row(where, line, fields, other)


def _draft(name: str, rows: list[_Row], judged: list[GradedJudgment], ledger: ImportLog) -> ImportDraft:
    """A query from its rows; a document may be a pattern."""
    truth, grades = graded_truth(judged, name, ledger, exact=False)
    labels = {label: _only(label, rows) for label in ("text", *_LABELS)}
    level, as_written = difficulty(labels.pop("difficulty"), ledger, name)
    tags = merge_tags(as_written, _others(rows), grades)
    return ImportDraft(name, truth=truth, where=rows[0].where, difficulty=level, tags=tags, **labels)


def _judgment(name: str, row: _Row) -> Judgment:
    grade = parse_grade(row.known["grade"], row.where) if "grade" in row.known else 1
    return Judgment(name, row.known["document"], grade, "0", row.where)


def _only(label: str, rows: list[_Row]) -> str:
    """The single value of a label in all rows of a query; blanks repeat the row above."""
    values = {row.known[label]: row.where for row in rows if row.known.get(label)}
    if len(values) > 1:
        other, where = list(values.items())[1]
        raise DataError(f"{where}: the same query has another {label}: {other!r}. Make them equal.")
    return next(iter(values), "")


def _others(rows: list[_Row]) -> dict[str, str]:
    """Unknown columns: one value if all rows agree, else JSON, document → value."""
    tags = {}
    for name in dict.fromkeys(name for row in rows for name in row.other):
        values = {row.known["document"]: row.other[name] for row in rows if name in row.other}
        same = len(set(values.values())) == 1 and all(name in row.other for row in rows)
        tags[name] = next(iter(values.values())) if same else json.dumps(values, ensure_ascii=False)
    return tags
