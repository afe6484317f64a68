"""The contract of measures."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from typing import ClassVar

import numpy as np
import pytest

from bakeoff.measures.arrays import JudgmentArrays, RankingArrays
from bakeoff.measures.catalogue import find_measure
from bakeoff.measures.ceilings import ceiling
from bakeoff.measures.conventions import DEFAULT
from bakeoff.measures.definitions import Bounds, Cutoff, MeasureDefinition, RequiredInput
from bakeoff.measures.evaluate import ScoreArrays, evaluate
from bakeoff.measures.explain import explain
from bakeoff.measures.names import Measure, parse
from bakeoff.measures.reference import RankedGrades

QUERIES, ITEMS, DEEPEST, SEEDS = 30, 12, 8, range(6)
MOST_JUDGED = 4
"""Most unjudged results of a ranking for which every judging is tried."""
TOLERANCE = 1e-9


class MeasureContract:
    """`values` agrees with `score`; bounds, ceiling and tie range hold; names print as they are parsed.

    `names` are the forms to check; by default the measure without parameters, at several depths.
    """

    name: ClassVar[str]
    names: ClassVar[tuple[str, ...]] = ()

    @pytest.fixture
    def definition(self) -> MeasureDefinition:
        found = find_measure(self.name)
        assert found is not None, f"no measure is registered as {self.name}"
        return found

    @pytest.fixture
    def measures(self, definition: MeasureDefinition) -> list[Measure]:
        depths = {Cutoff.REQUIRED: ("@1", "@3", "@10"), Cutoff.OPTIONAL: ("", "@1", "@3", "@10")}
        forms = self.names or [self.name + depth for depth in depths.get(definition.cutoff, ("",))]
        return [parse(form) for form in forms]

    def test_is_computed_from_judgments(self, definition: MeasureDefinition) -> None:
        assert definition.needs is RequiredInput.JUDGMENTS, (
            "a run gives other inputs only to built-in measures"
        )

    def test_is_explained(self, measures: list[Measure]) -> None:
        words = explain(measures[0])
        assert words.meaning.endswith(".") and words.formula

    def test_print_is_the_inverse_of_parse(self, measures: list[Measure]) -> None:
        definition = measures[0].definition
        assert all(parse(str(measure)) == measure for measure in measures)
        assert all(parse(str(one)).name == self.name for one in map(str.lower, map(str, measures)))
        depth = str(measures[0]).removeprefix(self.name)
        assert all(parse(long + depth) == measures[0] for long in definition.long_names)

    def test_values_agree_with_the_formula(self, measures: list[Measure]) -> None:
        for seed in SEEDS:
            sample = RandomRankings(seed)
            scores = sample.evaluate(measures)
            for row, ranked in enumerate(sample.rankings()):
                for value, measure in zip(scores.values[row], measures, strict=True):
                    if not np.isnan(value):
                        low, high = measure.definition.low, measure.definition.high
                        assert value == pytest.approx(
                            measure.definition.score(ranked, measure), abs=TOLERANCE
                        )
                        assert low - TOLERANCE <= value <= high + TOLERANCE, f"{measure} is outside its range"

    def test_the_best_of_all_rankings_reaches_the_ceiling(self, measures: list[Measure]) -> None:
        for seed in SEEDS:
            grades = np.random.default_rng(seed).integers(0, 2 + seed % 3, 1 + seed % 4).tolist()
            judgments = JudgmentArrays(np.zeros(len(grades), int), np.arange(len(grades)), np.array(grades))
            for measure in measures:
                best, rankings = ceiling(measure, judgments), every_ranking(grades)
                scored = [one for one in rankings if one.has_value(measure)]
                if best is not None and scored:
                    values = [measure.definition.score(one, measure) for one in scored]
                    assert max(values) == pytest.approx(best[0], abs=TOLERANCE), f"{measure}: grades {grades}"

    def test_bounds_hold_for_every_judging(self, measures: list[Measure]) -> None:
        for seed in SEEDS:
            bounded = [one for one in measures if one.definition.bounds in (Bounds.BOTH, Bounds.UPPER)]
            sample = RandomRankings(seed)
            scores = sample.evaluate(measures)
            for row, ranked in enumerate(sample.rankings()):
                for measure in bounded:
                    column = measures.index(measure)
                    low, high = scores.lower[row, column], scores.upper[row, column]
                    for judged in every_judging(ranked) if not np.isnan(low) else ():
                        value = measure.definition.score(judged, measure)
                        assert low - TOLERANCE <= value <= high + TOLERANCE, (
                            f"{measure} is {value} if the grades are {judged.grades}, outside {low} to {high}"
                        )

    def test_bounds_contain_the_value(self, measures: list[Measure]) -> None:
        for seed in SEEDS:
            scores = RandomRankings(seed).evaluate(measures)
            known = ~np.isnan(scores.lower)
            assert (scores.lower[known] <= scores.values[known] + TOLERANCE).all()
            assert (scores.values[known] <= scores.upper[known] + TOLERANCE).all()

    def test_the_tie_range_contains_the_served_order(self, measures: list[Measure]) -> None:
        for seed in SEEDS:
            scores = RandomRankings(seed, levels=3).evaluate(measures)
            low, high, expected = scores.tied_low, scores.tied_high, scores.tied_expected
            if low is None or high is None or expected is None:
                continue
            for layer in (scores.values, expected):
                known = ~np.isnan(low) & ~np.isnan(layer)
                assert (low[known] <= layer[known] + TOLERANCE).all()
                assert (layer[known] <= high[known] + TOLERANCE).all()


def every_ranking(grades: list[int]) -> list[RankedGrades]:
    """Every ranking of some of these judged items and one unjudged."""
    items = [*grades, None]
    orders = (order for size in range(len(items) + 1) for order in permutations(items, size))
    return [RankedGrades(order, grades) for order in orders]


def every_judging(ranked: RankedGrades) -> Iterator[RankedGrades]:
    """The ranking with some of its unjudged results judged, in every way."""
    unjudged = [place for place, grade in enumerate(ranked.grades) if grade is None][:MOST_JUDGED]
    for added in product(sorted({0, 1, *ranked.judged}), repeat=len(unjudged)):
        grades = list(ranked.grades)
        for place, grade in zip(unjudged, added, strict=True):
            grades[place] = grade
        yield RankedGrades(grades, [*ranked.judged, *added], ranked.rel)


class RandomRankings:
    """Random rankings and judgments: graded, partly unjudged, some queries without relevant items or results."""

    def __init__(self, seed: int, levels: int = DEEPEST) -> None:
        self._random, self._top = np.random.default_rng(seed), 1 + seed % 3
        depths = self._random.integers(0, DEEPEST + 1, QUERIES)
        self._items = [self._random.permutation(ITEMS)[:depth] for depth in depths]
        self._scores = [-np.floor(np.arange(depth) * levels / DEEPEST) for depth in depths]
        self._grades = [self._judge(count) for count in self._random.integers(1, ITEMS, QUERIES)]

    def _judge(self, count: int) -> dict[int, int]:
        items = np.sort(self._random.permutation(ITEMS)[:count]).tolist()
        return dict(zip(items, self._random.integers(0, self._top + 1, count).tolist(), strict=True))

    def evaluate(self, measures: list[Measure]) -> ScoreArrays:
        """Scores of the vectorised evaluator, as in a run."""
        query = np.repeat(np.arange(QUERIES), [len(items) for items in self._items])
        rankings = RankingArrays(query, np.concatenate(self._items), np.concatenate(self._scores))
        judged = [(row, item, grade) for row, one in enumerate(self._grades) for item, grade in one.items()]
        judgments = JudgmentArrays(*np.array(judged).T)
        return evaluate(rankings, judgments, measures, queries=np.arange(QUERIES))

    def rankings(self) -> Iterator[RankedGrades]:
        """The same in plain Python."""
        for items, grades in zip(self._items, self._grades, strict=True):
            yield RankedGrades(
                [grades.get(item) for item in items.tolist()], list(grades.values()), DEFAULT.rel
            )
