"""Systems under one load compared over its runs."""

from __future__ import annotations

import pytest

from bakeoff.benchmark.load.sentences import compare_loads
from bakeoff.benchmark.load_spec import LoadStep
from bakeoff.benchmark.passes import LoadPoint
from bakeoff.benchmark.resources.usage import ResourceUse
from bakeoff.stats.repeat_summary import summarise

CLOSED, OPEN = LoadStep("closed", 1), LoadStep("open", 4, rate=50.0)


def point(system: str, load: LoadStep, values: tuple[float, ...], *, probe: bool = False) -> LoadPoint:
    """A point whose rate and mean latency have these values over its runs."""
    across = summarise(values)
    return LoadPoint(
        system=system, load=load, runs=len(values), complete=True, cut_short=0, qps=across, mean_ms=across,
        quality=summarise(()), latencies=(), lags=(), sent=0, answered=0, errors=0, timeouts=0, unsent=0, short=0,
        harness_share=None, harness_over_limit=False, reached=True, client=ResourceUse(), server=ResourceUse(), joules=None, notes=(), probe=probe,
    )  # fmt: skip


def test_rates_in_a_closed_loop_and_latencies_in_an_open_one() -> None:
    fast, slow = (200.0, 202.0, 198.0), (100.0, 101.0, 99.0)
    points = [point(name, load, v) for load in (CLOSED, OPEN) for name, v in (("a", fast), ("b", slow))]
    found = compare_loads(points, 7)
    assert [(one.load, one.measure) for one in found] == [(CLOSED.name, "qps"), (OPEN.name, "mean_ms")]
    for one in found:
        assert one.pair.ratio == pytest.approx(2.0)
        assert one.pair.p_holm is not None and one.pair.p_holm < 1e-4
        assert one.to_dict()["p_holm"] == one.pair.p_holm


def test_two_runs_are_too_few_and_probes_do_not_count() -> None:
    points = [point("a", CLOSED, (2.0, 2.1)), point("b", CLOSED, (1.0, 1.1))]
    (pair,) = compare_loads(points, 7)
    assert pair.pair.p is None and pair.pair.note
    probes = [point(name, OPEN, (1.0, 2.0, 3.0), probe=True) for name in "ab"]
    assert compare_loads(probes, 7) == ()
