"""F12: recall divided by min(K, 100) against all 100 neighbours read 1.0000 where the true recall was far lower."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.benchmark.vectors.neighbours import ExactNeighbours
from bakeoff.benchmark.vectors.quality import answer_quality
from bakeoff.errors import MeasureError
from bakeoff.measures.names import parse
from bakeoff.measures.neighbours import knn_recall, recall_of_100
from bakeoff.runs.run import run
from bakeoff.types import Hits

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
    with pytest.raises(MeasureError, match="ann_accuracy"):
        parse("ann_accuracy@10")
    assert parse("recall@10") == parse("R@10") != parse("knn_recall@10")


def test_f12_a_test_of_a_store_prints_both_by_their_own_names() -> None:
    """The last ten of the hundred nearest: none of the ten nearest, a tenth of the hundred, and all of them "among"."""
    data = open_dataset("synthetic:500x8", queries=5)
    far = ((data.base[None] - data.queries[:, None]) ** 2).sum(axis=2)
    ids = np.argsort(far, axis=1)[:, :100]
    truth = ExactNeighbours(ids, np.take_along_axis(far, ids, axis=1))
    answers = [Hits(row[90:], -np.arange(10.0)) for row in ids]
    found = answer_quality(answers, truth, data, 10)
    assert (found.knn, found.r100, found.precision) == (0.0, pytest.approx(0.1), pytest.approx(1.0))


def test_f12_in_a_run_the_neighbours_beyond_k_do_not_count(small: Path, register: Any) -> None:
    """A store that leaves out the nearest row of each query has found nine of ten."""
    base: Any = registry.load("stores", "exact")

    class Skipping(base):
        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            hits = super().search(vector, k + 1, query)
            return Hits(hits.ids[1:], hits.scores[1:])

    register("stores", "skipping", Skipping)
    text = small.read_text().replace("stores: [exact]", "stores: [exact, skipping]")
    small.write_text(text + "measures: {primary: nDCG@10, also: [kNN@10]}\n")
    means = {system: one.mean for system, one in run(small, out=Path("run")).summaries("kNN@10").items()}
    assert [means[system] for system in sorted(means, key=lambda name: "skipping" in name)] == [
        1.0,
        pytest.approx(0.9),
    ]
