"""The source systems' decision rules as data."""

from __future__ import annotations

import pytest

from bakeoff.presets.rules import read_bands, weighted_score

CURRENT = {"P@5": 0.82, "R@10": 0.91, "latency_ms": 45.0, "dims": 768.0}


def test_the_published_score_of_the_current_model() -> None:
    """D-6."""
    score = weighted_score(CURRENT)
    assert score.value == pytest.approx(0.781)
    assert score.clamped_value == score.value
    assert score.out_of_range == ()


def test_a_slow_model_goes_negative_and_says_so() -> None:
    score = weighted_score(CURRENT | {"latency_ms": 500.0, "dims": 3072.0})
    assert score.value == pytest.approx(0.4 * 0.82 + 0.3 * 0.91 - 0.2 * 1.5 - 0.1 * 2)
    assert score.clamped_value == pytest.approx(0.4 * 0.82 + 0.3 * 0.91)
    assert score.out_of_range == ("latency_ms", "dims")


def test_a_missing_value_is_no_score() -> None:
    score = weighted_score(CURRENT | {"latency_ms": None})
    assert score.value is None
    assert score.missing == ("latency_ms",)


GOOD = {"P@5": 0.85, "R@10": 0.95, "MRR": 0.8, "nDCG@5": 0.9, "latency_ms": 50.0}


@pytest.mark.parametrize(
    ("change", "overall", "text"),
    [
        ({}, "good", "Deploy model to production"),
        (
            {"P@5": 0.7, "R@10": 0.8, "MRR": 0.6, "nDCG@5": 0.6, "latency_ms": 150.0},
            "mediocre",
            "Investigate",
        ),
        ({"P@5": 0.5, "R@10": 0.6, "MRR": 0.4, "nDCG@5": 0.6, "latency_ms": 150.0}, "poor", "Don't use"),
        ({"P@5": 0.118, "R@10": 0.209, "MRR": 0.266}, "poor", "Don't use"),
        (
            {"P@5": 0.118, "R@10": 0.209, "MRR": 0.266, "nDCG@5": None, "latency_ms": None},
            "poor",
            "Don't use",
        ),
        ({"P@5": 0.7, "R@10": 0.8, "MRR": 0.6}, "mediocre", "Investigate"),
        ({"P@5": 0.118, "R@10": 0.8, "MRR": 0.266}, "mixed", "R@10 mediocre"),
        ({"P@5": 0.5}, "mixed", "P@5 poor"),
        ({"latency_ms": 150.0}, "mixed", "latency_ms not good"),
        ({"P@5": 0.8}, "mixed", "P@5 mediocre"),
        ({"MRR": None}, "incomplete", "MRR not computed"),
    ],
)
def test_bands_and_their_gaps(change: dict[str, float | None], overall: str, text: str) -> None:
    reading = read_bands(GOOD | change)
    assert reading.overall == overall
    assert text in reading.sentence


def test_boundary_values_are_mediocre() -> None:
    bands = dict(read_bands(GOOD | {"P@5": 0.6, "R@10": 0.9, "MRR": 0.5}).bands)
    assert (bands["P@5"], bands["R@10"], bands["MRR"]) == ("mediocre", "mediocre", "mediocre")


def test_the_numbers_of_s0_are_in_one_place() -> None:
    """The data file gives thresholds, weights and normalisers; measures and statistics read the same values."""
    from bakeoff.measures.preset_settings import read_preset_file
    from bakeoff.measures.presets import preset
    from bakeoff.presets.rules import S0_BANDS, S0_SCORE

    criteria = read_preset_file("lineage").criteria
    assert [(one.measure, one.good, one.poor) for one in criteria if one.measure] == [
        (one.measure, one.good, one.poor) for one in preset("lineage").targets
    ]
    assert {(one.name, one.weight, one.per) for one in S0_SCORE} == {
        ("P@5", 0.4, None),
        ("R@10", 0.3, None),
        ("latency_ms", 0.2, 200),
        ("dims", 0.1, 1024),
    }
    assert {(one.name, one.good, one.poor) for one in S0_BANDS} == {
        ("P@5", 0.8, 0.6),
        ("R@10", 0.9, 0.7),
        ("MRR", 0.7, 0.5),
        ("nDCG@5", 0.85, None),
        ("latency_ms", 100, None),
    }


def test_the_numbers_of_s4_are_in_one_place() -> None:
    """The data file gives the lines of the decisions; the rules read the same values."""
    from bakeoff.measures.preset_settings import read_preset_file
    from bakeoff.presets.rules import S4

    lines = read_preset_file("goldsql").decision
    assert dict(lines) == {"clear": S4.clear, "close": S4.close, "similar_wins": S4.similar_wins}
    assert (S4.clear, S4.close) == (0.10, 0.05)


def test_presets_of_source_systems_are_read_from_their_files() -> None:
    from bakeoff.measures.neighbours import TRUE_NEIGHBOURS
    from bakeoff.measures.preset_settings import read_preset_file
    from bakeoff.measures.presets import BY_NAME

    for name in ("lineage", "ann", "code", "vectordb", "goldsql"):
        data = read_preset_file(name)
        assert (BY_NAME[name].names, BY_NAME[name].primary) == (data.measures, data.primary)
    assert TRUE_NEIGHBOURS == 100
    assert (BY_NAME["vectordb"].runs, BY_NAME["vectordb"].top_k) == (3, (1, 3, 5, 10, 20))
