"""F48: a mean over fewer queries than its heading says. Every review figure carries its n and what was left out."""

from __future__ import annotations

from bakeoff.measures.labels import Label
from bakeoff.review.auto_vs_human import compare_auto_human
from bakeoff.review.measures import review_figures


def test_means_of_a_review_name_their_queries() -> None:
    served = {"a": {f"q{i}": (f"x{i}",) for i in range(5)}, "b": {f"q{i}": (f"x{i}",) for i in range(3)}}
    labels = {f"x{i}": Label.KEYWORD_MATCH for i in range(4)}
    figures = review_figures(served, labels, 1)
    assert [(len(one.queries), len(one.complete)) for one in figures.systems] == [(5, 4), (3, 3)]
    pair = figures.pairs[0]
    assert len(pair.queries) + len(pair.left_out) == 5
    assert set(pair.left_out) == {"q3", "q4"}


def test_combined_means_count_what_is_in_them() -> None:
    automated = {("a", f"q{i}"): None if i == 4 else 0.5 for i in range(5)}
    (one,) = compare_auto_human(["a"], "RR@10", automated, {("a", "q0"): 1.0}, {})
    assert (one.automated.n, one.human.n, one.combined.n) == (4, 1, 4)
