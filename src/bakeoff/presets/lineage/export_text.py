"""What S0's comparison says in words: why it matters, how values read, what size and speed are traded for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bakeoff.presets.export_context import ExportContext
from bakeoff.presets.lineage.interpretation import first_ranks, interpret_mean
from bakeoff.presets.rules import S0_SCORE
from bakeoff.runs import markdown_tables

RATIONALE = (
    ("irrelevant chunks are retrieved", "the language model makes things up", "P@5, nDCG@5"),
    ("relevant chunks are missed", "the lineage graph is incomplete", "R@10, MRR"),
    ("answers come late", "people stop using it", "latency"),
)
"""S0-2: what goes wrong, what follows, and the measure that shows it."""

DIMENSIONS = (
    "Models of 768 or 1,024 dimensions are often better, and slower and larger to keep; models of 384 or 512 are "
    "faster. That 384 is the sweet spot for SQL is a rule of thumb: the table above says what holds for these files."
)
"""S0-26, as a statement to be held against the measured rows and never as a verdict (C-27)."""


OTHER_DAYS = (
    "Scores are paired by query. Latencies belong to their day, and so does the score's share of latency."
)


def formula() -> str:
    """The weights of the score (S0-23, S0-24)."""
    terms = [
        f"{term.weight:g} · {term.name if term.per is None else f'(1 - {term.name}/{term.per:g})'}"
        for term in S0_SCORE
    ]
    return f"score = {' + '.join(terms)}"


def rationale() -> Iterator[str]:
    """The rationale as a table."""
    yield from markdown_tables.table(["what goes wrong", "what follows", "shown by"], RATIONALE, left=3)


def value_readings(material: ExportContext, system: str, measures: Sequence[str | None]) -> Iterator[str]:
    """The values of one system in words, and the ranks of its first relevant results."""
    for measure in measures:
        if measure is None:
            continue
        yield f"- {markdown_tables.escape_markdown(interpret_mean(measure, material.mean(system, measure)))}"
        if measure.startswith("RR"):
            spread = first_ranks(material.values(system, measure).values())
            if spread:
                yield f"- {spread}"


def index_sizes(systems: Sequence[Mapping[str, Any]]) -> str:
    """The smallest and the largest index among the systems that have vectors, or nothing where they are alike."""
    known = [(row["index_bytes"], row["dims"], row["system"]) for row in systems]
    rows = sorted(row for row in known if row[0] is not None and row[1] is not None)
    if len({dims for _, dims, _ in rows}) < 2:
        return ""
    (low, few, small), (high, many, large) = rows[0], rows[-1]
    said = (
        f"{few} dimensions, {low / 1e6:.1f} MB ({small}) to {many} dimensions, {high / 1e6:.1f} MB ({large})"
    )
    return markdown_tables.escape_markdown(f"Indexes here: {said}.")
