"""Truth in query-file form from foreign judgments: document names and grades."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bakeoff.truth.importers.draft import ImportLog, TruthValue
from bakeoff.types import JsonObject

LOWEST, HIGHEST = 0, 3
"""Grades that a rule of a query file may give."""
ORIGINAL_GRADES = "original_grades"
"""The tag for judgments that a rule can't express: JSON, grade → documents."""
_GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class GradedJudgment:
    """One judgment of a document; `original` is the source's grade, if its scale differs."""

    document: str
    grade: int
    original: int | None = None


def documents(names: Sequence[str], grade: int = 1, exact: bool = True) -> dict[str, object]:
    """A rule that names documents; names that look like globs are marked as ids, unless globs are meant."""
    rule: JsonObject = {"documents": list(names)}
    if exact and any(_GLOB.search(name) for name in names):
        rule["match"] = "exact"
    if grade != 1:
        rule["grade"] = grade
    return rule


def combine_rules(rules: Sequence[dict[str, object]]) -> dict[str, object]:
    """One rule, or `any` of several."""
    return dict(rules[0]) if len(rules) == 1 else {"any": [dict(rule) for rule in rules]}


def graded_truth(
    judged: Iterable[GradedJudgment], query: str, ledger: ImportLog, *, exact: bool = True
) -> tuple[TruthValue, dict[str, str]]:
    """Truth with these judgments, and a tag for those that no rule can express; patterns stay unless `exact`."""
    judged = list(judged)
    by_grade: dict[int, list[str]] = {}
    original: dict[int, list[str]] = {}
    relevant = any(one.grade > 0 for one in judged)
    for one in judged:
        grade = min(max(one.grade, LOWEST), HIGHEST)
        written = one.grade if one.original is None else one.original
        by_grade.setdefault(grade, []).append(one.document)
        if written != grade or not relevant:
            original.setdefault(written, []).append(one.document)
        if grade != one.grade and relevant:
            _attend_grade(one.grade, grade, query, ledger)
    if not relevant:
        text = "no document is relevant; written as unjudged. Write negative where nothing answers the query."
        ledger.attend(text, query)
        return "unjudged", _original(original, ledger)
    rules = [documents(by_grade[grade], grade, exact) for grade in sorted(by_grade, reverse=True)]
    return combine_rules(rules), _original(original, ledger)


def _attend_grade(grade: int, near: int, query: str, ledger: ImportLog) -> None:
    text = f"grade {grade} counts as {near} here, where grades go from {LOWEST} to {HIGHEST}"
    ledger.attend(f"{text}; the original is kept in the tag {ORIGINAL_GRADES}, and exported.", query)


def _original(by_grade: dict[int, list[str]], ledger: ImportLog) -> dict[str, str]:
    if not by_grade:
        return {}
    ledger.note_moved("grade", f"tags.{ORIGINAL_GRADES}")
    grades = {str(grade): by_grade[grade] for grade in sorted(by_grade)}
    return {ORIGINAL_GRADES: json.dumps(grades, ensure_ascii=False)}
