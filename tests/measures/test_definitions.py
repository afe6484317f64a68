"""Each measure has all that a reader of a number must know, and its claims about bounds hold."""

import numpy as np
import pytest

from bakeoff.measures.arrays import JudgmentArrays
from bakeoff.measures.catalogue import all_measures
from bakeoff.measures.ceilings import ceiling
from bakeoff.measures.definitions import Bounds, Cutoff, MeasureDefinition, RequiredInput
from bakeoff.measures.explain import explain
from bakeoff.measures.names import Measure
from bakeoff.measures.reference import supports

MEASURES = all_measures()


def example(row: MeasureDefinition) -> Measure:
    k = 10 if row.cutoff in (Cutoff.REQUIRED, Cutoff.OPTIONAL) else None
    t = 0.5 if row.cutoff is Cutoff.THRESHOLD else None
    return Measure(row.name, k=k, t=t, p=0.8 if "p" in row.params else None)


@pytest.mark.parametrize("row", MEASURES, ids=lambda row: row.name)
def test_every_row_is_explained(row: MeasureDefinition) -> None:
    words = explain(example(row))
    assert words.meaning.endswith(".") and words.formula and words.ceiling
    assert words.direction == ("higher is better" if row.higher_is_better else "lower is better")


UNKNOWN = {"tokens", "SpanRecall", "SpanPrecision", "SpanIoU"}
"""A cost has no best value, and that of spans depends on the chunks."""


@pytest.mark.parametrize("row", MEASURES, ids=lambda row: row.name)
def test_every_row_has_a_ceiling_inside_its_range_or_none(row: MeasureDefinition) -> None:
    truth = JudgmentArrays(np.array([0, 0, 0]), np.array([1, 2, 3]), np.array([2, 1, 0]))
    best = ceiling(example(row), truth)
    assert (best is None) is (row.name in UNKNOWN)
    assert best is None or row.low <= float(best[0]) <= row.high


def test_names_are_unique_and_lower_bounds_are_claimed_as_decided() -> None:
    assert len({row.name for row in MEASURES}) == len(MEASURES)
    kinds = {row.name: row.bounds for row in MEASURES}
    assert all(kinds[name] is Bounds.BOTH for name in ("P", "Hit", "RR"))
    assert all(kinds[name] is not Bounds.BOTH for name in ("R", "nDCG", "AP", "Rprec"))


def test_every_measure_of_judgments_has_a_plain_formula() -> None:
    for row in MEASURES:
        assert supports(example(row)) == (row.needs is RequiredInput.JUDGMENTS)


def test_the_unit_is_said() -> None:
    assert explain("nDCG@10(document)").unit == "counts documents"
    assert "the experiment" in explain("nDCG@10").unit
