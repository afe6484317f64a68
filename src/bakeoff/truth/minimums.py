"""Minimums in a query file's tags: required section accuracy, and documents in the truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bakeoff.measures.names import parse

ACCURACY = ("min_accuracy", "min_section_accuracy", "minimum_section_accuracy")
DOCUMENTS = ("min_documents", "min_relevant_reports", "minimum_relevant_reports", "min_reports")
"""Tags with a query's minimum."""


def accuracy_minimum(tags: Mapping[str, str]) -> float | None:
    """Required section accuracy as a fraction; 40 is read as 40 %."""
    least = _number(tags, ACCURACY)
    return least / 100 if least is not None and least > 1 else least


def document_minimum(tags: Mapping[str, str]) -> float | None:
    """Required number of documents in a query's truth."""
    return _number(tags, DOCUMENTS)


def accuracy_measure(measures: Iterable[str]) -> str | None:
    """The measure for minimum section accuracy; None if a run lacks it."""
    return next((name for name in measures if parse(name).name == "SecAcc"), None)


def _number(tags: Mapping[str, str], names: Sequence[str]) -> float | None:
    """The first of these tags that is a number; percentages become fractions."""
    for name in names:
        text = str(tags.get(name, "")).strip().replace(",", "")
        try:
            return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            continue
    return None
