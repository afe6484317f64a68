"""Reads per-query scores written by other tools: CSV, TSV, JSON, JSON Lines and Parquet, long or wide."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isinf, isnan
from pathlib import Path
from typing import Any

from bakeoff.errors import DataError, MeasureError
from bakeoff.measures.names import Measure, parse
from bakeoff.types import Json

SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
QUERY = ("query_id", "query", "query-id", "qid", "q_id", "topic")
SCORE = ("score", "value")
MEASURE = ("measure", "metric")
SYSTEM = ("system",)
NAMED = 5
"""Number of names listed in an error message."""

Scores = dict[str, float | None]
Row = tuple[str, Mapping[str, object]]
"""Location of a row for messages, and its cells by column."""


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Scores by system, measure and query; None if not computed, and '' for a system without a name."""

    path: Path
    scores: dict[str, dict[str, Scores]] = field(default_factory=dict)

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures of the table, in its order."""
        return tuple(dict.fromkeys(name for found in self.scores.values() for name in found))

    def measure(self, wanted: str | None) -> str:
        """The table's own name of a measure; None for its only one."""
        names = self.measures
        if wanted is None:
            if len(names) == 1:
                return names[0]
            raise MeasureError(
                f"{self.path} has {len(names)} measures: {_list_names(names)}. Choose one of them (--measure)."
            )
        if wanted in names:
            return wanted
        measure = parse_known(wanted)
        for name in names:
            if measure is not None and parse_known(name) == measure:
                return name
        raise MeasureError(f"{self.path} has no measure {wanted!r}. It has: {_list_names(names)}.")


def parse_known(name: str) -> Measure | None:
    """The measure with that name, or None if bakeoff does not know it."""
    try:
        return parse(name)
    except MeasureError:
        return None


def read_score_table(path: Path) -> ScoreTable:
    """Read scores from a file: columns query and score, plus measure and system if there are several."""
    table = ScoreTable(path)
    for place, row in _rows(path):
        _add(table, place, row)
    if not table.scores:
        raise DataError(f"{path} holds no scores.")
    return table


def _add(table: ScoreTable, place: str, row: Mapping[str, Json]) -> None:
    query_column = _column(row, QUERY)
    if query_column is None:
        raise DataError(
            f"{place}: no column names the query. Call it one of {', '.join(QUERY)}; there are: {_list_names(row)}."
        )
    query = _text(row[query_column])
    if not query:
        raise DataError(f"{place}: the query is empty.")
    system_column = _column(row, SYSTEM)
    system = _text(row[system_column]) if system_column else ""
    for measure, value in _values(row, query_column, place):
        scores = table.scores.setdefault(system, {}).setdefault(measure, {})
        if query in scores:
            raise DataError(f"{place}: query {query!r} has a second score of {measure}. Keep one.")
        scores[query] = value


def _values(row: Mapping[str, Json], query_column: str, place: str) -> Iterator[tuple[str, float | None]]:
    """Scores of a row: one with its measure, or one per numeric column."""
    score_column = _column(row, SCORE)
    if score_column is not None:
        measure_column = _column(row, MEASURE)
        measure = _text(row[measure_column]) if measure_column else score_column
        yield measure, _score(row[score_column], f"{place}, column {score_column}")
        return
    for name, cell in row.items():
        if name not in (query_column, *SYSTEM) and _is_numeric(cell):
            yield name, _score(cell, f"{place}, column {name}")


def _score(cell: Any, place: str) -> float | None:
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return None
    try:
        value = float(cell)
    except (TypeError, ValueError) as exc:
        raise DataError(f"{place}: the score {cell!r} is not a number.") from exc
    if isinf(value):
        raise DataError(f"{place}: the score is infinite. Leave it empty if it was not computed.")
    return None if isnan(value) else value


def _is_numeric(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return cell is None or (isinstance(cell, str) and not cell.strip())
    return True


def _column(row: Mapping[str, object], names: Sequence[str]) -> str | None:
    return next((name for name in names if name in row), None)


def _text(cell: object) -> str:
    return "" if cell is None else str(cell).strip()


def _list_names(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join(every[:NAMED]) + (f" and {len(every) - NAMED} more" if len(every) > NAMED else "")


def _rows(path: Path) -> Iterator[Row]:
    if not path.is_file():
        raise DataError(f"{path} does not exist.")
    try:
        if path.suffix == ".parquet":
            yield from _parquet_rows(path)
        elif path.suffix == ".jsonl":
            yield from _json_lines(path)
        elif path.suffix == ".json":
            yield from _json_rows(path)
        else:
            yield from _csv_rows(path)
    except UnicodeDecodeError as exc:
        raise DataError(f"{path} is not UTF-8 text: {exc}. Convert it first.") from exc


def _csv_rows(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline()
        file.seek(0)
        reader = csv.reader(file, delimiter=max(",;\t", key=first.count), strict=True)
        try:
            header = [name.strip() for name in next(reader, [])]
            twice = next((name for name in header if header.count(name) > 1), None)
            if twice is not None:
                raise DataError(f"{path}: the column {twice!r} is there twice.")
            for cells in reader:
                if not cells:
                    continue
                if len(cells) != len(header):
                    raise DataError(
                        f"{path}, line {reader.line_num}: {len(cells)} cells, the header has {len(header)}."
                    )
                yield f"{path}, line {reader.line_num}", dict(zip(header, cells, strict=True))
        except csv.Error as exc:
            raise DataError(f"{path}, line {reader.line_num}: {exc}.") from exc


def _parquet_rows(path: Path) -> Iterator[Row]:
    import pyarrow as pa

    from bakeoff.storage.parquet_io import read_parquet

    try:
        table = read_parquet(path)
    except (OSError, pa.ArrowException) as exc:
        raise DataError(f"{path} cannot be read as Parquet: {exc}.") from exc
    for number, row in enumerate(table.to_pylist(), start=1):
        yield f"{path}, row {number}", row


def _json_lines(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8") as file:
        for number, text in enumerate(file, start=1):
            if text.strip():
                place = f"{path}, line {number}"
                yield place, _object(_loads(text, place), place)


def _json_rows(path: Path) -> Iterator[Row]:
    """Rows of a list of objects, of {query: score} or of {query: {measure: score}}."""
    content = _loads(path.read_text(encoding="utf-8"), str(path))
    if isinstance(content, list):
        for number, item in enumerate(content, start=1):
            yield f"{path}, item {number}", _object(item, f"{path}, item {number}")
        return
    for query, cell in _object(content, str(path)).items():
        place = f"{path}, query {query!r}"
        if isinstance(cell, dict):
            for measure, value in cell.items():
                yield place, {"query_id": query, "measure": measure, "score": value}
        else:
            yield place, {"query_id": query, "score": cell}


def _loads(text: str, place: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _without_repeats(pairs, place))
    except (ValueError, RecursionError) as exc:
        raise DataError(f"{place} is not JSON: {exc}.") from exc


def _without_repeats(pairs: list[tuple[str, object]], place: str) -> dict[str, object]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{place}: the key {twice!r} is there twice. Keep one.")
    return values


def _object(value: object, place: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise DataError(f"{place}: expected an object with query and score, found {type(value).__name__}.")
    return value
