"""A mean value in words (S0-19): what it says of an average query, and never more than it implies (C-24)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bakeoff.measures.names import Measure, parse

SPANS = (("at rank 1", 1, 1), ("at 2–3", 2, 3), ("at 4–10", 4, 10), ("deeper", 11, None))
"""Ranks of the first relevant result, as the report counts them."""


def interpret_mean(measure: str | Measure, value: float | None) -> str:
    """One sentence that reads a mean; a measure without a reading of its own is only named with its value."""
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
