"""F08: comparing chunkers on chunk-level truth."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from bakeoff.errors import TruthError
from bakeoff.runner import run
from bakeoff.truth.units import Ranked, bound_chunkings, collapse, derive
from bakeoff.types import CHUNKS, JUDGMENTS, Unit


def chunks(size: int) -> pa.Table:
    starts = list(range(0, 100, size))
    ends = [min(start + size, 100) for start in starts]
    ones, empty = [1] * len(starts), [""] * len(starts)
    places = {"doc": [0] * len(starts), "start": starts, "end": ends, "line_start": ones, "line_end": ones}
    return CHUNKS.table(
        {"id": empty, **places, "section": empty, "symbol": empty, "context": empty, "text": empty}
    )


BOUND = JUDGMENTS.table(
    {
        "query": [0],
        "doc": [0],
        "start": [20],
        "end": [30],
        "grade": [1],
        "source": ["sql"],
        "chunking": ["tens"],
    }
)


@pytest.mark.parametrize("unit", [Unit.CHUNK, Unit.DOCUMENT, Unit.SECTION, Unit.ANSWER])
def test_f08_truth_made_on_chunks_is_refused_under_another_chunking(unit: Unit) -> None:
    with pytest.raises(
        TruthError, match=r'made on chunks of "tens" and says nothing about chunks of "fifties"'
    ):
        derive(BOUND, chunks(50), "fifties", unit)


def test_f08_answers_are_refused_too() -> None:
    import numpy as np

    served = Ranked(np.zeros(1, np.int32), np.zeros(1, np.int64), np.ones(1))
    with pytest.raises(TruthError, match="fifties"):
        collapse(served, chunks(50), Unit.ANSWER, BOUND, "fifties")


def test_f08_under_its_own_chunking_exactly_the_judged_chunk_counts() -> None:
    judged = derive(BOUND, chunks(10), "tens", Unit.CHUNK)
    assert judged.item.tolist() == [2]


def test_f08_a_run_refuses_to_compare_chunkers_on_it(small: Path) -> None:
    """One chunker may be measured on it; of two the longer chunks would win."""
    truth = "{sql: \"chunk_text LIKE '%refund%'\"}"
    Path("queries.yaml").write_text(f"queries:\n  - {{id: a, text: money back, truth: {truth}}}\n")
    assert run(small, out=Path("one")).done
    two = re.sub(r"chunkers: .*", "chunkers: [line, whole]", small.read_text())
    small.write_text(two)
    with pytest.raises(TruthError, match="cannot compare the chunkers line, whole: long chunks"):
        run(small, out=Path("two"))


def test_f08_who_compares_chunkers_can_see_that_the_truth_is_bound() -> None:
    assert bound_chunkings(BOUND) == ("tens",)
