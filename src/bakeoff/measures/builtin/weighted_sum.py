"""Base class of measures that sum gain × rank weight and divide by a norm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bakeoff.measures.definitions import MeasureDefinition
from bakeoff.measures.lazy import kernels, np

if TYPE_CHECKING:
    from bakeoff.measures.arrays import Flags, Floats, Ints
    from bakeoff.measures.kernels import HitBlock
    from bakeoff.measures.names import Measure
    from bakeoff.measures.ties import TiedRange


class WeightedSum(MeasureDefinition):
    """Σ gain(grade) · weight(rank) / norm; the mean over orders of tied results uses the mean weight of tied
    ranks."""

    def counts(self, block: HitBlock, measure: Measure, grade: Ints) -> Flags:
        """Whether an item of that grade adds to the measure."""
        return grade >= block.threshold(measure)

    def gain(self, grade: Ints) -> Floats:
        """Worth of an item of that grade, if it counts."""
        return np.ones(len(grade))

    def weight(self, block: HitBlock, measure: Measure, row: Ints, rank: Ints) -> Floats:
        """Worth of a rank, 0 below the cut-off."""
        return np.ones(len(rank)) if measure.k is None else (rank <= measure.k).astype(np.float64)

    def norm(self, block: HitBlock, measure: Measure) -> Floats:
        """Divisor of each query's sum."""
        return np.ones(block.size)

    def values(self, block: HitBlock, measure: Measure) -> Floats:
        hits = block.hits
        keep = self.counts(block, measure, hits.grade)
        weight = self.weight(block, measure, hits.row, hits.rank) * keep
        total = block.count(hits.row, self.gain(hits.grade) * weight)
        return kernels.ratio(total, self.norm(block, measure))

    def expected_value(self, tied: TiedRange, block: HitBlock, measure: Measure) -> Floats:
        weight = tied.mean_over_group(self.weight(block, measure, tied.row, tied.rank))
        gain = self.gain(tied.grade) * self.counts(block, measure, tied.grade)
        return kernels.ratio(block.count(tied.row, gain * weight), self.norm(block, measure))
