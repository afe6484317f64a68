"""Strict readers of judgment and run files: TREC, BEIR; every complaint names the file and the line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TypeVar

from bakeoff.errors import DataError

Judgments = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
_Table = TypeVar("_Table", Judgments, Run)


@dataclass(frozen=True, slots=True)
class RunFileRow:
    """Scores by query and item; `ordered` says that items stand in served order, whatever their scores."""

    by_query: Run
    ordered: bool = False


def read_qrels(path: Path) -> Judgments:
    """Judgments from TREC qrels (query iteration item grade) or a BEIR tsv (query-id corpus-id score)."""
    judgments: Judgments = {}
    lines = _lines(path)
    columns = (0, 2, 3)
    for number, text in lines:
        fields = text.split()
        if number == 1 and fields[:1] == ["query-id"]:
            columns = (0, 1, 2)
            continue
        if len(fields) != columns[2] + 1:
            wanted = "query iteration item grade" if columns[2] == 3 else "query-id corpus-id score"
            raise _wrong(path, number, f"{len(fields)} columns, expected {columns[2] + 1}: {wanted}")
        query, item, grade = (fields[at] for at in columns)
        row = judgments.setdefault(query, {})
        if item in row:
            raise _wrong(path, number, f"item {item!r} of query {query!r} is judged twice; keep one judgment")
        row[item] = _grade(path, number, grade)
    return _not_empty(judgments, path)


def read_run(path: Path, *, by_rank: bool) -> RunFileRow:
    """Rankings from a TREC run (query Q0 item rank score tag), by rank or, like trec_eval, by score alone."""
    scores: Run = {}
    ranks: dict[str, dict[str, int]] = {}
    for number, text in _lines(path):
        fields = text.split(maxsplit=6)
        if len(fields) < 6:
            raise _wrong(path, number, f"{len(fields)} columns, expected 6: query Q0 item rank score tag")
        query, _, item, rank, score = fields[:5]
        row = scores.setdefault(query, {})
        if item in row:
            raise _wrong(path, number, f"item {item!r} is in the ranking of query {query!r} twice")
        row[item] = _score(path, number, score)
        if by_rank:
            ranks.setdefault(query, {})[item] = _rank(path, number, rank)
    _not_empty(scores, path)
    if not by_rank:
        return RunFileRow(scores)
    return RunFileRow(
        {query: _by_rank(row, ranks[query], query, path) for query, row in scores.items()}, ordered=True
    )


def _by_rank(scores: dict[str, float], ranks: dict[str, int], query: str, path: Path) -> dict[str, float]:
    order = sorted(scores, key=ranks.__getitem__)
    first = ranks[order[0]]
    for expected, item in enumerate(order, start=first if first in (0, 1) else 1):
        if ranks[item] != expected:
            raise DataError(
                f"{path}: query {query!r} has no rank {expected} but rank {ranks[item]} (item {item!r}); "
                "ranks must run from 1 without gaps or repeats. preset='trec_eval' ignores ranks and sorts by score."
            )
    return {item: scores[item] for item in order}


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, text in enumerate(file, start=1):
                if text.strip():
                    yield number, text
    except FileNotFoundError as exc:
        raise DataError(f"{path} does not exist.") from exc
    except UnicodeDecodeError as exc:
        raise DataError(f"{path} is not UTF-8 text: {exc}. Convert it first.") from exc


def _grade(path: Path, number: int, text: str) -> int:
    try:
        return int(text)
    except ValueError as exc:
        raise _wrong(path, number, f"the grade {text!r} is not a whole number") from exc


def _rank(path: Path, number: int, text: str) -> int:
    try:
        return int(text)
    except ValueError as exc:
        raise _wrong(path, number, f"the rank {text!r} is not a whole number") from exc


def _score(path: Path, number: int, text: str) -> float:
    try:
        score = float(text)
    except ValueError as exc:
        raise _wrong(path, number, f"the score {text!r} is not a number") from exc
    if isnan(score):
        raise _wrong(path, number, "the score is NaN; a result needs a number as its score")
    return score


def _wrong(path: Path, number: int, what: str) -> DataError:
    return DataError(f"{path}, line {number}: {what}.")


def _not_empty(found: _Table, path: Path) -> _Table:
    if not found:
        raise DataError(f"{path} holds no queries.")
    return found
