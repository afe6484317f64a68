"""What may be said of the speeds: compared only at equal recall, across runs, never from one run (F35, F36)."""

from __future__ import annotations

from bakeoff.load.ann import Outcome
from bakeoff.load.sweep import Point
from bakeoff.stats.runs import RunComparison, compare_runs

ALPHA = 0.05


def verdict(outcome: Outcome) -> str:
    """One sentence."""
    target, k = outcome.options.target, outcome.options.k
    if outcome.stopped:
        return f"No verdict: {outcome.stopped}; what was measured is kept."
    if target is None:
        return _front_sentence(outcome)
    ranked = sorted(outcome.comparable(), key=lambda point: -(_qps(outcome, point) or 0.0))
    if not ranked:
        return f"No store reaches kNN@{k} {target:g}; speeds are not compared."
    best = ranked[0]
    name = f"{best.system} ({best.setting})"
    rate = f"{_qps(outcome, best) or 0:,.0f} queries a second"
    if len(ranked) == 1:
        return f"Only {name} reaches kNN@{k} {target:g}, with {rate}; there is nothing to compare its speed with."
    return _comparison(outcome, ranked, f"At kNN@{k} ≥ {target:g}: {name} with {rate}")


def comparisons(outcome: Outcome) -> tuple[RunComparison, ...]:
    """Measured queries a second of the stores at the target recall, all pairs, Holm-corrected."""
    values = {
        point.system: dict(point.qps_measured)[outcome.options.threads].values
        for point in outcome.comparable()
        if outcome.options.threads in dict(point.qps_measured)
    }
    return compare_runs(values, outcome.options.seed) if len(values) > 1 else ()


def _comparison(outcome: Outcome, ranked: list[Point], head: str) -> str:
    best, second = ranked[0], ranked[1]
    pair = next((one for one in comparisons(outcome) if {one.a, one.b} == {best.system, second.system}), None)
    slower = _qps(outcome, second) or 0.0
    against = f"{second.system} ({second.setting}) with {slower:,.0f}"
    ratio = (_qps(outcome, best) or 0.0) / slower if slower else float("inf")
    runs = f"medians of {best.runs} runs"
    if pair is None or pair.p_holm is None:
        why = pair.note if pair is not None and pair.note else "too few runs"
        return f"{head}, before {against} ({runs}); not tested: {why}."
    if pair.p_holm >= ALPHA:
        return f"{head}, and {against}: no difference is shown ({runs}, p = {pair.p_holm:.2g})."
    return f"{head}, {ratio:.2f}× {against} ({runs}, p = {pair.p_holm:.2g})."


def _front_sentence(outcome: Outcome) -> str:
    found = [point for point, on_front in zip(outcome.points(), outcome.on_front(), strict=True) if on_front]
    if not found:
        return "No verdict: nothing was measured."
    names = ", ".join(f"{point.system} {point.setting}" for point in found)
    return (
        f"On the front of recall and speed: {names}. Speeds at unequal recall are not compared; "
        "--target-recall 0.95 brings the stores to one recall first."
    )


def _qps(outcome: Outcome, point: Point) -> float | None:
    measured = dict(point.qps_measured).get(outcome.options.threads)
    return measured.median if measured is not None else None
