"""The bound of a retriever's score: no way to fill the ranks of lost results scores more."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from bakeoff.measures.conventions import DEFAULT
from bakeoff.pipeline.placement import Placer
from bakeoff.pipeline.query_pipeline import StepResult
from bakeoff.pipeline.retrieved import RetrievedPassages
from bakeoff.pipeline.scoring.assume_placed import assume_placed
from bakeoff.storage.schemas import DOCUMENTS, JUDGMENTS
from bakeoff.types import RetrievedRow, Unit

NAMES = [f"d{i}" for i in range(6)]


def dcg(documents: list[str], grades: dict[str, int]) -> float:
    order = list(dict.fromkeys(documents))
    return sum((2 ** grades.get(name, 0) - 1) / math.log2(rank + 2) for rank, name in enumerate(order))


@pytest.mark.parametrize(
    ("served", "grades"),
    [
        (["?", "d0", "?", "d1"], {"d0": 1, "d2": 3}),
        (["d5", "?", "d0"], {"d0": 2}),
        (["?", "d0"], {"d0": 2, "d1": 1}),
        (["?", "?", "d0", "d1"], {"d0": 1, "d1": 3, "d2": 2}),
        (["d0", "d1"], {"d0": 1}),
    ],
)
def test_no_other_filling_scores_more(served: list[str], grades: dict[str, int]) -> None:
    plain = ("version", "kind", "title", "fields", "text")
    documents = DOCUMENTS.table({"id": NAMES, **{key: [f"text {name}" for name in NAMES] for key in plain}})
    passages = RetrievedPassages("r", documents, Placer(documents))
    rows = [RetrievedRow(name if name != "?" else f"lost-{i}") for i, name in enumerate(served)]
    hits = passages.rank(rows, 10)
    judged = [(0, NAMES.index(name), None, None, grade, "rule", "") for name, grade in grades.items()]
    columns = dict(zip((name for name, _ in JUDGMENTS.columns), zip(*judged, strict=True), strict=True))
    table = JUDGMENTS.table({name: list(values) for name, values in columns.items()})
    step = StepResult((hits,), np.zeros((1, 1)))
    (best,) = assume_placed(step, passages, table, Unit.DOCUMENT, DEFAULT).hits
    docs = passages.ranges(best.ids).doc.tolist()
    found = dcg([NAMES[doc] if doc < len(NAMES) else f"lost-{doc}" for doc in docs], grades)
    slots = served.count("?")
    fillings = itertools.product([*NAMES, "none"], repeat=slots)
    filled = [[name if name != "?" else next(given) for name in served] for given in map(iter, fillings)]
    assert found >= max(dcg(names, grades) for names in filled) - 1e-12
    if len(set(grades.values())) == 1:
        assert found == pytest.approx(max(dcg(names, grades) for names in filled))
