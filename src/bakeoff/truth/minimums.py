"""Minimums in the tags of a query file: section accuracy that a query should reach, documents its truth should hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bakeoff.measures.names import parse

ACCURACY = ("min_accuracy", "min_section_accuracy", "minimum_section_accuracy")
DOCUMENTS = ("min_documents", "min_relevant_reports", "minimum_relevant_reports", "min_reports")
"""Tags that hold the minimum of a query."""


def accuracy_minimum(tags: Mapping[str, str]) -> float | None:
    """The section accuracy a query should reach, as a share of one; 40 is read as 40 %."""
    least = _number(tags, ACCURACY)
    return least / 100 if least is not None and least > 1 else least


def document_minimum(tags: Mapping[str, str]) -> float | None:
    """How many documents the truth of a query should hold."""
    return _number(tags, DOCUMENTS)


def accuracy_measure(measures: Iterable[str]) -> str | None:
    """The measure that a minimum of section accuracy is about; None where a run does not have it."""
    return next((name for name in measures if parse(name).name == "SecAcc"), None)


def _number(tags: Mapping[str, str], names: Sequence[str]) -> float | None:
    """The first tag of these names that is a number; a percentage is a share of one."""
    for name in names:
        text = str(tags.get(name, "")).strip().replace(",", "")
        try:
            return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            continue
    return None
