"""Where the loss happens: from the best possible score down to the served one, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.errors import ComparisonError
from bakeoff.stats.arrays import FloatArray

CEILING = "best possible"
"""The stage before the first step: the measure's maximum on this truth, which counts as no loss."""
BEYOND_DEPTH = "beyond the depth"
"""The first step: what can't fit into a ranking of the run's depth."""
NOT_IN_TEXT = "not in the text"
"""The step up to which only the reader has worked."""
STEPS = (
    BEYOND_DEPTH,
    "in no chunk",
    "model misses",
    "index misses",
    "not placed",
    "fused or reranked away",
    "ranked too low",
)
"""Usual steps: what is too deep, what no chunk holds, exact search misses, the approximate index misses, a retriever
returned from outside the corpus, fusion or reranking loses, and what is found but ranked too low."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Best score each query could still reach after a step; NaN if not computed."""

    step: str
    reachable: FloatArray


@dataclass(frozen=True, slots=True)
class LossStep:
    """Mean points of the measure lost at a step; negative if the step regained points."""

    step: str
    lost: float
    share: float | None
    queries: int


@dataclass(frozen=True, slots=True)
class Waterfall:
    """The losses of one system from `start`, the best possible mean, to `end`; the steps add up to start − end."""

    start: float
    end: float
    steps: tuple[LossStep, ...]
    n: int
    dropped: int

    @property
    def sentence(self) -> str:
        """One line with the losses in points of 100, and the best possible mean if it is below 1."""
        start = [f"{CEILING} {100 * self.start:.0f} %"] if self.start < 1 - 5e-4 else []
        return " · ".join([*start, *(f"{step.step} {100 * step.lost + 0.0:.0f} %" for step in self.steps)])


def waterfall(stages: Sequence[Stage], perfect: float = 1.0) -> Waterfall:
    """Mean loss at each step over the queries computed at every step, and the number of queries that lose there.

    Starts at the stage `CEILING` if that comes first, else at `perfect`.
    """
    if stages and stages[0].step == CEILING:
        top, stages = stages[0].reachable, stages[1:]
    else:
        top = np.full(len(stages[0].reachable) if stages else 0, perfect)
    if not stages:
        raise ComparisonError("a loss analysis needs at least one step. Give the reachable score after each.")
    lengths = {len(top), *(len(stage.reachable) for stage in stages)}
    if len(lengths) > 1:
        raise ComparisonError(f"the steps have {sorted(lengths)} queries. Give every step the same queries.")
    matrix = np.vstack([top, *(stage.reachable for stage in stages)])
    complete = matrix[:, ~np.isnan(matrix).any(axis=0)]
    if complete.shape[1] == 0:
        raise ComparisonError("no query is computed at every step. Check which step has no scores.")
    lost = complete[:-1] - complete[1:]
    start, end = float(complete[0].mean()), float(complete[-1].mean())
    steps = tuple(_step(stage.step, row, start - end) for stage, row in zip(stages, lost, strict=True))
    return Waterfall(start, end, steps, complete.shape[1], matrix.shape[1] - complete.shape[1])


def _step(name: str, lost: FloatArray, total: float) -> LossStep:
    mean = float(lost.mean())
    return LossStep(name, mean, mean / total if total > 1e-12 else None, int((lost > 1e-12).sum()))
