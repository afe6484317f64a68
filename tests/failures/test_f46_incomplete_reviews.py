"""F46: reviews that are complete for one system only, and unjudged results that are counted two ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bakeoff.cli import console
from bakeoff.cli.app import app
from bakeoff.measures.labels import Label
from bakeoff.review.importing import import_folder
from bakeoff.review.measures import review_figures

KW, FP = Label.KEYWORD_MATCH, Label.FALSE_POSITIVE
SERVED = {
    "a": {"q0": ("x", "y"), "q1": ("z", "u")},
    "b": {"q0": ("x", "v"), "q2": ("w", "t")},
}
LABELS = {"x": KW, "y": KW, "v": FP, "z": FP, "w": KW, "t": KW}


def test_bounds_over_the_unjudged_are_always_there() -> None:
    a, _ = review_figures(SERVED, LABELS, 2).systems
    assert a.values["SemPrec"].value == pytest.approx(0.5), (
        "one way of counting: by k, the unjudged not relevant"
    )
    assert a.values["SemPrec"].high == pytest.approx(0.75)
    assert a.judged == 0.75


def test_systems_are_compared_only_where_both_are_complete() -> None:
    pair = review_figures(SERVED, LABELS, 2).pairs[0]
    assert pair.queries == ("q0",)
    assert pair.difference == 0.5
    assert set(pair.left_out) == {"q1", "q2"}


@pytest.mark.parametrize(("of_a", "of_b"), [(("x", "y"), ("x", "u")), (("x", "u"), ("x", "y"))])
def test_a_query_that_is_complete_for_one_of_the_two_is_left_out(
    of_a: tuple[str, ...], of_b: tuple[str, ...]
) -> None:
    served = {"a": {"q0": ("x", "y"), "q3": of_a}, "b": {"q0": ("x", "v"), "q3": of_b}}
    pair = review_figures(served, LABELS, 2).pairs[0]
    assert pair.queries == ("q0",) and set(pair.left_out) == {"q3"} and pair.difference == 0.5


def test_no_common_complete_query_gives_no_difference() -> None:
    pair = review_figures({"a": {"q1": ("z", "u")}, "b": {"q2": ("w", "t")}}, LABELS, 2).pairs[0]
    assert pair.difference is None
    assert not pair.interval.defined


FILE = """\
metadata: {{query_id: q0, model: {system}, category: c, reviewer: ann, review_date: '', review_complete: {complete}}}
query: {{text: what failed, sql_ground_truth: '', expected_report_ids: [], relevance_signals: []}}
instructions: {{keyword_match: a, semantic_match: b, false_positive: c}}
summary: {{auto_keyword_matches: 0, needs_human_review: 1}}
results:
- {{rank: 1, chunk_id: x, report_id: d, section_name: '', score: 0.5, text_preview: t, judgment: semantic_match, notes: ''}}
- {{rank: 2, chunk_id: y, report_id: d, section_name: '', score: 0.4, text_preview: t, judgment: '', notes: ''}}
"""


@pytest.mark.parametrize("unfinished", ["a", "b"])
def test_a_file_not_marked_complete_is_left_out_for_either_system_and_named(
    tmp_path: Path, unfinished: str
) -> None:
    for system in "ab":
        done = "false" if system == unfinished else "true"
        (tmp_path / f"review_q0_{system}.yaml").write_text(FILE.format(system=system, complete=done))
    found = import_folder(tmp_path)
    other = "b" if unfinished == "a" else "a"
    assert [sheet.system for sheet in found.taken] == [other]
    assert [sheet.system for sheet in found.incomplete] == [unfinished]
    assert set(found.rankings()) == {other}


def test_the_bounds_stand_beside_the_figures_on_the_terminal(tmp_path: Path, capsys: Any) -> None:
    for system in "ab":
        (tmp_path / f"review_q0_{system}.yaml").write_text(FILE.format(system=system, complete="true"))
    (tmp_path / "review_q1_a.yaml").write_text(
        FILE.format(system="a", complete="false").replace("query_id: q0", "query_id: q1")
    )
    assert console.run_guarded(lambda: app(["review", "import", str(tmp_path)], standalone_mode=False)) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "1 skipped" in told and "– skipped: review_q1_a.yaml" in told
    for system in "ab":
        assert f"{system} 1 0 .100 .100 [.100 .200] .100 [.100 .200] .000 [.000 .100]" in told
    assert "– not compared, a − b: q0 (unjudged" in told
