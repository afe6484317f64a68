"""The findings of a load: systems compared over its runs, and sentences that its rows support (F57).

Speeds at unequal quality are not ranked (F36). The runs of a load are interleaved passes over one index; `top_k` in an
experiment repeats the build too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from bakeoff.benchmark.load.session import LoadSession
from bakeoff.benchmark.passes import LoadPoint
from bakeoff.benchmark.results.claims import (
    Sentence,
    claim,
    rate_claim,
    slo_claim,
    speed_claim,
    supported_sentences,
)
from bakeoff.benchmark.results.speeds import SpeedComparison, SpeedRow, SpeedRows, compare_speeds


@dataclass(frozen=True, slots=True)
class LoadComparison:
    """Two systems under one load; `measure` is qps in a closed loop, mean_ms in an open one, whose rate is fixed."""

    load: str
    measure: str
    pair: SpeedComparison

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        return {"load": self.load, "measure": self.measure, **asdict(self.pair)}


def compare_loads(points: Iterable[LoadPoint], seed: int) -> tuple[LoadComparison, ...]:
    """All pairs of systems under each load, by the values of their complete runs."""
    groups: dict[tuple[str, str], dict[str, tuple[float, ...]]] = {}
    for point in points:
        if point.complete and not point.probe:
            measure = "qps" if point.load.rate is None else "mean_ms"
            values = (point.qps if measure == "qps" else point.mean_ms).values
            groups.setdefault((point.load.name, measure), {})[point.system] = values
    return tuple(
        LoadComparison(load, measure, pair)
        for (load, measure), runs in groups.items()
        for pair in compare_speeds(runs, seed)
    )


def closing_sentences(session: LoadSession) -> tuple[Sentence, ...]:
    """The closing sentences: for each system its speed, and why it failed if it did."""
    if session.stopped:
        return (Sentence((f"Partial: {session.stopped}; what was measured is kept.",)),)
    rows = table_rows(session)
    sentences = tuple(_of_systems(session, rows))
    return supported_sentences(sentences, rows) if sentences else (Sentence(("Nothing was measured.",)),)


def table_rows(session: LoadSession) -> SpeedRows:
    """The rows of the table, as sentences need them."""
    highest = {system: tuple(one.rate for one in rates) for system, rates in session.highest.items()}
    return SpeedRows(tuple(_row(point) for point in session.points()), dict(session.failed), highest)


def _row(point: LoadPoint) -> SpeedRow:
    return SpeedRow(
        point.system,
        point.load.name,
        point.qps.values if point.complete else (),
        held=point.reached,
        p99=point.percentile(99),
        cut_short=point.cut_short,
    )


def _of_systems(session: LoadSession, rows: SpeedRows) -> Iterator[Sentence]:
    slo = session.demand.slo
    for system in dict.fromkeys((*(target.label for target in session.targets), *session.failed)):
        if slo is not None:
            if system in session.highest:
                promise = f"p{slo.percentile} below {slo.milliseconds:g} ms"
                yield Sentence((slo_claim(system, promise, rows.highest[system]), "."))
        else:
            mine = [row for row in rows.rows if row.system == system]
            yield from _rates(mine) if session.demand.rates else _fastest(system, mine)
        if system in session.failed:
            yield Sentence((claim("Failed", system=system, why=session.failed[system]), "."))


def _fastest(system: str, rows: list[SpeedRow]) -> Iterator[Sentence]:
    """The highest speed of a closed loop in complete runs."""
    measured = [row for row in rows if row.rate is not None]
    if measured:
        best = max(measured, key=lambda row: row.rate or 0.0)
        yield Sentence((f"{system}: ", speed_claim(best, best.setting), "."))
    yield from _cut_short(rows)


def _rates(rows: list[SpeedRow]) -> Iterator[Sentence]:
    """The first rate that was not reached, else the highest that was."""
    missed = [row for row in rows if row.held is False and row.rate is not None]
    reached = [row for row in rows if row.held]
    if missed:
        yield Sentence((rate_claim(missed[0]), "."))
    elif reached:
        yield Sentence((rate_claim(reached[-1]), "."))
    yield from _cut_short(rows)


def _cut_short(rows: list[SpeedRow]) -> Iterator[Sentence]:
    for row in rows:
        if row.cut_short:
            cut = claim("CutShort", system=row.system, setting=row.setting, runs=row.cut_short)
            yield Sentence((cut, "."))
