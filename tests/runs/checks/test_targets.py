"""Minimums of a query file held against what can be reached, whatever the ids of its queries are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[..., Any]


@pytest.mark.parametrize(("tag", "reachable"), [("0.5", True), ("50%", True), ("0.6", False)])
def test_a_minimum_of_section_accuracy_comes_from_the_query_file(
    lab: Make, tag: str, reachable: bool
) -> None:
    """One chunk has the section, so at most one of two results is right."""
    made = lab(
        queries=(
            (
                "truth: {documents: [trains.md]}",
                f"truth: {{sections: [Rail]}}, tags: {{min_section_accuracy: '{tag}'}}",
            ),
        ),
        experiment=(
            ("[line]", "[semantic]"),
            ("also: [P@5(document)]", "also: [SecAcc@2]"),
        ),
    )
    (target,) = made.report().targets
    assert (target.query, target.measure, target.origin) == ("rail", "SecAcc@2", "queries.yaml")
    assert (target.best, target.reachable) == (0.5, reachable)
    assert [one.level for one in made.found("target")] == ([] if reachable else ["warning"])


def test_ids_alone_give_no_minimum(lab: Make) -> None:
    made = lab(
        queries=(("id: rail", "id: SEC-001"), ("{documents: [trains.md]}", "{sections: [Rail]}")),
        experiment=(
            ("[line]", "[semantic]"),
            ("also: [P@5(document)]}", "also: [SecAcc@10(chunk)]}\npreset: goldsql"),
        ),
    )
    assert made.report().targets == ()
