"""Names parse and print as inverses, and wrong ones say what was meant."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff.errors import MeasureError
from bakeoff.measures.catalogue import all_measures
from bakeoff.measures.definitions import Cutoff
from bakeoff.measures.names import Measure, check_computable, parse
from bakeoff.types import Unit


@pytest.mark.parametrize(
    "name",
    [
        "nDCG@10",
        "nDCG@10(document)",
        "P@5(chunk)",
        "RBP(p=0.8)",
        "RBP@20(document, p=0.5)",
        "AP",
        "RR@10",
        "RR",
        "kNN@10",
        "FalseAlarm@0.35",
        "R@5(rel=2)",
        "P@5(chunk, rel=2, source=sql)",
        "tokens@10",
        "infAP",
        "SecAcc_primary@10",
        "SpanRecall@500tokens",
        "R@2000tokens(document, rel=2)",
        "tokens@500tokens",
    ],
)
def test_print_is_the_inverse_of_parse(name: str) -> None:
    assert str(parse(name)) == name


@st.composite
def measures(draw: st.DrawFn) -> Measure:
    row = draw(st.sampled_from(all_measures()))
    budget = draw(st.integers(1, 100_000)) if row.budget and draw(st.booleans()) else None
    deep = row.cutoff is Cutoff.REQUIRED or (row.cutoff is Cutoff.OPTIONAL and draw(st.booleans()))
    return Measure(
        row.name,
        k=draw(st.integers(1, 10_000)) if deep and budget is None else None,
        unit=draw(st.sampled_from([None, *row.units])),
        p=draw(st.floats(0.01, 0.99)) if "p" in row.params else None,
        rel=draw(st.sampled_from([None, 1, 2, 3])) if "rel" in row.params else None,
        t=draw(st.floats(0, 100, allow_subnormal=False).filter(lambda t: "e" not in repr(t)))
        if row.cutoff is Cutoff.THRESHOLD
        else None,
        source=draw(st.sampled_from(["", "sql", "signals>=2"])),
        budget=budget,
    )


@settings(deadline=None)
@given(measures())
def test_parse_is_the_inverse_of_print(measure: Measure) -> None:
    assert parse(str(measure)) == measure


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("MRR@10", "RR@10"),
        ("MRR", "RR"),
        ("mrr@all", "RR"),
        ("ndcg@10", "nDCG@10"),
        ("MAP", "AP"),
        ("map_cut_10", "AP@10"),
        ("P_5", "P@5"),
        ("recall_100", "R@100"),
        ("ndcg_cut_10", "nDCG@10"),
        ("success_5", "Hit@5"),
        ("recip_rank", "RR"),
        ("precision_at_5", "P@5"),
        ("hit_at_10", "Hit@10"),
        ("precision@5.chunk.sql", "P@5(chunk, source=sql)"),
        ("ndcg@10.file.gold", "nDCG@10(document, source=gold)"),
        ("mrr@10.answer.regions", "RR@10(answer, source=regions)"),
        ("knn_recall@10.vector.exact", "kNN@10(vector, source=exact)"),
        ("precision_unique@5", "P_unique@5"),
        ("recall_capped@10", "R_cap@10"),
        ("section_accuracy_primary@10", "SecAcc_primary@10"),
    ],
)
def test_aliases(alias: str, name: str) -> None:
    assert str(parse(alias)) == name


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("nDGC@10", "Did you mean nDCG"),
        ("precison@5", "Did you mean P"),
        ("zzz", "Known: P,"),
        ("P", "needs a depth"),
        ("Rprec@5", "has no depth"),
        ("P@0", "1 or more"),
        ("RBP(p=1.5)", "between 0 and 1"),
        ("nDCG@10(rel=2)", "takes no rel="),
        ("P@5(rel=0)", "non-relevant items relevant"),
        ("P@5(page)", "not a unit"),
        ("P@5(chunk, document)", "given twice"),
        ("P@5(x=3)", "cannot read"),
        ("P@5(rel=two)", "whole numbers"),
        ("kNN@10(answer)", "not defined for the unit answer"),
        ("FalseAlarm", "score threshold"),
        ("P@@5", "not a measure name"),
        ("P@500tokens", "not defined for a token budget. Measures that take one: R, Hit"),
        ("kNN@500tokens", "not defined for a token budget"),
        ("FalseAlarm@5tokens", "not defined for a token budget"),
        ("R@0tokens", "1 token or more"),
        ("R@1.5tokens", "whole numbers"),
        ("R@alltokens", "not a measure name"),
    ],
)
def test_wrong_names_say_what_to_do(wrong: str, says: str) -> None:
    with pytest.raises(MeasureError, match=says):
        parse(wrong)


def test_a_measure_made_by_hand_is_checked_too() -> None:
    with pytest.raises(MeasureError):
        Measure("Precision", k=5)


def test_measures_that_need_other_inputs_or_two_units_are_refused() -> None:
    with pytest.raises(MeasureError):
        check_computable((parse("kNN@10"),))
    with pytest.raises(MeasureError):
        check_computable((parse("P@5(chunk)"), parse("P@5(document)")))
    with pytest.raises(MeasureError):
        check_computable(())
    with pytest.raises(MeasureError):
        check_computable((parse("R@500tokens"),))
    with pytest.raises(MeasureError):
        Measure("R", k=5, budget=500)


def test_the_unit_can_be_added() -> None:
    assert str(parse("nDCG@10").at_unit(Unit.DOCUMENT)) == "nDCG@10(document)"
    assert str(parse("nDCG@500tokens").at_unit(Unit.DOCUMENT)) == "nDCG@500tokens(document)"
