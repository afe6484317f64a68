"""Mean values in words: as much as they imply, and no more."""

from __future__ import annotations

import pytest

from bakeoff.presets.lineage.export_text import first_ranks, interpret_mean


@pytest.mark.parametrize(
    ("measure", "value", "said"),
    [
        ("P@5(document)", 0.8, "on average 4.0 of the first 5 documents are relevant"),
        ("R@10", 0.9, "on average 90% of a query's relevant results are among the first 10"),
        ("nDCG@5", 0.85, "85% of the gain of a perfect order"),
        ("Hit@3(answer)", 0.5, "50% of queries have a relevant result among the first 3"),
    ],
)
def test_values_of_the_source_are_read(measure: str, value: float, said: str) -> None:
    """S0-19."""
    assert said in interpret_mean(measure, value)


def test_a_mean_reciprocal_rank_is_given_no_typical_position() -> None:
    """C-24: 0.7 is not "typically at position 1.4"."""
    text = interpret_mean("RR(document)", 0.7)
    assert text.startswith("MRR(document) = 0.700") and "no typical position" in text and "1.4" not in text


def test_the_ranks_behind_it_are_counted() -> None:
    text = first_ranks([1.0, 1.0, 0.5, 1 / 3, 0.1, 1 / 11, 0.0, None])
    assert all(
        part in text for part in ("rank 1 on 2", "2–3 on 2", "4–10 on 1", "deeper on 1", "nowhere on 1 of 7")
    )
    assert first_ranks([None]) == ""


def test_what_was_not_computed_is_said_and_other_measures_are_only_named() -> None:
    assert interpret_mean("P@5", None) == "P@5 was not computed."
    assert interpret_mean("AP", 0.25) == "AP = 0.250."
    assert interpret_mean("R@500tokens", 0.25) == "R@500tokens = 0.250."
