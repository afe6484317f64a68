"""The findings of a load in sentences that its rows support; speeds at unequal quality are not ranked (F36, F57)."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.benchmark.load.session import LoadSession
from bakeoff.benchmark.points import LoadPoint
from bakeoff.benchmark.results.claims import (
    Sentence,
    claim,
    rate_claim,
    slo_claim,
    speed_claim,
    supported_sentences,
)
from bakeoff.benchmark.results.speeds import SpeedRow, SpeedRows


def closing_sentences(found: LoadSession) -> tuple[Sentence, ...]:
    """The closing sentences: for each system its speed, and why it failed if it did."""
    if found.stopped:
        return (Sentence((f"Partial: {found.stopped}; what was measured is kept.",)),)
    rows = table_rows(found)
    sentences = tuple(_of_systems(found, rows))
    return supported_sentences(sentences, rows) if sentences else (Sentence(("Nothing was measured.",)),)


def table_rows(found: LoadSession) -> SpeedRows:
    """The rows of the table, as sentences need them."""
    highest = {system: tuple(one.rate for one in rates) for system, rates in found.highest.items()}
    return SpeedRows(tuple(_row(point) for point in found.points()), dict(found.failed), highest)


def _row(point: LoadPoint) -> SpeedRow:
    return SpeedRow(
        point.system,
        point.load.name,
        point.qps.values if point.complete else (),
        held=point.reached,
        p99=point.percentile(99),
        cut_short=point.cut_short,
    )


def _of_systems(found: LoadSession, rows: SpeedRows) -> Iterator[Sentence]:
    slo = found.demand.slo
    for system in dict.fromkeys((*(target.label for target in found.targets), *found.failed)):
        if slo is not None:
            if system in found.highest:
                promise = f"p{slo.percentile} below {slo.milliseconds:g} ms"
                yield Sentence((slo_claim(system, promise, rows.highest[system]), "."))
        else:
            mine = [row for row in rows.rows if row.system == system]
            yield from _rates(mine) if found.demand.rates else _fastest(system, mine)
        if system in found.failed:
            yield Sentence((claim("Failed", system=system, why=found.failed[system]), "."))


def _fastest(system: str, rows: list[SpeedRow]) -> Iterator[Sentence]:
    """The highest speed of a closed loop in complete runs."""
    known = [row for row in rows if row.rate is not None]
    if known:
        best = max(known, key=lambda row: row.rate or 0.0)
        yield Sentence((f"{system}: ", speed_claim(best, best.setting), "."))
    yield from _cut_short(rows)


def _rates(rows: list[SpeedRow]) -> Iterator[Sentence]:
    """The first rate that was not reached, else the highest that was."""
    missed = [row for row in rows if row.held is False and row.rate is not None]
    held = [row for row in rows if row.held]
    if missed:
        yield Sentence((rate_claim(missed[0]), "."))
    elif held:
        yield Sentence((rate_claim(held[-1]), "."))
    yield from _cut_short(rows)


def _cut_short(rows: list[SpeedRow]) -> Iterator[Sentence]:
    for row in rows:
        if row.cut_short:
            cut = claim("CutShort", system=row.system, setting=row.setting, runs=row.cut_short)
            yield Sentence((cut, "."))
