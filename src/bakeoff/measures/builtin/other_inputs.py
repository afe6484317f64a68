"""Measures computed from inputs other than judgments: neighbours, sections, labels, spans, top scores, tokens.

Their values are computed in neighbours.py, sections.py, labels.py, spans.py and negatives.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bakeoff.measures.definitions import Bounds, Cutoff, MeasureDefinition, RequiredInput
from bakeoff.types import Unit

if TYPE_CHECKING:
    from bakeoff.measures.names import Measure


class NeighbourRecall(MeasureDefinition):
    name = "kNN"
    formula = "|top-k ∩ true top-k| / k"
    meaning = (
        "Share of the k exact nearest neighbours that an index found; an item as near as the k-th counts."
    )
    ceiling = "1"
    needs = RequiredInput.NEIGHBOURS
    units = (Unit.VECTOR, Unit.CHUNK, Unit.DOCUMENT)
    long_names = ("knn_recall", "knn")
    note = (
        "Relative distance tolerance 1e-6 unless the conventions set another. Of fewer than k rows that a filter "
        "leaves, the share is of those."
    )


class NeighbourRecall100(MeasureDefinition):
    name = "R100"
    formula = "|top-k ∩ true top-100| / 100"
    meaning = "Share of the 100 exact nearest neighbours that are among the first k."
    ceiling = "min(1, k/100)"
    needs = RequiredInput.NEIGHBOURS
    units = (Unit.VECTOR, Unit.CHUNK, Unit.DOCUMENT)
    long_names = ("recall_100_neighbours",)

    def fixed_ceiling(self, measure: Measure) -> float | None:
        return min(1.0, (measure.k or 0) / 100)


class SectionAccuracy(MeasureDefinition):
    name = "SecAcc"
    formula = "results from the target or universal sections in the top k / k"
    meaning = "Share of the first k chunks that come from a section that may answer the query."
    ceiling = "1"
    needs = RequiredInput.SECTIONS
    units = (Unit.CHUNK,)
    long_names = ("section_accuracy_universal", "section_accuracy")


class SectionAccuracyPrimary(MeasureDefinition):
    name = "SecAcc_primary"
    formula = "results from the target sections in the top k / k"
    meaning = "Share of the first k chunks that come from the target sections themselves."
    ceiling = "1"
    needs = RequiredInput.SECTIONS
    units = (Unit.CHUNK,)
    long_names = ("section_accuracy_primary",)


class SectionAccuracyReturned(MeasureDefinition):
    name = "SecAcc_returned"
    formula = "results from the target sections in the top k / results returned, at most k"
    meaning = "Share of the chunks returned that come from the target sections."
    ceiling = "1"
    needs = RequiredInput.SECTIONS
    units = (Unit.CHUNK,)
    long_names = ("section_accuracy_returned",)
    note = "Equal to SecAcc_primary@k when k results come back."


class SemanticPrecision(MeasureDefinition):
    name = "SemPrec"
    formula = "(KEYWORD_MATCH + SEMANTIC_MATCH) / k"
    meaning = "Share of the first k results that a reviewer called a match."
    ceiling = "1"
    needs = RequiredInput.LABELS
    bounds = Bounds.BOTH
    long_names = ("semantic_precision",)


class SemanticLift(MeasureDefinition):
    name = "SemLift"
    formula = "SEMANTIC_MATCH / k"
    meaning = "Share of the first k results that match in meaning though not by keyword."
    ceiling = "1"
    needs = RequiredInput.LABELS
    bounds = Bounds.BOTH
    long_names = ("semantic_lift",)


class FalsePositives(MeasureDefinition):
    name = "FalsePos"
    formula = "FALSE_POSITIVE / k"
    meaning = (
        "Share of the first k results that a reviewer called wrong; not the classical false-positive rate."
    )
    ceiling = "0"
    needs = RequiredInput.LABELS
    bounds = Bounds.BOTH
    higher_is_better = False
    long_names = ("false_positive_rate", "false_positive")


class SpanRecall(MeasureDefinition):
    name = "SpanRecall"
    formula = "characters of the gold spans inside the first k retrieved spans / characters of the gold spans"
    meaning = "How much of the wanted text was retrieved; text retrieved twice counts once."
    ceiling = "depends on the chunks"
    needs = RequiredInput.SPANS
    units = (Unit.CHUNK,)
    long_names = ("span_recall",)
    budget = True


class SpanPrecision(MeasureDefinition):
    name = "SpanPrecision"
    formula = "characters of the gold spans inside the first k retrieved spans / characters retrieved"
    meaning = "How much of the retrieved text was wanted; text retrieved twice counts once."
    ceiling = "depends on the chunks"
    needs = RequiredInput.SPANS
    units = (Unit.CHUNK,)
    long_names = ("span_precision",)
    budget = True


class SpanIoU(MeasureDefinition):
    name = "SpanIoU"
    formula = "characters in both / characters in either"
    meaning = "Overlap of the wanted and the retrieved text."
    ceiling = "depends on the chunks"
    needs = RequiredInput.SPANS
    units = (Unit.CHUNK,)
    long_names = ("span_iou",)
    budget = True


class FalseAlarm(MeasureDefinition):
    name = "FalseAlarm"
    formula = "1 if the top score of a negative query ≥ t, else 0"
    meaning = "How often a query without a right answer still gets a result above the threshold."
    ceiling = "0"
    cutoff = Cutoff.THRESHOLD
    needs = RequiredInput.TOP_SCORES
    higher_is_better = False
    long_names = ("false_alarm",)
    note = "The threshold is chosen on other queries than those it is reported on."


class AUROC(MeasureDefinition):
    name = "AUROC"
    formula = (
        "share of (answerable, negative) pairs whose answerable query has the higher top score, ties half"
    )
    meaning = "How well the top score alone separates answerable queries from negative ones."
    ceiling = "1"
    cutoff = Cutoff.NONE
    needs = RequiredInput.TOP_SCORES
    long_names = ("auroc", "auc")
    note = "One value for a set of queries, not one for each."


class Tokens(MeasureDefinition):
    name = "tokens"
    formula = "Σ tokens of the first k results"
    meaning = "Text that would have to be read or paid for; a cost to show next to quality."
    ceiling = "none"
    needs = RequiredInput.TOKENS
    higher_is_better = False
    high = float("inf")
    long_names = ("tokens",)
    budget = True
