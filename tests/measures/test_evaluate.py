"""The vectorised evaluator against the worked example, the plain formulas, brute force over unjudged items and over ties."""

from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff.errors import DataError
from bakeoff.measures.arrays import JudgmentArrays, RankingArrays
from bakeoff.measures.conventions import DEFAULT, TREC_EVAL
from bakeoff.measures.definitions import Bounds
from bakeoff.measures.evaluate import QueryExclusion, ScoreArrays, evaluate, evaluate_blocks
from bakeoff.measures.names import Measure, parse
from bakeoff.measures.reference import RankedGrades, bounds, score

NAMES = [
    "P@1",
    "P@3",
    "P@10",
    "P@3(rel=2)",
    "R@3",
    "R@10(rel=2)",
    "R_cap@3",
    "Hit@1",
    "Hit@3",
    "RR",
    "RR@2",
    "AP",
    "AP@3",
]
NAMES += [
    "nDCG",
    "nDCG@3",
    "nDCG@10",
    "nDCG_exp@5",
    "Rprec",
    "bpref",
    "infAP",
    "RBP(p=0.8)",
    "RBP@3(p=0.5)",
    "Judged@5",
]
MEASURES = tuple(parse(name) for name in NAMES)

Query = tuple[list[int | None], list[int]]


def arrays(
    queries: list[Query], scores: list[list[float]] | None = None
) -> tuple[RankingArrays, JudgmentArrays]:
    """Rankings and judgments: each query is the grades of its results (None: not in the judgments) and of what was missed."""
    results, judged = [], []
    for query, (ranking, missed) in enumerate(queries):
        for place, grade in enumerate(ranking):
            results.append((query, place, scores[query][place] if scores else -float(place)))
            if grade is not None:
                judged.append((query, place, grade))
        judged += [(query, 1000 + place, grade) for place, grade in enumerate(missed)]
    table = np.array(results, dtype=float).reshape(-1, 3)
    truth = np.array(judged, dtype=np.int64).reshape(-1, 3)
    rankings = RankingArrays(table[:, 0].astype(int), table[:, 1].astype(int), table[:, 2])
    return rankings, JudgmentArrays.from_columns(truth[:, 0], truth[:, 1], truth[:, 2])


def of(scores: ScoreArrays, name: str, row: int = 0) -> float:
    return float(scores.values[row, [str(m) for m in scores.measures].index(name)])


# --- the worked example and the vectors of the sources ----------------------------------------------


def test_the_worked_example() -> None:
    names = ["P@10", "AP", "nDCG@10", "nDCG_exp@10"]
    scores = evaluate(*arrays([([1, 0, 3, 0], [2, 1, 1])]), [parse(name) for name in names])
    assert scores.values[0] == pytest.approx([0.2, 1 / 3, 0.4480777, 0.4407306], abs=1e-7)


def test_d1_d2_reciprocal_ranks() -> None:
    scores = evaluate(*arrays([([1], []), ([0, 1], []), ([0, 0, 0, 0, 1], [])]), [parse("RR")])
    assert scores.values[:, 0] == pytest.approx([1, 0.5, 0.2])
    assert scores.means()[0] == pytest.approx(0.5667, abs=5e-5)
    assert of(evaluate(*arrays([([0, 0, 1], [])]), [parse("RR")]), "RR") == pytest.approx(0.3333, abs=5e-5)


def test_d3_ten_of_a_hundred() -> None:
    measures = [parse(name) for name in ("R@10", "P@10", "R_cap@10")]
    scores = evaluate(*arrays([([1] * 10, [1] * 90)]), measures)
    assert scores.values[0] == pytest.approx([0.1, 1.0, 1.0])


@pytest.mark.parametrize("k", [1, 5, 10, 50, 100])
def test_s1_10_recall_is_precision_times_k_over_100(k: int) -> None:
    ranking: list[int | None] = [1 if place % 3 else None for place in range(k)]
    found = sum(grade == 1 for grade in ranking)
    scores = evaluate(*arrays([(ranking, [1] * (100 - found))]), [parse(f"R@{k}"), parse(f"P@{k}")])
    assert of(scores, f"R@{k}") == pytest.approx(of(scores, f"P@{k}") * k / 100)


# --- against the plain formulas ---------------------------------------------------------------------

grades = st.one_of(st.none(), st.integers(-1, 3))
queries = st.tuples(st.lists(grades, max_size=12), st.lists(st.integers(-1, 3), max_size=5))


