"""Clusters of queries: what is drawn, what a column loses by them, and that queries alone change nothing."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff.errors import ComparisonError
from bakeoff.stats.bootstrap import BootstrapSettings, mean_interval
from bakeoff.stats.clusters import Clusters, dependence, effective_questions, intraclass_correlation
from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.evidence import Evidence
from bakeoff.stats.power import detectable_difference, queries_needed
from bakeoff.stats.tests import randomisations
from bakeoff.stats.verdict import decide

SETTINGS = BootstrapSettings(3, 2000)


def clustered(clusters: int, size: int, icc: float, seed: int = 1) -> tuple[np.ndarray, Clusters]:
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(clusters), size)
    shared, own = rng.normal(size=clusters)[codes], rng.normal(size=len(codes))
    return icc**0.5 * shared + (1 - icc) ** 0.5 * own, Clusters(codes)


def matrix(values: np.ndarray, clusters: tuple[str, ...] = ()) -> ScoreMatrix:
    systems, queries = values.shape
    names = tuple(f"q{i:03d}" for i in range(queries))
    return ScoreMatrix(
        tuple(f"s{i}" for i in range(systems)), names, values, "RR@10", bounds=None, clusters=clusters
    )


def test_codes_follow_first_appearance() -> None:
    assert Clusters.of(("b", "a", "b"), 3).codes.tolist() == [0, 1, 0]
    assert Clusters.of((), 3).alone
    kept = Clusters.of(("b", "a", "b", "c"), 4).among(np.array([False, True, True, True]))
    assert kept.codes.tolist() == [0, 1, 2]


def test_clusters_of_one_size_are_their_means() -> None:
    column, clusters = clustered(8, 5, 0.3)
    means = column.reshape(8, 5).mean(axis=1)
    assert clusters.linearise(column[:, None])[:, 0] == pytest.approx(means)
    assert clusters.df == 7
    ours, theirs = mean_interval(column, SETTINGS, clusters=clusters), mean_interval(means, SETTINGS)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))


def test_unequal_clusters_keep_the_mean_over_queries_and_lose_degrees_of_freedom() -> None:
    rng = np.random.default_rng(2)
    clusters = Clusters(np.repeat(np.arange(6), [1, 2, 3, 4, 5, 15]))
    columns = rng.normal(size=(30, 2))
    assert clusters.linearise(columns).mean(axis=0) == pytest.approx(columns.mean(axis=0))
    assert 1 < clusters.df < 5


def test_degrees_of_freedom_follow_from_the_covariance_of_the_deviations() -> None:
    """The sums over clusters equal the traces of the matrix they stand for."""
    sizes = np.array([1.0, 2, 3, 4, 5, 15])
    variance = sizes * (1 + (sizes - 1) * 0.1)
    residual = np.eye(6) - np.outer(sizes / sizes.sum(), np.ones(6))
    covariance = residual @ np.diag(variance) @ residual.T
    expected = np.trace(covariance) ** 2 / np.trace(covariance @ covariance)
    clusters = Clusters(np.repeat(np.arange(6), sizes.astype(int)))
    assert clusters.df == pytest.approx(expected)


def test_queries_alone_give_the_same_bits_with_and_without_labels() -> None:
    values = np.random.default_rng(4).uniform(size=(4, 30))
    plain, labelled = (compare(matrix(values, labels), 5) for labels in ((), tuple(map(str, range(30)))))
    assert plain.pairs == labelled.pairs
    assert plain.systems == labelled.systems
    assert plain.questions == labelled.questions


def test_the_order_of_queries_and_the_names_of_clusters_do_not_matter() -> None:
    values = np.random.default_rng(4).uniform(size=(3, 12))
    labels = tuple("aabbccddeeff")
    one = matrix(values, labels)
    order = list(range(11, -1, -1))
    other = ScoreMatrix(
        one.systems, tuple(one.queries[i] for i in order), values[:, order], "RR@10", bounds=None,
        clusters=tuple("xyzuvw"["abcdef".index(labels[i])] for i in order),
    )  # fmt: skip
    assert compare(one, 5).pairs == compare(other, 5).pairs


def test_signs_flip_by_cluster() -> None:
    """Three clusters of six equal differences are three differences, not eighteen."""
    values = np.vstack([np.full(18, 0.5), np.full(18, 0.2)])
    pair = compare(matrix(values, tuple("a" * 6 + "b" * 6 + "c" * 6)), 1).pairs[0]
    assert pair.p_randomisation == randomisations([0.3, 0.3, 0.3], seed=1)[0].p == pytest.approx(1 / 8)
    assert (pair.n, pair.clusters) == (18, 3)


def test_one_cluster_has_no_interval() -> None:
    values = np.random.default_rng(1).uniform(size=(2, 9))
    pair = compare(matrix(values, ("a",) * 9), 1).pairs[0]
    assert not pair.interval.defined
    assert pair.mdd is None
    assert not pair.separated


def test_equal_clusters_have_no_interval() -> None:
    """Spread within clusters alone would be resampled to a width of 0."""
    column = np.tile([0.1, 0.3], 5)
    interval = mean_interval(column, SETTINGS, clusters=Clusters(np.repeat(np.arange(5), 2)))
    assert not interval.defined


def test_the_correlation_and_design_effect_are_those_of_the_data() -> None:
    column, clusters = clustered(400, 5, 0.3)
    icc = intraclass_correlation(column, clusters)
    assert icc == pytest.approx(0.3, abs=0.05)
    found = dependence(column, clusters)
    assert found.design_effect == pytest.approx(1 + 4 * icc, rel=0.02)
    assert intraclass_correlation(column, Clusters.of((), len(column))) is None


def test_power_counts_what_clusters_leave() -> None:
    column, clusters = clustered(30, 10, 0.2)
    found = dependence(column, clusters)
    sd = float(column.std(ddof=1))
    alone, together = detectable_difference(sd, 300), detectable_difference(sd, 300, dependence=found)
    assert together / alone == pytest.approx(found.design_effect**0.5, rel=0.05)
    more = queries_needed(sd, 0.2, dependence=found)
    assert more == pytest.approx(queries_needed(sd, 0.2) * found.design_effect, rel=0.1)
    assert detectable_difference(sd, more, dependence=found) is not None


def test_effective_questions_are_never_more_than_there_are() -> None:
    rng = np.random.default_rng(3)
    codes = np.repeat(np.arange(20), 2)
    opposed = np.concatenate([[x, -x] for x in rng.normal(size=20)]) + rng.normal(0, 0.01, 40)
    found = effective_questions(opposed[:, None], Clusters(codes))
    assert found is not None
    assert found.design_effect < 1
    assert found.effective == 40
    assert (found.questions, found.clusters, found.largest) == (40, 20, 2)
    assert found.icc is not None
    assert found.icc < 0


def test_a_comparison_holds_the_effective_number_of_questions() -> None:
    column, clusters = clustered(30, 10, 0.4)
    values = np.vstack([0.5 + column / 10, np.full(300, 0.5)])
    questions = compare(matrix(values, tuple(map(str, clusters.codes))), 1).questions
    assert questions is not None
    assert (questions.questions, questions.clusters) == (300, 30)
    assert questions.effective == pytest.approx(300 / questions.design_effect)
    assert 50 < questions.effective < 120


def test_as_many_labels_as_queries() -> None:
    with pytest.raises(ComparisonError, match="2 clusters for 3 queries"):
        matrix(np.zeros((2, 3)), ("a", "b"))


def test_the_questions_that_would_hold_a_level_come_in_clusters() -> None:
    """A document that was not drawn takes six questions with it: 72 in 12 clusters are not settled by fewer."""
    rng = np.random.default_rng(2)
    values = np.stack([rng.uniform(0.3, 0.7, 72), rng.uniform(0.1, 0.5, 72)])
    labels = tuple(f"d{place // 6}" for place in range(72))
    alone = compare(matrix(values), seed=1, resamples=300).pairs[0].queries_for_level(1, 1.0)
    grouped = compare(matrix(values, labels), seed=1, resamples=300).pairs[0].queries_for_level(1, 1.0)
    assert alone is not None and grouped is not None
    assert 4 * alone < grouped < 8 * alone


def test_equality_is_shown_by_clusters_too() -> None:
    """149 equal questions show a difference below .02; of six about each document it takes six times as many."""
    values = np.full((2, 72), 0.5)
    labels = tuple(f"d{place // 6}" for place in range(72))
    for found, needed in ((matrix(values), "150"), (matrix(values, labels), "890")):
        sentence = decide(Evidence(compare(found, seed=1, resamples=300))).would_settle
        assert sentence is not None and needed in sentence
