"""Conventions travel with a result, and results of different conventions are not compared."""

from dataclasses import fields, replace

import pytest

from bakeoff.errors import ComparisonError, DataError, MeasureError
from bakeoff.measures.conventions import DEFAULT, FIXED, TREC_EVAL, Conventions, affected_by, check_same
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import parse
from bakeoff.measures.presets import PRESETS, preset


@pytest.mark.parametrize("rules", [DEFAULT, TREC_EVAL, *(one.conventions for one in PRESETS)])
def test_a_block_survives_json(rules: Conventions) -> None:
    import json

    assert Conventions.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules


def test_unknown_and_missing_keys_are_errors() -> None:
    with pytest.raises(DataError, match="surprise"):
        Conventions.from_dict({**DEFAULT.to_dict(), "surprise": 1})
    short = DEFAULT.to_dict()
    del short["gain"]
    with pytest.raises(DataError, match="gain"):
        Conventions.from_dict(short)
    with pytest.raises(DataError, match="'random'"):
        Conventions.from_dict({**DEFAULT.to_dict(), "order": "random"})


def test_comparing_different_conventions_names_what_differs() -> None:
    other = replace(DEFAULT, rel=2, empty_truth="zero")
    with pytest.raises(ComparisonError, match=r"rel: 1 \| 2; empty_truth: exclude \| zero"):
        check_same(DEFAULT, other)
    assert len(check_same(DEFAULT, other, allow_mixed=True)) == 2
    assert check_same(DEFAULT, Conventions()) == ()


def test_every_preset_parses_and_its_targets_are_among_its_measures() -> None:
    assert {one.name for one in PRESETS} == {"trec_eval", "lineage", "ann", "code", "vectordb", "goldsql"}
    for one in PRESETS:
        names = [str(measure) for measure in one.measures]
        assert names == list(one.names)
        assert one.primary in names
        assert {target.measure for target in one.targets} <= set(names)


def test_presets_are_found_by_source_and_unknown_ones_get_a_hint() -> None:
    assert preset("s4") is preset("goldsql")
    with pytest.raises(MeasureError):
        preset("goldsqll")


def test_the_ann_preset_reports_its_own_recall_beside_the_usual_one() -> None:
    needs = {str(measure): measure.definition.needs for measure in preset("ann").measures}
    assert (
        needs["kNN@10(vector)"] is RequiredInput.NEIGHBOURS
        and needs["R100@10(vector)"] is RequiredInput.NEIGHBOURS
    )


def test_what_is_the_same_in_every_result_is_written_and_checked() -> None:
    assert DEFAULT.to_dict().items() >= FIXED.items()
    with pytest.raises(DataError, match="collapse"):
        Conventions.from_dict({**DEFAULT.to_dict(), "collapse": "none"})


@pytest.mark.parametrize(
    "wrong",
    [
        {"rel": 0},
        {"overlap_share": 2},
        {"knn_tolerance": -1},
        {"k_counts": "words"},
        {"universal_sections": [1]},
        {"kcounts": "chunks"},
    ],
)
def test_a_wrong_choice_names_the_field(wrong: dict[str, object]) -> None:
    (name,) = wrong
    with pytest.raises(DataError, match=name):
        DEFAULT.with_values(wrong)


def test_every_convention_affects_some_measure_of_a_run() -> None:
    names = ("R@5(document)", "R@5(section)", "SecAcc@5", "kNN@5(vector)")
    for field in fields(Conventions):
        assert any(affected_by(field.name, parse(name)) for name in names), field.name
    assert not affected_by("k_counts", parse("R@5(chunk)")) and not affected_by(
        "k_counts", parse("P_unique@5(document)")
    )
    assert not affected_by("rel", parse("P@5(vector)"))
