"""F19: precision counted on repeated chunks of one document while recall de-duplicates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bakeoff.errors import DataError
from bakeoff.measures.api import evaluate as score
from bakeoff.measures.arrays import JudgmentArrays, RankingArrays
from bakeoff.measures.evaluate import evaluate
from bakeoff.measures.names import parse
from bakeoff.runs.run import run

# Five chunks, four of them of the one relevant document 1.
CHUNKS = RankingArrays(np.zeros(5, int), np.array([1, 1, 1, 1, 2]), -np.arange(5.0))
TRUTH = JudgmentArrays(np.array([0, 0]), np.array([1, 3]), np.array([1, 1]))
MEASURES = [parse("P@5(document)"), parse("R@5(document)")]


def test_f19_repeated_units_are_refused() -> None:
    with pytest.raises(DataError, match="item 1"):
        evaluate(CHUNKS, TRUTH, MEASURES)


def test_f19_a_list_that_names_a_document_twice_is_refused() -> None:
    with pytest.raises(DataError, match="twice"):
        score({"q": {"a": 1}}, {"q": ["a", "a", "b"]}, ["P@2", "R@2"])


def test_f19_a_run_s_precision_and_recall_count_each_document_once(small: Path) -> None:
    """Both found again from the stored rankings of chunks, in which documents repeat."""
    small.write_text(small.read_text() + "measures: {primary: P@5, also: [R@5, P@5(chunk)]}\n")
    result = run(small, out=Path("run"))
    assert not result.failed
    served: dict[str, list[str]] = {}
    for row in result.rankings.to_pylist():
        served.setdefault(row["query_id"], []).append(row["document_id"])
    assert any(len(set(names[:5])) < 5 for names in served.values()), (
        "no document repeats: the test shows nothing"
    )
    values = {(row["query_id"], row["measure"]): row["value"] for row in result.scores.to_pylist()}
    for query, relevant in (("refund", {"guide/billing.md"}), ("both", {"src/slug.py", "src/retry.py"})):
        found = len(set(list(dict.fromkeys(served[query]))[:5]) & relevant)
        assert values[query, "P@5(document)"] == pytest.approx(found / 5)
        assert values[query, "R@5(document)"] == pytest.approx(found / len(relevant))
        chunks = sum(name in relevant for name in served[query][:5])
        assert values[query, "P@5(chunk)"] == pytest.approx(chunks / 5), "another rule has another name"
