"""Pairs of systems: the best against each other, all pairs, and query by query against the runner-up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bakeoff.report.render import number_text as say
from bakeoff.report.sections.parts import Axis, IntervalChart, IntervalRow
from bakeoff.report.sections.systems import SHOWN
from bakeoff.runs.score_grid import ScoreGrid
from bakeoff.runtime.count_text import UNKNOWN, decimal, decimal_range
from bakeoff.stats.comparison import Comparison, PairComparison

PAIRS_SHOWN = 60
STEPS = 50
"""Scores of a pair are rounded to this step, so that equal queries share a dot."""


@dataclass(frozen=True, slots=True)
class SharedDot:
    """The number of queries on which two systems have these scores."""

    x: float
    y: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTable:
    """Comparisons from the better-ranked system's side; `dots` compare the top two."""

    best: str
    against: tuple[PairComparison, ...]
    pairs: tuple[PairComparison, ...]
    total: int
    correction: str
    alpha: float
    dots: tuple[SharedDot, ...]

    @property
    def beaten(self) -> int:
        """How many of the shown systems the best is shown to beat."""
        return sum(pair.better == self.best for pair in self.against)


def pairs_to_show(comparison: Comparison, ordered: tuple[str, ...], grid: ScoreGrid) -> PairTable | None:
    """The pairs to show; None if there are fewer than two systems."""
    if comparison.best is None or len(ordered) < 2:
        return None
    best, places = comparison.best, {system: place for place, system in enumerate(ordered)}
    turned = [pair if places[pair.a] < places[pair.b] else pair.reverse() for pair in comparison.pairs]
    turned.sort(key=lambda pair: (places[pair.a], places[pair.b]))
    return PairTable(
        best=best,
        against=tuple(pair for pair in turned if pair.a == best)[: SHOWN - 1],
        pairs=tuple(turned[:PAIRS_SHOWN]),
        total=len(turned),
        correction="Holm" if comparison.correction == "holm" else "max-T",
        alpha=comparison.alpha,
        dots=_dots(grid, comparison.measure, ordered[0], ordered[1]),
    )


def lead(pair: PairComparison) -> tuple[float | None, float | None, float | None]:
    """How far the first of a pair is ahead, with its interval, for either direction of the measure."""
    if pair.higher_is_better:
        return pair.difference, pair.interval.low, pair.interval.high
    turned = pair.interval.negate()
    return (None if pair.difference is None else 0.0 - pair.difference), turned.low, turned.high


def lead_chart(pairs: PairTable, measure: str) -> IntervalChart:
    """The best system's lead over each other one with its interval; right of 0 the best is ahead, grey is tied."""
    rows = []
    for pair in pairs.against:
        value, low, high = lead(pair)
        note = f" {say.interval(low, high)}, n {pair.n}"
        rows.append(IntervalRow(pair.b, value, low, high, quiet=not pair.separated, note=note))
    axis = Axis(f"lead in {measure}", say.format_signed, log=False, higher_is_better=True)
    return IntervalChart(tuple(rows), axis, zero=True)


def pair_facts(pair: PairComparison, name: str, mark: str = "") -> list[tuple[str, str]]:
    """What a comparison of two systems shows, one fact per row; `mark` follows means of incomplete truth."""
    interval = decimal_range(pair.interval.low, pair.interval.high, 4)
    return [
        (f"{name} of {pair.a}", decimal(pair.mean_a, 4) + mark),
        (f"{name} of {pair.b}", decimal(pair.mean_b, 4) + mark),
        (
            "difference",
            f"{decimal(pair.difference, 4)} {interval if interval != UNKNOWN else '(no interval)'}",
        ),
        ("better, worse, equal", f"{pair.wins}, {pair.losses}, {pair.ties} of {say.questions(pair.n)}"),
        *_cluster_facts(pair),
        ("p (Holm over all pairs)", say.p_value(pair.p_holm if pair.n else None)),
        ("p (Wilcoxon, this pair alone)", say.p_value(pair.p_wilcoxon)),
        ("smallest detectable difference", decimal(pair.mdd, 4)),
        ("better system", pair.better or "not distinguishable"),
    ]


def _cluster_facts(pair: PairComparison) -> list[tuple[str, str]]:
    """Facts on questions that share documents; empty if every question is independent."""
    depends = pair.dependence
    if depends is None or pair.clusters == pair.n:
        return []
    effect = (
        f"correlation within a cluster {decimal(depends.icc, 2)}, design effect {depends.design_effect:.2f}"
    )
    return [
        ("clusters of questions", f"{pair.clusters:,} ({effect})"),
        ("effective independent questions", f"{pair.effective_n:.0f}"),
    ]


def _dots(grid: ScoreGrid, measure: str, first: str, second: str) -> tuple[SharedDot, ...]:
    """Queries by the scores of two systems, rounded to the grid's step."""
    both = np.stack([grid.row(measure, second), grid.row(measure, first)])
    both = both[:, ~np.isnan(both).any(axis=0)]
    step = max(float(both.max(initial=0.0)), 1.0) / STEPS
    cells, counts = np.unique(np.round(both / step), axis=1, return_counts=True)
    return tuple(
        SharedDot(float(x * step), float(y * step), int(n)) for (x, y), n in zip(cells.T, counts, strict=True)
    )
