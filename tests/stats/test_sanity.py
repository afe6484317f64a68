"""Results outside expected patterns are said with their values; sound ones pass in silence."""

from __future__ import annotations

from dataclasses import replace

from bakeoff.stats.sanity import GrowthFacts, SanityFacts, unusual_values

SOUND = SanityFacts(
    "nDCG@10",
    {"a": 0.6, "b": 0.7},
    (0.0, 1.0),
    [GrowthFacts("a", "R(document)", [(5, 0.5), (10, 0.5), (20, 0.8)])],
    {"a": [("p50", 4.0), ("p95", 9.0)]},
)


def said(seen: SanityFacts) -> str:
    return "\n".join(unusual_values(seen))


def test_sound_results_are_not_spoken_of() -> None:
    assert said(SOUND) == ""
    assert said(SanityFacts("nDCG@10", {})) == ""


def test_all_systems_at_the_floor_or_the_ceiling() -> None:
    low = said(replace(SOUND, means={"a": 0.0, "b": 0.01}))
    assert "above 0.010" in low and "truth" in low
    assert "0.998" in said(replace(SOUND, means={"a": 1.0, "b": 0.998}))
    assert "of 1.000. " in said(replace(SOUND, means={"a": 1.0, "b": 1.0}))
    assert said(replace(SOUND, means={"a": 0.0, "b": 0.9})) == ""


def test_a_count_of_tokens_has_no_floor_or_ceiling() -> None:
    assert said(SanityFacts("tokens@10", {"a": 1800.0}, (0.0, float("inf")))) == ""


def test_what_cannot_be_is_a_fault() -> None:
    assert "1.2, outside 0 to 1" in said(replace(SOUND, means={"a": 1.2, "b": 0.5}))
    falls = said(replace(SOUND, growing=[GrowthFacts("b", "Hit", [(10, 0.4), (5, 0.6)])]))
    assert "Hit@5 0.600 and Hit@10 0.400" in falls
    assert "p50 9 ms above p95 4 ms" in said(replace(SOUND, percentiles={"a": [("p50", 9.0), ("p95", 4.0)]}))


def test_latencies_that_no_search_has() -> None:
    assert "0.0001 ms" in said(replace(SOUND, percentiles={"a": [("p50", 0.0001)]}))
    assert "2e+04 ms" in said(replace(SOUND, percentiles={"a": [("p50", 20_000.0)]}))
