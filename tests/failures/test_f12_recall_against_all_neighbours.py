"""F12: recall divided by min(K, 100) against all 100 neighbours read 1.0000 where the true recall was far lower."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.errors import MeasureError
from bakeoff.measures.names import parse
from bakeoff.measures.neighbours import knn_recall, recall_of_100

EXACT = np.arange(100)[None, :]
# An index that returns ten of the hundred true neighbours, but none of the ten nearest.
FOUND = np.arange(90, 100)[None, :]


def test_f12_neighbours_beyond_k_do_not_count() -> None:
    everything_counts = np.isin(FOUND, EXACT).sum() / min(10, 100)
    assert everything_counts == 1.0
    assert knn_recall(FOUND, EXACT, 10)[0] == 0.0


def test_f12_the_division_by_100_has_its_own_name_and_ceiling() -> None:
    assert recall_of_100(FOUND, EXACT, 10)[0] == pytest.approx(0.10)
    assert str(parse("R100@10")) == "R100@10" != str(parse("kNN@10"))
    assert parse("R100@10").definition.ceiling == "min(1, k/100)"


def test_f12_plain_recall_is_never_computed_from_neighbours() -> None:
    with pytest.raises(MeasureError, match="no measure is called"):
        parse("ann_accuracy@10")
    assert parse("recall@10") == parse("R@10") != parse("knn_recall@10")
