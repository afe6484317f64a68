"""The choices of a reviewer: grades of relevance, or the labels that measures such as SemLift@10 need."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.labels import Label
from bakeoff.measures.presets import preset


class LabelScheme(StrEnum):
    """Which choices a review offers."""

    GRADES = "grades"
    """Relevant, partly, not relevant."""
    MATCHES = "matches"
    """Keyword match, semantic match, false positive."""

    @classmethod
    def of_preset(cls, name: str | None) -> LabelScheme:
        """Labels if the run's preset has measures that need them, else grades."""
        measures = preset(name).measures if name else ()
        needed = any(measure.needs is RequiredInput.LABELS for measure in measures)
        return cls.MATCHES if needed else cls.GRADES


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice: its word in review files, its name on the page, its meaning, and its value in the ledger.

    A choice without a `label` is a match: by keyword where a rule about words holds in the passage, else by meaning.
    """

    word: str
    name: str
    meaning: str
    grade: int | None = None
    label: Label | None = None

    def label_for(self, *, filled: bool) -> Label:
        """The label in the ledger, for a passage that rules filled in or not."""
        if self.label is not None:
            return self.label
        return Label.KEYWORD_MATCH if filled else Label.SEMANTIC_MATCH


CHOICES = {
    LabelScheme.GRADES: (
        Choice("RELEVANT", "Relevant", "It answers the question.", grade=2),
        Choice("PARTLY", "Partly", "It helps, but does not fully answer the question.", grade=1),
        Choice(
            "NOT_RELEVANT",
            "Not relevant",
            "It does not help, even if it contains the question's words.",
            grade=0,
            label=Label.FALSE_POSITIVE,
        ),
    ),
    LabelScheme.MATCHES: (
        Choice(
            Label.KEYWORD_MATCH.value,
            "Keyword match",
            "Relevant to the question, in the question's words.",
            label=Label.KEYWORD_MATCH,
        ),
        Choice(
            Label.SEMANTIC_MATCH.value,
            "Semantic match",
            "Relevant to the question, in other words.",
            label=Label.SEMANTIC_MATCH,
        ),
        Choice(
            Label.FALSE_POSITIVE.value,
            "False positive",
            "Not relevant to the question, even if it contains its words.",
            label=Label.FALSE_POSITIVE,
        ),
    ),
}
BY_WORD = {choice.word: choice for choices in CHOICES.values() for choice in choices}


def describe_vote(scheme: LabelScheme, label: Label, grade: int | None) -> str:
    """A vote in the words of the page; empty for a vote without a judgment."""
    if label is Label.UNJUDGED:
        return ""
    if scheme is LabelScheme.GRADES and grade is not None and grade <= 2:
        return next(one.name for one in CHOICES[scheme] if one.grade == grade)
    name = next(one.name for one in CHOICES[LabelScheme.MATCHES] if one.label is label)
    return name if grade is None or label is Label.FALSE_POSITIVE else f"{name}, {grade}"
