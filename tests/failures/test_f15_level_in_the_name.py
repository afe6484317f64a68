"""F15: a headline number at another level than the table beside it."""

from __future__ import annotations

import pytest

from bakeoff.errors import MeasureError
from bakeoff.measures.api import evaluate
from bakeoff.measures.names import parse
from bakeoff.measures.presets import PRESETS

QRELS = {"q": {"a": 1}}


def test_f15_the_level_is_part_of_the_printed_name() -> None:
    assert str(parse("ndcg@10.answer.regions")).startswith("nDCG@10(answer")
    assert parse("nDCG@10(answer)") != parse("nDCG@10(document)")
    assert list(evaluate(QRELS, {"q": ["a"]}, ["nDCG@10(answer)"]).mean) == ["nDCG@10(answer)"]


def test_f15_two_levels_are_never_scored_on_one_ranking() -> None:
    with pytest.raises(MeasureError, match="answer and document"):
        evaluate(QRELS, {"q": ["a"]}, ["nDCG@10(answer)", "nDCG@10(document)"])


def test_f15_a_value_of_one_level_is_not_found_under_another() -> None:
    result = evaluate(QRELS, {"q": ["a"]}, ["nDCG@10(answer)"])
    with pytest.raises(MeasureError, match="was not computed"):
        result.column("nDCG@10(document)")


def test_f15_every_preset_of_a_source_names_the_level_of_each_measure() -> None:
    for preset in PRESETS:
        if preset.source != "trec_eval":
            assert all(measure.unit for measure in preset.measures), preset.name
