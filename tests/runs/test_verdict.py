from __future__ import annotations

import itertools
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import bakeoff
from bakeoff import registry
from bakeoff.pipeline import embed, query_pipeline
from bakeoff.presets.decisions import decision_lines
from bakeoff.runs.run import run
from bakeoff.runs.verdict import decide_run, false_alarms, gather_evidence, loss_waterfall
from bakeoff.types import Hits


@pytest.fixture
def copied(ran: Any, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ran.result.path, tmp_path / "run"))


def with_limits(folder: Path, **limits: float) -> bakeoff.Result:
    path = folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "limits": limits}))
    return bakeoff.open_run(folder)


def test_the_same_rows_give_the_same_verdict(ran: Any) -> None:
    assert decide_run(bakeoff.open_run(ran.result.path)) == ran.result.verdict
    assert ran.result.verdict.sentence


def test_evidence_has_the_cost_of_every_measured_system(ran: Any) -> None:
    costs = gather_evidence(ran.result).costs
    assert set(costs) == set(ran.result.done)
    assert all(cost.index_bytes and cost.index_bytes > 0 for cost in costs.values())
    assert all(cost.p95_ms is None for cost in costs.values())


def test_limits_are_in_megabytes(copied: Path) -> None:
    assert gather_evidence(with_limits(copied, index_mb=2.0)).limits.index_bytes == 2e6
    assert gather_evidence(with_limits(copied, p95_ms=7.5)).limits.p95_ms == 7.5
    assert gather_evidence(with_limits(copied)).limits.index_bytes is None


def test_a_limit_nobody_keeps_is_said(copied: Path) -> None:
    result = with_limits(copied, index_mb=1e-6)
    assert result.verdict.system is None
    assert "limit" in result.verdict.sentence


def test_the_loss_goes_down_to_the_served_score(ran: Any) -> None:
    for system in ran.result.done:
        steps = loss_waterfall(ran.result, system)
        rows = ran.result.losses.filter(pc.equal(ran.result.losses["system"], system))
        reachable = {}
        for step in dict.fromkeys(rows["step"].to_pylist()):
            mine = rows.filter(pc.equal(rows["step"], step))
            reachable[step] = pc.mean(mine["reachable"]).as_py()
        values = list(reachable.values())
        assert steps is not None and list(reachable)[-1] == "ranked too low"
        assert all(before >= after - 1e-9 for before, after in itertools.pairwise(values))
        served = ran.result.comparison.summary(system).mean
        assert values[-1] == pytest.approx(served)
        assert "ranked too low" in steps.sentence


def test_a_measure_without_steps_has_no_loss(ran: Any, copied: Path) -> None:
    pq.write_table(ran.result.losses.slice(0, 0), copied / "losses.parquet")
    assert loss_waterfall(bakeoff.open_run(copied, trust=True), ran.result.done[0]) is None


def test_false_alarms_count_negative_questions(ran: Any) -> None:
    alarms = false_alarms(ran.result, "line · bm25")
    assert alarms is not None and alarms.negatives == 2
    assert 0 <= alarms.above <= 2 and 0.0 <= alarms.auroc <= 1.0


def test_false_alarms_of_a_perfect_separation(ran: Any, copied: Path) -> None:
    system = "line · bm25"
    rows = ran.result.rankings
    negative = np.isin(rows["query_id"].to_pylist(), ["nothing", "nowhere"])
    at = rows.schema.get_field_index("score")
    scores = pa.array(np.where(negative, 0.1, 5.0))
    pq.write_table(rows.set_column(at, "score", scores), copied / "rankings.parquet")
    alarms = false_alarms(bakeoff.open_run(copied, trust=True), system)
    assert alarms is not None and (alarms.above, alarms.auroc) == (0, 1.0)


def test_one_negative_question_has_no_threshold(ran: Any, copied: Path) -> None:
    rows = ran.result.queries
    at = rows.schema.get_field_index("negative")
    one = pa.array([name == "nothing" for name in rows["query_id"].to_pylist()])
    pq.write_table(rows.set_column(at, "negative", one), copied / "queries.parquet")
    alarms = false_alarms(bakeoff.open_run(copied, trust=True), "line · bm25")
    assert alarms is not None and (alarms.negatives, alarms.above) == (1, None) and 0 <= alarms.auroc <= 1


def test_a_weighted_score_says_which_of_its_terms_lie_outside(
    small: Path, register: Any, made_clock: Any
) -> None:
    """A search of 300 ms, by a made clock: the term of the latency is −0.5, and 0 where it is held."""
    clock = made_clock(embed, query_pipeline)

    class Slow(registry.load("stores", "exact")):
        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            clock.passes(300)
            return super().search(vector, k, query)

    register("stores", "slow", Slow)
    small.write_text(small.read_text().replace("[exact]", "[slow]") + "preset: lineage\n")
    (line,) = decision_lines(run(small, out=Path("run")))
    found = re.search(r"weighted score (\S+) \((\S+) with latency_ms clamped to 0–1\)\. ", line)
    assert found, line
    assert float(found[2]) - float(found[1]) == pytest.approx(0.1, abs=0.001)


def test_the_decisions_of_a_preset_are_said_and_no_other_run_has_any(ran: Any, small: Path) -> None:
    assert decision_lines(ran.result) == []
    small.write_text(small.read_text().replace("[dense]", "[dense, bm25]") + "preset: goldsql\n")
    lines = decision_lines(run(small, out=Path("run")))
    assert len(lines) == 2 and all(line.startswith("What to use, by ") for line in lines)
