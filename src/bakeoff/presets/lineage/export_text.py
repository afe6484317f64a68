"""Texts of S0's comparison: why it matters, what values mean, and trade-offs of size and speed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from bakeoff.measures.names import Measure, parse
from bakeoff.presets.export_context import ExportContext
from bakeoff.presets.rules import S0_SCORE
from bakeoff.runs import markdown_tables
from bakeoff.types import TableRow

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
"""S0-26, as a statement to check against the measured rows, never as a verdict (C-27)."""


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


def index_sizes(systems: Sequence[TableRow]) -> str:
    """The smallest and the largest index of the systems with vectors; empty if they are equal."""
    known = [(row["index_bytes"], row["dims"], row["system"]) for row in systems]
    rows = sorted(row for row in known if row[0] is not None and row[1] is not None)
    if len({dims for _, dims, _ in rows}) < 2:
        return ""
    (low, few, small), (high, many, large) = rows[0], rows[-1]
    said = (
        f"{few} dimensions, {low / 1e6:.1f} MB ({small}) to {many} dimensions, {high / 1e6:.1f} MB ({large})"
    )
    return markdown_tables.escape_markdown(f"Indexes here: {said}.")


SPANS = (("at rank 1", 1, 1), ("at 2–3", 2, 3), ("at 4–10", 4, 10), ("deeper", 11, None))
"""Ranks of the first relevant result, as the report counts them."""


def interpret_mean(measure: str | Measure, value: float | None) -> str:
    """One sentence that explains a mean; other measures are only named with their value."""
    wanted = parse(measure)
    name = f"M{wanted}" if wanted.name == "RR" else str(wanted)
    if value is None:
        return f"{name} was not computed."
    read = _READINGS.get(wanted.name) if wanted.budget is None else None
    said = f": {read(wanted, value)}" if read is not None else ""
    return f"{name} = {value:.3f}{said}."


def first_ranks(reciprocal: Iterable[float | None]) -> str:
    """The share of queries by the rank of their first relevant result, from reciprocal ranks; '' without any."""
    known = [value for value in reciprocal if value is not None]
    if not known:
        return ""
    ranks = [round(1 / value) for value in known if value > 0]
    parts = [
        f"{label} on {sum(low <= rank and (high is None or rank <= high) for rank in ranks)}"
        for label, low, high in SPANS
    ]
    return f"First relevant result {', '.join(parts)}, nowhere on {len(known) - len(ranks)} of {len(known)} queries."


def _units(measure: Measure) -> str:
    return f"{measure.unit}s" if measure.unit else "results"


def _of_first(measure: Measure, value: float) -> str:
    k = measure.k or 1
    return f"on average {value * k:.1f} of the first {k} {_units(measure)} are relevant"


def _found_sentence(measure: Measure, value: float) -> str:
    where = f"the first {measure.k}" if measure.k else "the results"
    return f"on average {value:.0%} of a query's relevant {_units(measure)} are among {where}"


def _hit(measure: Measure, value: float) -> str:
    return f"{value:.0%} of queries have a relevant result among the first {measure.k}"


def _reciprocal(_: Measure, value: float) -> str:
    return (
        "the mean of 1 / rank of the first relevant result. It names no typical position: "
        f"{value:.3f} can come from many queries at rank 1 and some without any relevant result"
    )


def _order(_: Measure, value: float) -> str:
    return f"{value:.0%} of the gain of a perfect order of everything judged, averaged over queries"


_READINGS: dict[str, Callable[[Measure, float], str]] = {
    "P": _of_first,
    "R": _found_sentence,
    "Hit": _hit,
    "RR": _reciprocal,
    "nDCG": _order,
}
