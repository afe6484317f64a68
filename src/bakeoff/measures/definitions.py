"""A measure as one class: its name, meaning, plain formula, array form, bounds, ties and ceiling."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from bakeoff.errors import MeasureError
from bakeoff.measures.lazy import np
from bakeoff.types import Unit

if TYPE_CHECKING:
    from bakeoff.measures.arrays import Floats
    from bakeoff.measures.kernels import HitBlock
    from bakeoff.measures.names import Measure
    from bakeoff.measures.reference import RankedGrades, Variant
    from bakeoff.measures.ties import TiedRange


class RequiredInput(StrEnum):
    """What a measure needs in addition to the ranking."""

    JUDGMENTS = "judgments"
    NEIGHBOURS = "exact neighbours"
    SECTIONS = "section names"
    LABELS = "review labels"
    SPANS = "character spans"
    TOP_SCORES = "top scores of negative queries"
    TOKENS = "token counts"


class Cutoff(StrEnum):
    """Whether a name has a depth `@k` or a score threshold `@t`."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    NONE = "none"
    THRESHOLD = "threshold"


class Bounds(StrEnum):
    """How reliable the lower and upper value over unjudged results are (C-23)."""

    BOTH = "both are true bounds: judging more can only move the value between them"
    UPPER = (
        "the upper value is a true bound; the lower one is not, because unretrieved relevant items lower it"
    )
    RANGE = (
        "neither is a true bound: they are values for unjudged results being relevant above or below the cut"
    )
    NONE = "not defined: the measure is made for incomplete judgments, or needs none"


_CONSTANT_CEILINGS = {"1": 1.0, "0": 0.0}


class MeasureDefinition:
    """One measure. A subclass gives `name`, `formula`, `meaning` and `score`; everything else has a default.

    ceiling         the best value on given truth, in words; the value itself is that of an ideal ranking
    bounds          what its values over unjudged results are worth
    params          parameters its name may carry, of `p` and `rel`
    long_names      other names it is parsed by
    graded          every positive grade counts, whatever the lowest relevant grade is
    needs_relevant  a query without relevant items has no value
    has_tie_range   the order of tied results can be varied; False where the value needs what ties hide
    bounds_by_count bounds hold also where ranks count chunks and units have gaps between them
    budget          a name may carry a token budget, `@500tokens`, in the place of a depth
    chunk_depth     k counts chunks, whatever the conventions are
    """

    name: ClassVar[str]
    formula: ClassVar[str]
    meaning: ClassVar[str]
    ceiling: ClassVar[str] = ""
    cutoff: ClassVar[Cutoff] = Cutoff.REQUIRED
    needs: ClassVar[RequiredInput] = RequiredInput.JUDGMENTS
    bounds: ClassVar[Bounds] = Bounds.NONE
    higher_is_better: ClassVar[bool] = True
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    params: ClassVar[tuple[str, ...]] = ()
    units: ClassVar[tuple[Unit, ...]] = tuple(Unit)
    long_names: ClassVar[tuple[str, ...]] = ()
    note: ClassVar[str] = ""
    graded: ClassVar[bool] = False
    needs_relevant: ClassVar[bool] = True
    has_tie_range: ClassVar[bool] = True
    bounds_by_count: ClassVar[bool] = False
    budget: ClassVar[bool] = False
    chunk_depth: ClassVar[bool] = False

    def score(self, ranked: RankedGrades, measure: Measure) -> float:
        """Value of one query with relevant items, in plain Python: the reference for `values`."""
        raise MeasureError(f"{measure} is computed from {self.needs}, not from rankings and judgments.")

    def values(self, block: HitBlock, measure: Measure) -> Floats:
        """Value of each query of a block; 0 without relevant items. By default computed by `score`."""
        return np.array(
            [self.score(ranked, measure) if ranked.has_value(measure) else 0.0 for ranked in block.rankings()]
        )

    def bound_values(self, block: HitBlock, measure: Measure, point: Floats) -> tuple[Floats, Floats]:
        """Lower and upper value of each query over unjudged results. By default computed by `score`."""
        from bakeoff.measures.reference import bounds

        ends = [bounds(one, measure) if one.has_value(measure) else None for one in block.rankings()]
        low, high = np.array([end or (0.0, 0.0) for end in ends]).reshape(-1, 2).T
        return low, high

    def expected_value(self, tied: TiedRange, block: HitBlock, measure: Measure) -> Floats:
        """Mean over all orders of tied results; NaN if no closed form is known."""
        return np.full(block.size, np.nan)

    def fixed_ceiling(self, measure: Measure) -> float | None:
        """Best value if it does not depend on judgments, else None."""
        return _CONSTANT_CEILINGS.get(self.ceiling)

    def variants(self, ranked: RankedGrades, measure: Measure) -> Iterator[Variant]:
        """What other tools compute under this name, each with its reason."""
        return iter(())

    def threshold(self, measure: Measure, rel: int) -> int:
        """The lowest relevant grade; `rel` is the conventions'."""
        if self.graded:
            return 1
        return rel if measure.rel is None else measure.rel
