from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bakeoff.pipeline.embed import QueryVectors
from bakeoff.pipeline.query_pipeline import StepResult, SystemAnswers
from bakeoff.pipeline.timing import (
    CACHED,
    PhaseTime,
    latency_rows,
    latency_table,
    phase_row,
    samples_needed,
    step_times,
)
from bakeoff.storage.schemas import TIMINGS


def leg(milliseconds: Any) -> StepResult:
    return StepResult((), np.array(milliseconds, dtype=float))


def answers(search: Any, *, embed: Any = None, fuse: Any = None, rerank: Any = None) -> SystemAnswers:
    legs = (leg(search),)
    embedded = QueryVectors(np.empty((0, 1)), np.array(embed, dtype=float), "") if embed is not None else None
    fused = leg(fuse) if fuse is not None else None
    return SystemAnswers(legs[0], embedded, legs, fused, (leg(rerank),) if rerank is not None else ())


def value(rows: Any, phase: str, statistic: str) -> tuple[float | None, int, str]:
    found = [row[4:] for row in rows if row[2:4] == (phase, statistic)]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(("percentile", "needed"), [(50, 10), (90, 50), (95, 100), (99, 500)])
def test_five_samples_must_lie_beyond_a_percentile(percentile: int, needed: int) -> None:
    assert samples_needed(percentile) == needed
    for count in (needed - 1, needed):
        samples = np.arange(1.0, count + 1)
        rows = latency_rows("run", "s", answers([samples]))
        found, seen, note = value(rows, "total", f"p{percentile}_ms")
        assert seen == count
        if count < needed:
            assert found is None and note.startswith(f"{count} samples; p{percentile} needs {needed}:")
        else:
            assert found == pytest.approx(np.percentile(samples, percentile)) and note == ""


def test_all_repeats_count_as_samples() -> None:
    rows = latency_rows("run", "s", answers([[1.0] * 5, [3.0] * 5]))
    assert value(rows, "total", "mean_ms") == (2.0, 10, "")
    assert value(rows, "total", "p50_ms")[0] == 2.0


def test_the_total_adds_up_the_steps_that_happened() -> None:
    found = step_times(answers([[1, 2]], embed=[[10, 20]], fuse=[[100, 200]]))
    assert found["total"].tolist() == [[111, 222]] and found["rerank"] is None


def test_a_step_that_did_not_happen_has_no_row() -> None:
    phases = {row[2] for row in latency_rows("run", "s", answers([[1, 2]]))}
    assert phases == {"search", "total"}


def test_the_total_holds_only_queries_whose_every_step_was_timed() -> None:
    found = step_times(answers([[1, 2, 3]], embed=[[10, 20]]))
    assert found["total"].tolist() == [[11, 22]]
    table = latency_table("run", "s", ["a", "b", "c"], answers([[1, 2, 3]], embed=[[10, 20]])).to_pylist()
    assert [row["total_ms"] for row in table] == [11, 22, None]
    assert [row["embed_ms"] for row in table] == [10, 20, None]
    assert [row["search_ms"] for row in table] == [1, 2, 3]
    assert [row["fuse_ms"] for row in table] == [None] * 3


def test_one_row_a_repeat_and_query() -> None:
    table = latency_table("run", "s", ["a", "b"], answers([[1, 2], [3, 4]])).to_pylist()
    assert [(row["repeat"], row["query_id"], row["search_ms"]) for row in table] == [
        (0, "a", 1), (0, "b", 2), (1, "a", 3), (1, "b", 4),
    ]  # fmt: skip


def test_a_phase_done_now_has_seconds_and_one_whose_time_nobody_kept_has_none() -> None:
    assert phase_row("r", "s", "read", PhaseTime(1.5, 7)) == ("r", "s", "read", "seconds", 1.5, 7, "")
    none = ("seconds", None, 0, CACHED)
    assert phase_row("r", "s", "read", PhaseTime(1.5, 0, 7)) == ("r", "s", "read", *none)
    assert phase_row("r", "s", "index", PhaseTime(None, 7)) == ("r", "s", "index", *none)
    partly = phase_row("r", "s", "embed_chunks", PhaseTime(0.1, 100, 900))
    assert partly[4:6] == (None, 100) and partly[6].startswith("900 of 1,000 ")


def test_no_rows_are_a_table() -> None:
    assert TIMINGS.table_of_rows([]).num_rows == 0
