"""Chunks collapse to units at their first chunk; k counts units, or chunks for the S3 preset (D-10)."""

import numpy as np
import pytest

from bakeoff.errors import DataError
from bakeoff.measures.arrays import JudgmentArrays, RankingArrays
from bakeoff.measures.collapse import collapse, collapse_units
from bakeoff.measures.evaluate import evaluate
from bakeoff.measures.names import parse
from bakeoff.measures.presets import preset

A, B, C, D = range(4)
CHUNKS = RankingArrays(np.zeros(5, int), np.arange(5), -np.arange(5.0))
UNIT_OF = np.array([A, A, B, B, C])
TRUTH = JudgmentArrays(np.array([0, 0]), np.array([A, D]), np.array([1, 1]))


def test_d10_s3_precision_recall_and_rank() -> None:
    rules = preset("vectordb").conventions
    units = collapse(CHUNKS, UNIT_OF, rules)
    assert units.rank is not None and units.rank.tolist() == [1, 3, 5]
    measures = [parse(name) for name in ("P_unique@5", "R@5", "RR", "P@5")]
    assert evaluate(units, TRUTH, measures, conventions=rules).values[0] == pytest.approx(
        [1 / 3, 0.5, 1.0, 0.2]
    )


def test_d10_precision_on_units_and_on_chunks() -> None:
    units = collapse(CHUNKS, UNIT_OF)
    assert units.item.tolist() == [A, B, C] and units.rank is None
    assert evaluate(units, TRUTH, [parse("P@5(document)")]).values[0, 0] == pytest.approx(1 / 5)
    chunk_truth = JudgmentArrays(np.array([0, 0]), np.array([0, 1]), np.array([1, 1]))
    assert evaluate(CHUNKS, chunk_truth, [parse("P@5(chunk)")]).values[0, 0] == pytest.approx(2 / 5)


def test_ranks_after_collapsing_differ_by_what_k_counts() -> None:
    late = RankingArrays(np.zeros(5, int), np.array([B, B, B, B, A]), -np.arange(5.0))
    by_unit = evaluate(collapse_units(late), TRUTH, [parse("RR")]).values[0, 0]
    by_chunk = evaluate(collapse_units(late, preset("vectordb").conventions), TRUTH, [parse("RR")]).values[
        0, 0
    ]
    assert (by_unit, by_chunk) == (0.5, 0.2)


def test_bounds_with_chunk_ranks_count_units() -> None:
    rules = preset("vectordb").conventions
    scores = evaluate(
        collapse(CHUNKS, UNIT_OF, rules), TRUTH, [parse("P_unique@5"), parse("RR")], conventions=rules
    )
    assert scores.upper[0, 0] == pytest.approx(1.0)
    assert np.isnan(scores.upper[0, 1])


def test_each_query_collapses_alone_and_an_unknown_chunk_is_an_error() -> None:
    two = RankingArrays(np.array([0, 0, 1, 1]), np.array([A, A, A, B]), np.array([2.0, 1.0, 2.0, 1.0]))
    assert collapse_units(two).query.tolist() == [0, 1, 1]
    with pytest.raises(DataError, match="chunk 4 is ranked"):
        collapse(CHUNKS, UNIT_OF[:3])
