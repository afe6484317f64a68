"""Report rows → what Streamlit shows: tables and passages."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

import pandas as pd

from bakeoff.report.sections.explorer import ExploredQuery, QueryOverview, ShownPassage
from bakeoff.report.sections.parts import TextTable
from bakeoff.review.ledger import LedgerEntry
from bakeoff.stats.number_format import letter

STYLE = "white-space:pre-wrap;overflow-wrap:anywhere;font-size:.8rem;max-height:16rem;overflow:auto;margin:.2rem 0 1rem"


def systems(table: QueryOverview, recommended: str | None = None) -> pd.DataFrame:
    """One row per system, best first; the recommended one is marked."""
    rows = []
    for place, row in enumerate(table.rows, start=1):
        size = None if row.index_bytes is None else row.index_bytes / 1e6
        name = f"{row.system} (recommended)" if row.system == recommended else row.system
        named: dict[str, object] = {"": letter(place), "system": name, table.primary: row.mean}
        named |= {"low": row.low, "high": row.high, "questions": row.n}
        named |= dict(zip(table.others, row.others, strict=True))
        named |= {"p50 ms": row.p50_ms, "p95 ms": row.p95_ms, "index MB": size}
        rows.append(named | {"bytes per vector": row.vector_bytes})
    return pd.DataFrame(rows)


def score_format(frame: pd.DataFrame, column: str) -> str:
    """How scores of a column are printed: .880 has three places, 2,368 tokens none."""
    return "%.3f" if pd.to_numeric(frame[column]).abs().max() < 10 else "%.0f"


def queries(rows: Sequence[ExploredQuery], names: Sequence[str]) -> pd.DataFrame:
    """One row per query with its scores."""
    frame = [
        {"question": row.id, "text": row.text, "category": row.category, "difficulty": row.difficulty}
        | dict(zip(names, row.values, strict=True))
        for row in rows
    ]
    return pd.DataFrame(frame, columns=["question", "text", "category", "difficulty", *names])


def grid(table: TextTable) -> pd.DataFrame:
    """A table of the report."""
    return pd.DataFrame(table.rows, columns=list(table.headings))


def literal(text: str) -> str:
    """Text with Markdown escaped."""
    return re.sub(r"([\\`*_\[\]<>$:#|~^])", r"\\\1", text)


def reviewers(entries: Sequence[LedgerEntry]) -> pd.DataFrame:
    """How many judgments each reviewer made, and when the last one was."""
    latest: dict[str, tuple[int, str]] = {}
    for entry in entries:
        count, last = latest.get(entry.reviewer, (0, ""))
        latest[entry.reviewer] = (count + 1, max(last, entry.time))
    rows = [(name, count, last) for name, (count, last) in sorted(latest.items())]
    return pd.DataFrame(rows, columns=["reviewer", "entries", "last"])


def passage(shown: ShownPassage) -> str:
    """A passage as safe HTML: text is escaped, query words are marked."""
    words = "".join(
        f"<mark>{html.escape(text)}</mark>" if hit else html.escape(text) for text, hit in shown.pieces
    )
    where = " · ".join(part for part in (shown.document, shown.section, shown.lines) if part)
    head = f"<strong>{shown.rank}</strong> {html.escape(where)} <small>{shown.score:.4f}</small>"
    body = words or "<em>the text of results below rank 10 is not stored</em>"
    return f"<div>{head}<pre style='{STYLE}'>{body}</pre></div>"
