"""Section accuracy with and without universal sections: D-4, D-5, D-9."""

from dataclasses import replace

import pytest

from bakeoff.errors import TruthError
from bakeoff.measures.conventions import DEFAULT
from bakeoff.measures.presets import preset
from bakeoff.measures.sections import matches, section_scores

CONTAINS = preset("goldsql").conventions


def test_d4_six_causes_two_conclusions_two_analyses() -> None:
    sections = ["PROBABLE CAUSE"] * 6 + ["CONCLUSIONS"] * 2 + ["ANALYSIS"] * 2
    scores = section_scores(sections, ["PROBABLE CAUSE", "CONCLUSIONS"], 10)
    assert scores.primary == pytest.approx(0.80) == scores.universal


def test_d5_the_bad_and_the_good_example() -> None:
    targets = ["PROBABLE CAUSE"]
    bad = section_scores(["WRECKAGE", "SYNOPSIS", "PROBABLE CAUSE", "WEATHER", "FIRE"], targets, 5, CONTAINS)
    assert (bad.primary, bad.universal) == pytest.approx((0.2, 0.4))
    good = section_scores([*targets * 4, "ANALYSIS"], targets, 5, CONTAINS)
    assert (good.primary, good.universal) == pytest.approx((0.8, 0.8))


@pytest.mark.parametrize("rules", [DEFAULT, CONTAINS])
def test_d9_numbered_and_differently_cased_names_match(rules) -> None:  # type: ignore[no-untyped-def]
    assert matches("(b) PROBABLE CAUSE", ["PROBABLE CAUSE"], rules)
    assert matches("1.16  Probable\ncause", ["probable cause"], rules)
    assert not matches("CAUSE", ["PROBABLE CAUSE"], rules)


def test_whole_words_do_not_match_inside_longer_words() -> None:
    assert not matches("PREFLIGHT BRIEFING", ["BRIEF"])
    assert matches("PREFLIGHT BRIEFING", ["BRIEF"], CONTAINS)


def test_c7_divided_by_k_or_by_what_was_returned() -> None:
    short = section_scores(["FIRE", "FIRE", "OTHER"], ["FIRE"], 10)
    assert (short.primary, short.returned) == pytest.approx((0.2, 2 / 3))
    assert section_scores([], ["FIRE"], 10).returned == 0.0


def test_f11_widening_the_universal_list_shows_and_is_part_of_the_conventions() -> None:
    wide = replace(DEFAULT, universal_sections=(*DEFAULT.universal_sections, "ANALYSIS"))
    sections = ["PROBABLE CAUSE", "ANALYSIS"]
    assert section_scores(sections, ["PROBABLE CAUSE"], 2).universal == 0.5
    widened = section_scores(sections, ["PROBABLE CAUSE"], 2, wide)
    assert (widened.universal, widened.primary) == (1.0, 0.5)
    assert wide != DEFAULT


def test_a_query_without_results_scores_zero_and_one_without_targets_is_an_error() -> None:
    assert section_scores([], ["FIRE"], 10).universal == 0.0
    with pytest.raises(TruthError):
        section_scores(["FIRE"], [], 10)