@settings(max_examples=50, deadline=None)
@given(st.lists(queries, min_size=1, max_size=6))
def test_the_evaluator_equals_the_plain_formulas_and_their_bounds(rows: list[Query]) -> None:
    if not any(ranking or missed for ranking, missed in rows):
        return
    scores = evaluate(*arrays(rows), MEASURES, queries=np.arange(len(rows)))
    for at, (ranking, missed) in enumerate(rows):
        ranked = RankedGrades(ranking, [grade for grade in ranking if grade is not None] + missed)
        for column, measure in enumerate(MEASURES):
            got = scores.values[at, column]
            if measure.name != "Judged" and not ranked.relevant(measure):
                assert np.isnan(got)
                continue
            assert got == pytest.approx(score(ranked, measure), abs=1e-12), measure
            ends = bounds(ranked, measure)
            found = scores.lower[at, column], scores.upper[at, column]
            assert np.isnan(found).all() if ends is None else found == pytest.approx(ends, abs=1e-12), measure


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(0, 1)), min_size=1, max_size=6), st.integers(0, 2))
def test_claimed_bounds_hold_for_every_way_to_judge_what_was_retrieved(
    ranking: list[int | None], missed: int
) -> None:
    claimed = [m for m in MEASURES if m.definition.bounds in (Bounds.BOTH, Bounds.UPPER) and m.rel is None]
    extra = [1] * (missed + 1)
    scores = evaluate(*arrays([(ranking, extra)]), claimed)
    unknown = [place for place, grade in enumerate(ranking) if grade is None]
    for guess in product((0, 1), repeat=len(unknown)):
        full = list(ranking)
        for place, grade in zip(unknown, guess, strict=True):
            full[place] = grade
        ranked = RankedGrades(full, [grade for grade in full if grade is not None] + extra)
        for column, measure in enumerate(claimed):
            value = score(ranked, measure)
            assert scores.lower[0, column] - 1e-12 <= value <= scores.upper[0, column] + 1e-12, measure


# --- ties -------------------------------------------------------------------------------------------


def orders(scores: list[float]) -> list[tuple[int, ...]]:
    """Every order of the results that the scores allow."""
    return [
        order
        for order in permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in pairwise(order))
    ]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(grades, st.integers(0, 2)), min_size=2, max_size=6),
    st.lists(st.integers(0, 3), max_size=2),
)
def test_tie_ranges_equal_the_enumeration_of_all_orders(
    rows: list[tuple[int | None, int]], missed: list[int]
) -> None:
    rows = sorted(rows, key=lambda row: -row[1])
    ranking, points = [grade for grade, _ in rows], [float(point) for _, point in rows]
    missed = [*missed, 1]
    scores = evaluate(*arrays([(ranking, missed)], [points]), MEASURES)
    judged = [grade for grade in ranking if grade is not None] + missed
    for column, measure in enumerate(MEASURES):
        if np.isnan(scores.values[0, column]) or measure.name == "infAP":
            continue
        every = [
            score(RankedGrades([ranking[at] for at in order], judged), measure) for order in orders(points)
        ]
        if max(every) - min(every) <= 1e-12:
            assert scores.tied_low is None or np.isnan(scores.tied_low[0, column])
            continue
        assert (
            scores.tied_low is not None and scores.tied_high is not None and scores.tied_expected is not None
        )
        found = (scores.tied_low[0, column], scores.tied_high[0, column], scores.tied_expected[0, column])
        assert found == pytest.approx((min(every), max(every), np.mean(every)), abs=1e-9), measure


def test_without_ties_there_are_no_tie_arrays() -> None:
    assert evaluate(*arrays([([1, 0, None], [])]), MEASURES).tied_low is None


# --- policies ---------------------------------------------------------------------------------------


def test_queries_without_truth_are_left_out_and_named_and_without_results_score_zero() -> None:
    rankings, judgments = arrays([([1, 0], []), ([0, 0], []), ([None], []), ([], [1])])
    scores = evaluate(rankings, judgments, [parse("P@2"), parse("Judged@2")])
    assert scores.values[:, 0] == pytest.approx([0.5, np.nan, np.nan, 0.0], nan_ok=True)
    assert scores.values[:, 1] == pytest.approx([1.0, 1.0, 0.0, 0.0])
    assert scores.excluded == (
        QueryExclusion(1, "no item of grade 1 or higher"),
        QueryExclusion(2, "no judgments"),
    )
    assert scores.means()[0] == pytest.approx(0.25)


