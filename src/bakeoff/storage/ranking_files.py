"""Strict readers of judgments and rankings: TREC, BEIR, JSON lines, Parquet; errors name file and line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isnan
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bakeoff.errors import DataError
from bakeoff.types import RetrievedRow

if TYPE_CHECKING:
    import pyarrow as pa

Judgments = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
_Table = TypeVar("_Table", Judgments, Run, "dict[str, list[RetrievedRow]]")


@dataclass(frozen=True, slots=True)
class RunFileRow:
    """Scores by query and item; `ordered` means items are in served order, whatever their scores."""

    by_query: Run
    ordered: bool = False

    def rank_conflicts(self) -> list[str]:
        """Queries where an item has a higher score than the one ranked before it."""
        return [
            query
            for query, scores in self.by_query.items()
            if any(after > before for before, after in pairwise(scores.values()))
        ]


def read_qrels(path: Path) -> Judgments:
    """Read TREC qrels (query iteration item grade) or a BEIR tsv (query-id corpus-id score)."""
    judgments: Judgments = {}
    lines = _lines(path)
    columns = (0, 2, 3)
    for number, text in lines:
        fields = text.split()
        if number == 1 and fields[:1] == ["query-id"]:
            columns = (0, 1, 2)
            continue
        if len(fields) != columns[2] + 1:
            columns_text = "query iteration item grade" if columns[2] == 3 else "query-id corpus-id score"
            raise _wrong(path, number, f"{len(fields)} columns, expected {columns[2] + 1}: {columns_text}")
        query, item, grade = (fields[at] for at in columns)
        row = judgments.setdefault(query, {})
        if item in row:
            raise _wrong(path, number, f"item {item!r} of query {query!r} is judged twice; keep one judgment")
        row[item] = _grade(path, number, grade)
    return _not_empty(judgments, path)


def read_run(path: Path, *, by_rank: bool) -> RunFileRow:
    """Read a TREC run (query Q0 item rank score tag), by rank or, like trec_eval, by score alone."""
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


def _not_empty(table: _Table, path: Path) -> _Table:
    if not table:
        raise DataError(f"{path} holds no queries.")
    return table


# --- rankings with places or texts ------------------------------------------------------------------

Rankings = dict[str, list[RetrievedRow]]
QUERY = ("query", "query_id", "query-id", "qid", "q_id", "topic")
DOCUMENT = ("document", "document_id", "doc_id", "docno", "corpus-id", "item", "doc", "id")
TEXT = ("text", "passage", "content")
SCORE = ("score", "similarity", "sim")
RESULTS = ("results", "hits", "ranking", "documents")
JSON_LINES = (".jsonl", ".ndjson")
TABLES = (".parquet", *JSON_LINES)
"""Suffixes of files that are not TREC runs."""


def read_rankings(path: Path, system: str = "") -> Rankings:
    """Rankings by query from a TREC run, JSON lines or Parquet, best first; `system` selects one of several."""
    if path.suffix not in TABLES:
        rankings = read_run(path, by_rank=True).by_query
        return {
            query: [RetrievedRow(document=item, score=score) for item, score in items.items()]
            for query, items in rankings.items()
        }
    rows = _parquet_rows(path) if path.suffix == ".parquet" else _json_rows(path)
    ranked: dict[str, list[tuple[float, RetrievedRow]]] = {}
    for query, rank, row in _chosen(path, rows, system):
        ranked.setdefault(query, []).append((rank, row))
    return _not_empty(
        {query: [row for _, row in sorted(one, key=lambda pair: pair[0])] for query, one in ranked.items()},
        path,
    )


RankedRow = tuple[str, float, RetrievedRow]
"""A query, a rank and a result."""


def _chosen(path: Path, rows: Iterable[dict[str, object]], system: str) -> Iterator[RankedRow]:
    """Rows of one system; a table of several needs a name."""
    places: Counter[str] = Counter()
    before: dict[str, float] = {}
    systems: set[str] = set()
    for number, row in enumerate(rows, 1):
        own = str(row.get("system") or "")
        systems.add(own)
        if system and own != system:
            continue
        query = _value(row, QUERY)
        if query is None:
            raise _wrong(path, number, f"no query among {', '.join(row)}; name it {QUERY[0]} or {QUERY[1]}")
        places[str(query)] += 1
        result = _result(path, number, row)
        if row.get("rank") is None and result.score is not None:
            if result.score > before.get(str(query), inf):
                what = f"the score {result.score:g} is higher than that of the result before it, and no rank is given"
                raise _wrong(path, number, f"{what}; sort the results of a query, best first, or add `rank`")
            before[str(query)] = result.score
        yield str(query), _rank_of(path, number, row, places[str(query)]), result
    if len(systems) > 1 and not system:
        raise DataError(
            f"{path} has rankings of {len(systems)} systems. Choose one with system: {min(systems)!r}."
        )
    if system and system not in systems:
        raise DataError(f"{path} has no system {system!r}. It has: {', '.join(sorted(systems))}.")


def _rank_of(path: Path, number: int, row: dict[str, object], place: int) -> float:
    rank = row.get("rank")
    if rank is None:
        return float(place)
    return float(_rank(path, number, str(rank)))


def _result(path: Path, number: int, row: dict[str, object]) -> RetrievedRow:
    document, text = _value(row, DOCUMENT), _value(row, TEXT)
    if document is None and text is None:
        raise _wrong(path, number, f"neither a document nor a text among {', '.join(row)}")
    score = _value(row, SCORE)
    return RetrievedRow(
        None if document is None else str(document),
        _offset(path, number, row.get("start")),
        _offset(path, number, row.get("end")),
        None if text is None else str(text),
        None if score is None else _score(path, number, str(score)),
    )


def _offset(path: Path, number: int, value: object) -> int | None:
    if value is None or isinstance(value, int):
        return value
    raise _wrong(path, number, f"the place {value!r} is not a whole number")


def _value(row: dict[str, object], names: tuple[str, ...]) -> object:
    return next((row[name] for name in names if row.get(name) is not None), None)


def _json_rows(path: Path) -> Iterator[dict[str, object]]:
    """Rows of JSON lines: one result per line, or a query with its results."""
    for number, text in _lines(path):
        try:
            one = json.loads(text)
        except (ValueError, RecursionError) as exc:
            raise _wrong(path, number, f"not JSON ({exc})") from exc
        if not isinstance(one, dict):
            raise _wrong(path, number, f"{text[:60]!r} is not an object")
        listed = _value(one, RESULTS)
        if not isinstance(listed, list):
            yield one
            continue
        shared = {name: value for name, value in one.items() if name in (*QUERY, "system")}
        for place, result in enumerate(listed, 1):
            own = result if isinstance(result, dict) else {"document": result}
            yield {"rank": place, **own, **shared}


def _parquet_rows(path: Path) -> Iterator[dict[str, object]]:
    import pyarrow as pa

    from bakeoff.storage.parquet_io import read_parquet

    try:
        table = read_parquet(path)
    except (OSError, pa.ArrowException) as exc:
        raise DataError(f"{path} cannot be read as Parquet: {exc}.") from exc
    for batch in table.to_batches():
        yield from batch.to_pylist()


def read_table_rankings(table: pa.Table) -> dict[str, dict[str, list[str]]]:
    """Documents of each system's rankings by query, each once and best first, from a run's own table."""
    rankings: dict[str, dict[str, dict[str, None]]] = {}
    names = ("system", "query_id", "document_id")
    ordered = table.sort_by([("system", "ascending"), ("query_id", "ascending"), ("rank", "ascending")])
    for system, query, document in zip(*(ordered[name].to_pylist() for name in names), strict=True):
        rankings.setdefault(system, {}).setdefault(query, {})[document] = None
    return {system: {query: list(one) for query, one in each.items()} for system, each in rankings.items()}
