"""A real project's 50 gold queries and two models: what follows from the stored rows, and what does not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy import stats

from bakeoff.presets.goldsql.decision import DECISION_A, DECISION_B, S4Case, decide_s4
from bakeoff.stats.bootstrap import BootstrapSettings
from bakeoff.stats.compare import CompareSettings, compare, compare_systems
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.evidence import Evidence
from bakeoff.stats.verdict import VerdictKind, decide

FOLDER = Path(__file__).resolve().parents[2].parent / "shared/data/riskradar-v1"
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the riskradar-v1 data set is not beside this checkout"
)

FILES = {"mika": "benchmark_mika_20260113_231228.json", "minilm": "benchmark_minilm_20260113_231218.json"}


def published(model: str) -> dict:
    return json.loads((FOLDER / "results" / FILES[model]).read_text(encoding="utf-8"))


def unscorable() -> dict[str, str]:
    """Queries whose truth gives reciprocal rank nothing to find, and why."""
    gold = yaml.safe_load((FOLDER / "gold_queries.yaml").read_text(encoding="utf-8"))
    reasons = {}
    for query in (
        one for part in gold.values() if isinstance(part, list) for one in part if isinstance(one, dict)
    ):
        truth = query["ground_truth"]
        if truth.get("expected_chunk_count") == 0 and not truth.get("expected_report_ids"):
            reasons[query["id"]] = "negative query, no relevant chunk expected"
        elif "verification_sql" not in truth and not truth.get("expected_report_ids"):
            reasons[query["id"]] = "truth names sections only"
    return reasons


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, float]]:
    return {
        model: {row["query_id"]: row["mrr"] for row in published(model)["query_results"]} for model in FILES
    }


def matrix(rows: dict[str, dict[str, float]], structural: dict[str, str]) -> ScoreMatrix:
    queries = tuple(rows["mika"])
    values = np.array([[rows[model][query] for query in queries] for model in FILES])
    return ScoreMatrix(tuple(FILES), queries, values, "MRR", structural=structural)


def test_eleven_queries_cannot_be_scored_by_reciprocal_rank() -> None:
    reasons = unscorable()
    assert sorted(reasons) == ["INC-010", *(f"SEC-{number:03d}" for number in range(1, 11))]
    assert reasons["INC-010"].startswith("negative query")
    assert {reasons[f"SEC-{number:03d}"] for number in range(1, 11)} == {"truth names sections only"}


def test_the_published_means_are_over_39_queries_under_the_name_of_50(
    rows: dict[str, dict[str, float]],
) -> None:
    comparison = compare(matrix(rows, unscorable()), seed=1)
    for model in FILES:
        stored = published(model)
        summary = comparison.summary(model)
        assert stored["total_queries"] == 50
        assert summary.n == 39
        assert summary.mean == pytest.approx(stored["aggregate_metrics"]["mean_mrr"], abs=1e-12)
        assert len(summary.excluded) == 11


def test_on_the_39_scorable_queries(rows: dict[str, dict[str, float]]) -> None:
    pair = compare(matrix(rows, unscorable()), seed=1).pair("mika", "minilm")
    assert pair.n == 39
    assert pair.difference == pytest.approx(0.11940310401848864, abs=1e-12)
    assert (pair.wins, pair.losses, pair.ties) == (14, 5, 20)
    assert {dropped.query for dropped in pair.dropped} == set(unscorable())
    assert all(dropped.reason.startswith("cannot be scored: ") for dropped in pair.dropped)
    assert pair.sd == pytest.approx(0.3797, abs=0.001)
    assert pair.mdd == pytest.approx(0.175, abs=0.01)
    assert pair.interval.low == pytest.approx(-0.003, abs=0.004)
    assert pair.interval.high == pytest.approx(0.242, abs=0.006)


def test_on_all_50_with_structural_ties_counted(rows: dict[str, dict[str, float]]) -> None:
    pair = compare(matrix(rows, {}), seed=1).pair("mika", "minilm")
    assert pair.n == 50
    assert pair.difference == pytest.approx(0.11940310401848864 * 39 / 50, abs=1e-12)
    assert (pair.wins, pair.losses, pair.ties) == (14, 5, 31)
    assert pair.mdd == pytest.approx(0.137, abs=0.005)
    assert pair.interval.low == pytest.approx(-0.002, abs=0.004)
    assert pair.interval.high == pytest.approx(0.190, abs=0.006)


def test_what_the_source_expected_of_its_models(rows: dict[str, dict[str, float]]) -> None:
    """MIKA was expected to excel on conceptual and hard queries, MiniLM to keep up on easy ones at twice the speed."""
    labels = {
        row["query_id"]: (row["category"], row["difficulty"]) for row in published("mika")["query_results"]
    }
    differences = {}
    for label in ("conceptual_queries", "hard", "incident_lookup", "easy"):
        kept = [query for query in rows["mika"] if label in labels[query] and query not in unscorable()]
        some = {model: {query: rows[model][query] for query in kept} for model in FILES}
        pair = compare(matrix(some, {}), seed=1).pair("mika", "minilm")
        assert not pair.separated, f"{label} separates the two"
        differences[label] = (pair.n, round(pair.difference, 3))
    assert differences == {
        "conceptual_queries": (12, 0.175),
        "hard": (14, 0.114),
        "incident_lookup": (9, 0.139),
        "easy": (9, 0.139),
    }
    times = {model: published(model)["latency_stats"]["mean_total_ms"] for model in FILES}
    assert times["mika"] / times["minilm"] == pytest.approx(1.34, abs=0.01)


@pytest.mark.slow
def test_tests_agree_with_scipy(rows: dict[str, dict[str, float]]) -> None:
    pair = compare(matrix(rows, unscorable()), seed=1).pair("mika", "minilm")
    kept = [query for query in rows["mika"] if query not in unscorable()]
    difference = np.array([rows["mika"][query] - rows["minilm"][query] for query in kept])
    flips = stats.permutation_test(
        (difference,), np.mean, permutation_type="samples", n_resamples=10_000, rng=1
    )
    normal = stats.wilcoxon(difference, method="approx", correction=False)
    percentile = compare_systems(
        matrix(rows, unscorable()), CompareSettings(BootstrapSettings(1, method="percentile"))
    ).pairs[0]
    theirs = stats.bootstrap((difference,), np.mean, n_resamples=10_000, method="percentile", rng=1)
    width = theirs.confidence_interval.high - theirs.confidence_interval.low
    assert pair.p_randomisation == pytest.approx(flips.pvalue, abs=0.01)
    assert pair.p_wilcoxon == pytest.approx(normal.pvalue, abs=0.01)
    assert percentile.interval.low == pytest.approx(theirs.confidence_interval.low, abs=0.05 * width)
    assert percentile.interval.high == pytest.approx(theirs.confidence_interval.high, abs=0.05 * width)


def test_the_stored_recommendation_does_not_follow(rows: dict[str, dict[str, float]]) -> None:
    """The files recommend MIKA; with a 95 % interval that covers, these queries do not tell the two apart."""
    comparison = compare(matrix(rows, unscorable()), seed=1)
    verdict = decide(Evidence(comparison))
    assert verdict.kind is VerdictKind.CANT_TELL
    assert verdict.would_settle is not None
    assert "Not counted: 10 questions (SEC-001, SEC-002" in " ".join(verdict.reasons)
    case = S4Case(comparison.pair("mika", "minilm"))
    assert decide_s4(case, DECISION_A).choice == "inconclusive"
    assert decide_s4(case, DECISION_B).choice == "inconclusive"
