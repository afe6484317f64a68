"""A real project's review files: its stored figures follow from them, and so do the honest ones beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bakeoff.measures.labels import Label
from bakeoff.presets.goldsql.review_files import explain_differences, stored_counts
from bakeoff.review.importing import import_folder
from bakeoff.review.measures import review_figures
from bakeoff.review.outcomes import labels_of

FOLDER = Path(__file__).resolve().parents[2].parent / "shared/data/riskradar-v1"
REVIEWS = FOLDER / "reviews"
pytestmark = pytest.mark.skipif(
    not REVIEWS.is_dir(), reason="the riskradar-v1 data set is not beside this checkout"
)

REFUSED = {"review_CMP-005_minilm.yaml", "review_CMP-008_minilm.yaml"}


def stored(model: str) -> dict:
    return json.loads((FOLDER / "results" / f"human_review_{model}.json").read_text())


@pytest.mark.parametrize("model", ["mika", "minilm"])
def test_the_stored_figures_follow_from_the_files(model: str) -> None:
    found = {one.model: one for one in stored_counts(REVIEWS)}[model]
    data = stored(model)
    assert (found.files, len(found.queries)) == (data["queries_reviewed"], data["queries_complete"])
    assert found.results == data["total_results_reviewed"]
    counts = [
        found.count(label) for label in (Label.KEYWORD_MATCH, Label.SEMANTIC_MATCH, Label.FALSE_POSITIVE)
    ]
    assert counts == [data["keyword_matches"], data["semantic_matches"], data["false_positives"]]
    aggregate = data["aggregate"]
    assert found.precision == pytest.approx(aggregate["semantic_precision"], abs=1e-12)
    assert found.lift == pytest.approx(aggregate["semantic_lift"], abs=1e-12)
    assert found.false_positives == pytest.approx(aggregate["false_positive_rate"], abs=1e-12)
    per_query = {one.query: one for one in found.queries}
    for row in data["per_query"]:
        assert per_query[row["query_id"]].precision == pytest.approx(row["semantic_precision"], abs=1e-12)
        assert per_query[row["query_id"]].lift == pytest.approx(row["semantic_lift"], abs=1e-12)


def test_what_the_stored_figures_do_not_see() -> None:
    imported = import_folder(REVIEWS)
    assert {one.path.name for one in imported.refused} == REFUSED
    assert (len(imported.taken), len(imported.incomplete), len(imported.by_rule)) == (38, 0, 18)
    said = " ".join(explain_differences(stored_counts(REVIEWS), imported))
    assert "mika: 6 of 110" in said
    assert "minilm: 9 of 110" in said
    assert "(mika 11, minilm 11; 10 in common)" in said


def test_the_honest_figures() -> None:
    imported = import_folder(REVIEWS)
    figures = review_figures(imported.rankings(), labels_of(imported.settled), 10)
    mika, minilm = figures.systems
    assert (len(mika.queries), len(mika.complete)) == (20, 19)
    assert (len(minilm.queries), len(minilm.complete)) == (18, 14)
    assert mika.counts[Label.FALSE_POSITIVE] == 42  # 38 stored, and 4 with a blank behind them
    assert (mika.values["SemPrec"].low, mika.values["SemPrec"].high) == (
        pytest.approx(0.78),
        pytest.approx(0.79),
    )
    pair = figures.pairs[0]
    assert (pair.measure, len(pair.queries), pair.common) == ("SemPrec", 14, 18)
    assert pair.difference == pytest.approx(-1.9 / 14)
    assert len(figures.common) == 14
    lifts = [(figures.on_common[one.system]["SemLift"], one.on_complete["SemLift"]) for one in (mika, minilm)]
    assert lifts == [
        (pytest.approx(0.3 / 14), pytest.approx(1.5 / 19)),
        (pytest.approx(0.5 / 14), pytest.approx(0.5 / 14)),
    ], "the order of the two on all queries is the reverse of that on the common ones"
    assert not pair.interval.excludes(0.0), (
        "the stored means suggest a difference that five queries do not show"
    )
