"""KEYWORD_MATCH is filled in only where a rule about words holds in the passage, and the rule is named."""

from __future__ import annotations

from bakeoff.review.autofill import AutoFill, tag_rules, with_tags
from bakeoff.review.pool import PooledPassage
from bakeoff.truth.rules import AllOf, AnyOf, Documents, Rule, Sections, SpansRule, Sql, Symbol, WordsRule

CREW = PooledPassage("c1", "reports/AAR1.txt", 0, 30, "ANALYSIS", "The crew ignored the icing alert")
WING = PooledPassage("c2", "reports/AAR2.txt", 40, 70, "SYNOPSIS", "Wing deicing was late")


def fired(rule: Rule, passage: PooledPassage = CREW) -> tuple[str, ...]:
    return AutoFill({"q": rule}, [CREW, WING]).names("q", passage)


def words(*of: str, least: int = 1) -> WordsRule:
    return WordsRule(of=of, at_least=least, match="substring", written="signals")


def test_words_and_sql_fire_by_name() -> None:
    assert fired(words("crew", "alert", least=2)) == ("signals>=2",)
    assert fired(words("crew", "wing", least=2)) == ()
    assert fired(Sql(where="lower(chunk_text) LIKE '%crew%' AND section_name = 'ANALYSIS'")) == ("sql",)


def test_a_condition_over_documents_is_asked_of_the_passage() -> None:
    rule = Sql(where="text LIKE '%crew%'", over="documents")
    assert fired(rule) == ("sql",)
    assert fired(rule, WING) == ()


def test_a_named_document_fills_nothing_in_by_itself() -> None:
    named = Documents(names=("AAR1.txt",))
    assert fired(named) == ()
    assert fired(AnyOf(rules=(named, words("wing")))) == ()
    assert fired(AllOf(rules=(named, words("crew")))) == ("all-of(documents,signals>=1)",)
    assert fired(AllOf(rules=(Documents(names=("AAR2.txt",)), words("crew")))) == ()


def test_sections_are_a_further_condition() -> None:
    assert fired(AllOf(rules=(Sections(names=("analysis",)), words("crew")))) != ()
    assert fired(AllOf(rules=(Sections(names=("synopsis",)), words("crew")))) == ()


def test_what_needs_the_corpus_or_has_grade_0_fills_nothing_in() -> None:
    assert fired(SpansRule(places=(Symbol("a.py", "f"),), written="symbol")) == ()
    assert fired(WordsRule(of=("crew",), at_least=1, grade=0)) == ()


def test_a_condition_that_cannot_be_asked_is_said() -> None:
    fill = AutoFill({"q": Sql(where="nonsense LIKE '%x%'")}, [CREW])
    assert fill.names("q", CREW) == ()
    assert "fills nothing in" in fill.notes[0]


def test_tags_hold_rules_that_are_no_truth() -> None:
    (signals, sql) = tag_rules({"signals": "crew, alert", "verification_sql": "text LIKE '%crew%'"})
    assert (signals.source, sql.source) == ("signals>=2 (tag)", "verification_sql (tag)")
    assert with_tags(None, {}) is None
    assert fired(with_tags(Documents(names=("AAR1.txt",)), {"signals": "crew, alert"}) or signals) == (
        "signals>=2 (tag)",
    )


def test_words_to_mark_are_those_of_the_rules() -> None:
    rule = AnyOf(rules=(words("crew"), Sql(where="chunk_text LIKE '%icing%alert%'")))
    assert AutoFill({"q": rule}, [CREW]).words("q") == ("crew", "icing", "alert")
