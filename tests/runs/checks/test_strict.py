"""What a run refuses of its queries, what it says of them, and which measures decide between chunkers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bakeoff.errors import QueryFileError
from bakeoff.measures.names import parse
from bakeoff.runs.checks.blocking import apply_allow_list, chunk_unit_conflict
from bakeoff.runs.checks.findings import Finding
from bakeoff.runs.run import run

Make = Callable[..., Any]
ASKED = "the same question for all of them"


def many(count: int, more: str = "") -> str:
    lines = [f"  - {{id: q{i}, text: {ASKED}{more}, truth: {{documents: [auth.md]}}}}" for i in range(count)]
    return "queries:\n" + "\n".join(lines) + "\n"


def test_a_refusal_shows_the_first_ones_and_how_to_go_on(lab: Make) -> None:
    made = lab(queries=many(9))
    with pytest.raises(QueryFileError) as caught:
        run(made.experiment, out=made.folder / "run", home=made.folder / "home")
    lines = str(caught.value).splitlines()
    assert len(lines) == 7 and all("words of q0" in line for line in lines[:5])
    assert lines[5] == "and 3 more; `bakeoff validate` lists them all."
    assert "allow: [duplicate]" in lines[6]


def test_allowed_ones_are_one_note(lab: Make) -> None:
    made = lab(queries=many(4), experiment=(("modes:", "allow: [duplicate]\nmodes:"),))
    notes = run(made.experiment, out=made.folder / "run", home=made.folder / "home").record.notes
    (note,) = (note for note in notes if "have the same warning" in note)
    assert note.startswith("3 queries (q1, q2, q3) ") and "queries.yaml, line 3, query q1: " in note


def test_a_sentence_that_is_blanked_is_no_leak(lab: Make) -> None:
    sentence = "Letters are sorted by district before the carriers take them out in the morning."
    told = f'truth: {{documents: [mail.md]}}, tags: {{leak: "{sentence}"}}'
    made = lab(
        queries=f'queries:\n  - {{id: a, text: "{sentence}", {told}}}\n  - {{id: b, text: rail, truth: {{documents: [trains.md]}}}}\n'
    )
    result = run(made.experiment, out=made.folder / "run", home=made.folder / "home")
    assert not any("word for word" in note for note in result.record.notes)


def test_only_allowed_errors_are_eased() -> None:
    found = [
        Finding("error", "leak", "", ""),
        Finding("error", "truth", "", ""),
        Finding("note", "leak", "", ""),
    ]
    assert [one.level for one in apply_allow_list(found, ["leak"])] == ["warning", "error", "note"]


@pytest.mark.parametrize(
    ("name", "decides"),
    [("nDCG@5(document)", True), ("R@5(answer)", True), ("SpanIoU@5", True), ("kNN@5", True), ("tokens@5", True),
     ("P@5(chunk)", False), ("SecAcc@5", False), ("SecAcc_primary@5(chunk)", False)],
)  # fmt: skip
def test_what_decides_between_chunkers(name: str, decides: bool) -> None:
    assert (chunk_unit_conflict(parse(name), ["line", "whole"]) == "") is decides
    assert chunk_unit_conflict(parse(name), ["line"]) == ""
