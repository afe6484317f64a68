"""How a figure grows with size: y = factor · size^exponent, by least squares on logarithms, with a t-interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.stats.quantiles import t_quantile

FEWEST_SIZES = 3
LEVEL = 0.95
TRIFLE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerLaw:
    """The exponent with its 95 % interval over sizes × runs; null with the reason in `note`.

    `last` is the exponent between the medians of the two largest sizes: where it leaves the interval, the curve bends.
    """

    exponent: float | None
    low: float | None
    high: float | None
    factor: float | None
    r2: float | None
    last: float | None
    sizes: int
    observations: int
    note: str = ""

    def at(self, size: float) -> float | None:
        """The fitted value at a size."""
        if self.exponent is None or self.factor is None:
            return None
        return float(self.factor * size**self.exponent)

    @property
    def bends(self) -> bool:
        """Whether the growth between the two largest sizes clearly lies outside the interval."""
        if self.exponent is None or self.last is None or self.low is None or self.high is None:
            return False
        return not self.low <= self.last <= self.high and abs(self.last - self.exponent) > TRIFLE


def fit_power_law(points: Sequence[tuple[float, float | None]]) -> PowerLaw:
    """The power law through (size, value) pairs; every run of every size is one observation."""
    known = [(size, value) for size, value in points if value is not None]
    sizes = len({size for size, _ in known})
    if any(value <= 0 or not math.isfinite(value) for _, value in known):
        return _none(sizes, len(known), "a value is not positive, so it has no logarithm")
    if sizes < FEWEST_SIZES:
        return _none(
            sizes, len(known), f"{sizes} sizes were measured; {FEWEST_SIZES} are needed", _last(known)
        )
    x, y = (np.log(np.array(column, float)) for column in zip(*known, strict=True))
    around = x - x.mean()
    exponent = float(around @ y / (around @ around))
    level = float(y.mean() - exponent * x.mean())
    rest = y - level - exponent * x
    df = len(known) - 2
    error = math.sqrt(float(rest @ rest) / df / float(around @ around))
    half = t_quantile((1 + LEVEL) / 2, df) * error
    spread = float((y - y.mean()) @ (y - y.mean()))
    r2 = 1 - float(rest @ rest) / spread if spread > 0 else None
    return PowerLaw(
        exponent=exponent,
        low=exponent - half,
        high=exponent + half,
        factor=math.exp(level),
        r2=r2,
        last=_last(known),
        sizes=sizes,
        observations=len(known),
    )


def _none(sizes: int, observations: int, note: str, last: float | None = None) -> PowerLaw:
    return PowerLaw(
        exponent=None,
        low=None,
        high=None,
        factor=None,
        r2=None,
        last=last,
        sizes=sizes,
        observations=observations,
        note=note,
    )


def _last(known: Sequence[tuple[float, float]]) -> float | None:
    sizes = sorted({size for size, _ in known})[-2:]
    if len(sizes) < 2:
        return None
    small, large = (float(np.median([value for size, value in known if size == one])) for one in sizes)
    return math.log(large / small) / math.log(sizes[1] / sizes[0])
