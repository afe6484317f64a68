"""Minimums in tags, as people write them."""

from __future__ import annotations

import pytest

from bakeoff.truth.minimums import accuracy_measure, accuracy_minimum, document_minimum


@pytest.mark.parametrize(
    ("text", "value"), [("60%", 0.6), ("0.4", 0.4), ("40", 0.4), ("1", 1.0), ("many", None), ("", None)]
)
def test_a_minimum_of_section_accuracy_is_a_share(text: str, value: float | None) -> None:
    assert accuracy_minimum({"min_section_accuracy": text}) == value


def test_a_minimum_of_documents_is_a_number() -> None:
    assert document_minimum({"min_relevant_reports": "1,200"}) == 1200
    assert document_minimum({"min_accuracy": "0.4"}) is None


def test_the_minimum_is_about_section_accuracy_with_universal_sections() -> None:
    measures = ["RR(chunk)", "SecAcc_primary@10(chunk)", "SecAcc@10(chunk)"]
    assert accuracy_measure(measures) == "SecAcc@10(chunk)"
    assert accuracy_measure(measures[:2]) is None
