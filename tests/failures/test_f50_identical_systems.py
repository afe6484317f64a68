"""F50: variants with identical scores to three digits, never questioned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bakeoff import registry
from bakeoff.report.tables import tables
from bakeoff.runner import run


def told(result: Any) -> list[str]:
    """The notes of the record that accuse; a busy machine may add others, about time."""
    return [note for note in result.record.notes if "identical" in note]


def test_f50_identical_rankings_are_said_in_the_record_and_in_the_report(
    small: Path, register: Callable[..., None]
) -> None:
    class Quantised(registry.load("embedders", "wordllama")):
        """Calls itself quantised and changes nothing."""

    register("embedders", "quantised", Quantised)
    small.write_text(
        small.read_text().replace(
            "[{wordllama: {dims: 64}}]", "[wordllama, quantised, {wordllama: {dims: 64}}]"
        )
    )
    result = run(small, out=Path("run"))
    vectors, note = told(result)
    assert vectors == (
        "quantised, wordllama made identical vectors of every chunk of line(doc_lines=4 code_lines=6): they are one "
        "and the same model here."
    )
    assert "wordllama · dense" in note and "quantised · dense" in note and "dims=64" not in note
    assert "returned identical rankings for every query: this run cannot tell them apart" in note
    assert {vectors, note} <= set(tables(result).background.notes)


def test_f50_identical_scores_are_said_in_the_comparison(ran: Any) -> None:
    pair = ran.result.comparison.pair(
        "line · wordllama(dims=64) · exact · dense", "line · wordllama(dims=64) · faiss · dense"
    )
    assert pair.identical and pair.better is None


def test_f50_systems_that_differ_are_not_accused(ran: Any) -> None:
    notes = " ".join(told(ran.result))
    assert "faiss" in notes
    assert "line · bm25" not in notes and "semantic · bm25" not in notes
