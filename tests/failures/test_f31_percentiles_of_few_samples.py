"""F31: ten queries, so that p95 = p99 = the maximum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bakeoff.runs.run import run


def timings(result: Any, phase: str) -> dict[str, dict[str, Any]]:
    system = result.done[0]
    rows = [row for row in result.timings.to_pylist() if (row["system"], row["phase"]) == (system, phase)]
    return {row["statistic"]: row for row in rows}


def test_f31_fourteen_queries_have_a_median_and_no_p95(ran: Any) -> None:
    found = timings(ran.result, "total")
    assert found["p50_ms"]["value"] > 0 and found["p50_ms"]["count"] == 14
    for name, needed in (("p90_ms", 50), ("p95_ms", 100), ("p99_ms", 500)):
        assert found[name]["value"] is None
        assert found[name]["note"].startswith(f"14 samples; {name[:-3]} needs {needed}:")


def test_f31_repeats_make_a_p95_possible(small: Path) -> None:
    small.write_text(small.read_text() + "runs: 8\n")
    found = timings(run(small, out=Path("run")), "total")
    assert found["p95_ms"]["count"] == 8 * 14 and found["p95_ms"]["value"] >= found["p50_ms"]["value"] > 0
    assert found["p99_ms"]["value"] is None


def test_f31_a_limit_on_a_percentile_that_is_unknown_is_not_kept_by_anyone(small: Path) -> None:
    small.write_text(small.read_text() + "limits: {p95_ms: 1000}\n")
    result = run(small, out=Path("run"))
    assert result.verdict.system is None
    assert "p95" in " ".join([result.verdict.sentence, *result.verdict.reasons])
