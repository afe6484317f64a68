"""Query by query: scores, and what each system returned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.corpus.segmentation import word_spans
from bakeoff.pipeline.system_tables import PASSAGES
from bakeoff.runs.analysis import Result
from bakeoff.runs.score_grid import ScoreGrid, mean_scores, read_grid, resampled_means
from bakeoff.runs.table_rows import rows_where
from bakeoff.storage.schemas import RANKINGS

SHORTEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickRow:
    """A system's means, the primary one with its interval, and its costs; None if not measured."""

    system: str
    mean: float | None
    low: float | None
    high: float | None
    n: int
    others: tuple[float | None, ...]
    p50_ms: float | None
    p95_ms: float | None
    index_bytes: int | None
    vector_bytes: int | None


@dataclass(frozen=True, slots=True)
class QueryOverview:
    """The systems of a run, not compared: primary measure, names of the others, rows best first."""

    primary: str
    others: tuple[str, ...]
    rows: tuple[QuickRow, ...]


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """One returned passage in pieces; pieces that are words of the query are marked."""

    rank: int
    document: str
    section: str
    lines: str
    score: float
    pieces: tuple[tuple[str, bool], ...]


def query_overview(result: Result, grid: ScoreGrid | None = None) -> QueryOverview:
    """The table of systems, without the slow comparison."""
    grid = grid or read_grid(result)
    primary = result.record.primary
    others = tuple(name for name in result.record.measures if name != primary)
    means = resampled_means(grid, primary, grid.systems, result.record.seed)
    rest = [mean_scores(grid, name) for name in others]
    stored = {row["system"]: row for row in result.systems.to_pylist()}
    rows = {
        system: QuickRow(
            system=system,
            mean=mean.value,
            low=mean.interval.low,
            high=mean.interval.high,
            n=mean.n,
            others=tuple(found[system] for found in rest),
            p50_ms=result.timing(system, "total", "p50_ms"),
            p95_ms=result.timing(system, "total", "p95_ms"),
            index_bytes=stored[system]["index_bytes"],
            vector_bytes=stored[system]["vector_bytes"],
        )
        for system, mean in means.items()
    }
    return QueryOverview(primary, others, tuple(rows[system] for system in result.ordered))


@dataclass(frozen=True, slots=True)
class ExploredQuery:
    """One query's labels and its score by system; None if not computed."""

    id: str
    text: str
    category: str
    difficulty: str
    negative: bool
    values: tuple[float | None, ...]


def query_scores(
    result: Result, measure: str, systems: Sequence[str], grid: ScoreGrid | None = None
) -> list[ExploredQuery]:
    """Every query with its scores, in the order of the query file."""
    grid = grid or read_grid(result)
    values = grid.values[result.measure(measure)][[grid.systems.index(system) for system in systems]]
    return [
        ExploredQuery(
            query.id,
            query.text,
            query.category,
            query.difficulty,
            query.negative,
            tuple(None if np.isnan(value) else float(value) for value in values[:, number]),
        )
        for number, query in enumerate(grid.queries)
    ]


def returned_passages(
    result: Result, query: str, text: str, systems: Sequence[str], most: int = 10
) -> dict[str, list[ShownPassage]]:
    """What each system returned for a query, with the query's words marked."""
    conditions = [("query_id", "in", [query]), ("system", "in", list(systems)), ("rank", "<=", most)]
    rows = rows_where(result, RANKINGS, conditions).to_pylist()
    chunks = sorted({row["chunk_id"] for row in rows})
    stored = rows_where(result, PASSAGES, [("chunk_id", "in", chunks)]).to_pylist() if chunks else []
    passages = {row["chunk_id"]: row for row in stored}
    words = frozenset(word for word in _words(text.lower()) if len(word) >= SHORTEST or not word.isascii())
    found: dict[str, list[ShownPassage]] = {system: [] for system in systems}
    for row in sorted(rows, key=lambda row: row["rank"]):
        passage = passages.get(row["chunk_id"], {})
        lines = f"{passage['line_start']}–{passage['line_end']}" if passage.get("line_start") else ""
        where = passage.get("symbol") or row["section"] or ""
        pieces = mark_words(passage.get("text") or "", words)
        found[row["system"]].append(
            ShownPassage(row["rank"], row["document_id"], where, lines, row["score"], pieces)
        )
    return found


def mark_words(text: str, words: frozenset[str]) -> tuple[tuple[str, bool], ...]:
    """A text split at the given words; the pieces join to the text."""
    pieces: list[tuple[str, bool]] = []
    at = 0
    for start, end in word_spans(text):
        if text[start:end].lower() in words:
            if start > at:
                pieces.append((text[at:start], False))
            pieces.append((text[start:end], True))
            at = end
    if at < len(text):
        pieces.append((text[at:], False))
    return tuple(pieces)


def _words(text: str) -> list[str]:
    return [text[start:end] for start, end in word_spans(text)]