def test_under_trec_eval_rules_empty_truth_scores_zero_and_missing_results_are_left_out() -> None:
    rankings, judgments = arrays([([1, 0], []), ([0, 0], []), ([None], []), ([], [1])])
    scores = evaluate(rankings, judgments, [parse("P@2")], conventions=TREC_EVAL)
    assert scores.values[:, 0] == pytest.approx([0.5, 0.0, np.nan, np.nan], nan_ok=True)
    assert scores.excluded == (QueryExclusion(2, "no judgments"), QueryExclusion(3, "no results"))


def test_a_stricter_rel_leaves_out_more_queries() -> None:
    scores = evaluate(*arrays([([1, 2], []), ([1, 1], [])]), [parse("P@2"), parse("P@2(rel=2)")])
    assert scores.values[:, 1] == pytest.approx([0.5, np.nan], nan_ok=True)
    assert scores.excluded == (QueryExclusion(1, "no item of grade 2 or higher"),)


def test_only_the_asked_queries_are_scored() -> None:
    rankings, judgments = arrays([([1], []), ([0, 1], []), ([1], [])])
    scores = evaluate(rankings, judgments, [parse("RR")], queries=np.array([2, 1]))
    assert scores.queries.tolist() == [1, 2]
    assert scores.values[:, 0].tolist() == [0.5, 1.0]


def test_repeated_items_and_no_queries_are_errors() -> None:
    twice = RankingArrays(np.array([0, 0]), np.array([7, 7]), np.array([2.0, 1.0]))
    truth = JudgmentArrays(np.array([0]), np.array([7]), np.array([1]))
    with pytest.raises(DataError, match=r"query 0.*item 7"):
        evaluate(twice, truth, [parse("P@2")])
    with pytest.raises(DataError):
        evaluate(
            twice.rows(0, 0), JudgmentArrays(truth.query[:0], truth.item[:0], truth.grade[:0]), [parse("P@2")]
        )


def test_blocks_give_what_one_piece_gives() -> None:
    rng = np.random.default_rng(3)
    depth = rng.integers(0, 9, 50)
    query = np.repeat(np.arange(50), depth)
    item = np.concatenate([rng.permutation(20)[:n] for n in depth])
    rankings = RankingArrays(query, item, rng.integers(0, 4, len(query)).astype(float))
    pool = rng.permutation(60 * 20)[:400]
    judgments = JudgmentArrays.from_columns(pool // 20, pool % 20, rng.integers(-1, 4, 400))
    whole = evaluate(rankings, judgments, MEASURES)
    parts = evaluate_blocks(rankings.blocks(7), judgments, MEASURES)
    for name in ("queries", "values", "lower", "upper", "tied_low", "tied_high", "tied_expected"):
        np.testing.assert_allclose(getattr(whole, name), getattr(parts, name), rtol=0, atol=1e-15)
    assert whole.excluded == parts.excluded
    with pytest.raises(DataError):
        evaluate_blocks([rankings, rankings], judgments, MEASURES)


def test_item_ids_may_be_any_64_bit_integers() -> None:
    far = np.array([2**62, -(2**62), 5])
    rankings = RankingArrays(np.array([0, 0, 9]), far, np.array([3.0, 2.0, 1.0]))
    judgments = JudgmentArrays.from_columns(np.array([0, 9]), np.array([-(2**62), 5]), np.array([1, 1]))
    assert evaluate(rankings, judgments, [parse("RR")]).values[:, 0].tolist() == [0.5, 1.0]


def test_ties_by_id_need_the_order_of_ids() -> None:
    rankings, judgments = arrays([([0, 1], [])], [[1.0, 1.0]])
    with pytest.raises(DataError, match="id_order"):
        evaluate(rankings, judgments, [parse("RR")], conventions=TREC_EVAL)
    named = RankingArrays(rankings.query, rankings.item, rankings.score, id_order=np.array([0, 1]))
    assert of(evaluate(named, judgments, [parse("RR")], conventions=TREC_EVAL), "RR") == 1.0
    assert of(evaluate(named, judgments, [parse("RR")], conventions=DEFAULT), "RR") == 0.5


def test_measures_of_one_name_but_other_parameters_are_kept_apart() -> None:
    ranking = arrays([([0, 1, 2], [])])
    scores = evaluate(*ranking, [Measure("RBP", p=0.5), Measure("RBP", p=0.9), Measure("RBP", 2, p=0.5)])
    assert scores.values[0] == pytest.approx([0.375, 0.1 * (0.9 + 0.81), 0.25])
