"""Systems under the same load compared over its runs: Welch's test on logarithms, corrected for all pairs (Holm).

The runs of a load are interleaved passes over one index; `top_k` in an experiment repeats the build too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from bakeoff.benchmark.points import LoadPoint
from bakeoff.benchmark.results.speeds import SpeedComparison, compare_speeds


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
