"""F20: empty truth scored as 1.0 whatever was returned."""

from __future__ import annotations

import pytest

from bakeoff.measures.api import evaluate
from bakeoff.measures.catalogue import all_measures
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import Measure
from bakeoff.measures.presets import preset

pytestmark = pytest.mark.usefixtures("way")
RELEVANCE = [
    Measure(row.name, k=None if row.cutoff.value == "none" else 10, p=0.8 if "p" in row.params else None)
    for row in all_measures()
    if row.needs is RequiredInput.JUDGMENTS and row.name != "Judged"
]


@pytest.mark.parametrize("measure", RELEVANCE, ids=str)
@pytest.mark.parametrize("returned", [{"a": 2.0, "b": 1.0}, {}])
def test_f20_no_measure_scores_a_query_without_relevant_items(
    measure: Measure, returned: dict[str, float]
) -> None:
    result = evaluate({"q": {"a": 0}, "other": {"a": 1}}, {"q": returned, "other": {"a": 1.0}}, [measure])
    assert result.per_query["q"][str(measure)] is None
    assert [one.query for one in result.excluded] == ["q"]
    assert result.counts[str(measure)] == 1


@pytest.mark.parametrize("measure", RELEVANCE, ids=str)
def test_f20_trec_evals_rule_gives_zero_never_one(measure: Measure) -> None:
    rules = preset("trec_eval").conventions
    result = evaluate({"q": {"a": 0}}, {"q": {"a": 1.0}}, [measure], conventions=rules)
    assert result.mean[str(measure)] == 0.0
