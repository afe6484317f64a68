"""What a load found, in one sentence a system; speeds of unequal quality are told, never ranked (F36)."""

from __future__ import annotations

from bakeoff.load.points import LoadPoint
from bakeoff.load.pressure import Pressed
from bakeoff.load.rates import Slo
from bakeoff.stats.runs import summarise


def sentence(found: Pressed) -> str:
    """All of it in one line."""
    if found.stopped:
        return f"Partial: {found.stopped}; what was measured is kept."
    lines = sentences(found)
    return " ".join(lines) if lines else "Nothing was measured."


def sentences(found: Pressed) -> tuple[str, ...]:
    """One sentence for each system that was measured."""
    if found.demand.slo is not None:
        return tuple(_highest(found, system, found.demand.slo) for system in found.highest)
    points = found.points()
    systems = dict.fromkeys(point.system for point in points)
    return tuple(_best(system, [point for point in points if point.system == system]) for system in systems)


def _best(system: str, points: list[LoadPoint]) -> str:
    """The most a closed loop answered, or the rates of an open loop that were held and not."""
    if points[0].load.kind == "closed":
        best = max(points, key=lambda point: point.qps.median or 0.0)
        return f"{system}: {best.qps.median or 0:,.0f} queries a second with {best.load.name}."
    missed = [point for point in points if point.reached is False]
    held = [point for point in points if point.reached]
    if not missed:
        top = held[-1]
        return f"{system} holds {top.load.name}, p99 {_ms(top.percentile(99))}."
    worst = missed[0]
    answered = f"{worst.qps.median or 0:,.0f} a second were answered"
    return f"{system} does not hold {worst.load.name}: {answered}."


def _highest(found: Pressed, system: str, slo: Slo) -> str:
    rates = [one.rate for one in found.highest[system]]
    kept = [rate for rate in rates if rate is not None]
    promise = f"p{slo.percentile} below {slo.milliseconds:g} ms"
    if not kept:
        return f"{system} keeps {promise} at no rate that was tried."
    summary = summarise(kept)
    spread = f" ({summary.q1:,.0f}–{summary.q3:,.0f} over {summary.n} runs)" if summary.n > 1 else ""
    missed = (
        f"; in {len(rates) - len(kept)} of {len(rates)} runs at no rate" if len(kept) < len(rates) else ""
    )
    return f"{system} keeps {promise} up to {summary.median:,.0f} queries a second{spread}{missed}."


def _ms(value: float | None) -> str:
    return "not known" if value is None else f"{value:,.1f} ms"
