"""Every measure as one row of declaration; nothing here computes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bakeoff.types import Unit


class RequiredInput(StrEnum):
    """What a measure is computed from, beside the ranking."""

    JUDGMENTS = "judgments"
    NEIGHBOURS = "exact neighbours"
    SECTIONS = "section names"
    LABELS = "review labels"
    SPANS = "character spans"
    TOP_SCORES = "top scores of negative queries"
    TOKENS = "token counts"


class Cutoff(StrEnum):
    """Whether a name carries a depth `@k`, or a score threshold `@t`."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    NONE = "none"
    THRESHOLD = "threshold"


class Bounds(StrEnum):
    """What the lower and upper value over unjudged results are worth (C-23)."""

    BOTH = "both are true bounds: judging more can only move the value between them"
    UPPER = (
        "the upper value is a true bound; the lower one is not, for relevant items nobody retrieved lower it"
    )
    RANGE = (
        "neither is a true bound: they are values for unjudged results being relevant above or below the cut"
    )
    NONE = "not defined: the measure is made for incomplete judgments, or needs none"


@dataclass(frozen=True, slots=True)
class MeasureDefinition:
    """One measure: its name, what it needs, which way is better, its range, and its meaning in words.

    `budget`: a name may carry a token budget, `@500tokens`, in the place of a depth. `chunk_depth`: k counts chunks,
    whatever the conventions say. `ceiling`: the best value on given truth, in words; '' where it is not known.
    """

    name: str
    formula: str
    meaning: str
    ceiling: str = ""
    cutoff: Cutoff = Cutoff.REQUIRED
    needs: RequiredInput = RequiredInput.JUDGMENTS
    bounds: Bounds = Bounds.NONE
    higher_is_better: bool = True
    low: float = 0.0
    high: float = 1.0
    params: tuple[str, ...] = ()
    units: tuple[Unit, ...] = tuple(Unit)
    long_names: tuple[str, ...] = ()
    note: str = ""
    budget: bool = False
    chunk_depth: bool = False


_REL = ("rel",)
_CHUNKS = (Unit.CHUNK,)
_VECTORS = (Unit.VECTOR, Unit.CHUNK, Unit.DOCUMENT)

ROWS: tuple[MeasureDefinition, ...] = (
    MeasureDefinition(
        "P",
        "h_k / k",
        "Share of the first k results that are relevant; a short list is filled up with non-relevant ones.",
        "min(1, R/k)",
        bounds=Bounds.BOTH,
        params=_REL,
        long_names=("precision",),
        note="Never divided by the number returned.",
    ),
    MeasureDefinition(
        "P_unique",
        "relevant units / distinct units among the first k chunks",
        "Share of the distinct units behind the first k chunks that are relevant.",
        "1",
        bounds=Bounds.BOTH,
        params=_REL,
        long_names=("precision_unique",),
        note="k counts chunks, the fraction counts units; it is not precision.",
        chunk_depth=True,
    ),
    MeasureDefinition(
        "R",
        "h_k / R",
        "Share of all relevant items that are among the first k results.",
        "min(1, k/R)",
        bounds=Bounds.UPPER,
        params=_REL,
        long_names=("recall",),
        budget=True,
    ),
    MeasureDefinition(
        "R_cap",
        "h_k / min(k, R)",
        "Relevant items among the first k, as a share of the most that could be there.",
        "1",
        bounds=Bounds.UPPER,
        params=_REL,
        long_names=("recall_capped", "recall_cap"),
    ),
    MeasureDefinition(
        "kNN",
        "|top-k ∩ true top-k| / k",
        "Share of the k exact nearest neighbours that an index found; an item as near as the k-th counts.",
        "1",
        needs=RequiredInput.NEIGHBOURS,
        units=_VECTORS,
        long_names=("knn_recall", "knn"),
        note="Relative distance tolerance 1e-6 unless the conventions say otherwise.",
    ),
    MeasureDefinition(
        "R100",
        "|top-k ∩ true top-100| / 100",
        "Share of the 100 exact nearest neighbours that are among the first k.",
        "min(1, k/100)",
        needs=RequiredInput.NEIGHBOURS,
        units=_VECTORS,
        long_names=("recall_100_neighbours",),
    ),
    MeasureDefinition(
        "Hit",
        "1 if h_k > 0, else 0",
        "Whether any of the first k results is relevant.",
        "1",
        bounds=Bounds.BOTH,
        params=_REL,
        long_names=("hit", "success", "hit_rate"),
        budget=True,
    ),
    MeasureDefinition(
        "RR",
        "1 / rank of the first relevant result, 0 if none is in the top k",
        "How early the first relevant result comes; its mean over queries is MRR.",
        "1",
        cutoff=Cutoff.OPTIONAL,
        bounds=Bounds.BOTH,
        params=_REL,
        long_names=("mrr", "recip_rank", "reciprocal_rank"),
        note="Without @k the whole retrieved depth counts; its mean is not the reciprocal of a typical rank.",
        budget=True,
    ),
    MeasureDefinition(
        "AP",
        "Σ over relevant i ≤ k of h_i / i, divided by R",
        "Precision at each relevant result, averaged over all relevant items, found or not.",
        "min(k, R) / R",
        cutoff=Cutoff.OPTIONAL,
        bounds=Bounds.RANGE,
        params=_REL,
        long_names=("map", "map_cut", "average_precision"),
        budget=True,
    ),
    MeasureDefinition(
        "nDCG",
        "Σ g_i / log2(i+1) over i ≤ k, divided by the same sum for the best order of all judged items",
        "How near the order is to the best possible one, early ranks and high grades weighing more.",
        "1",
        cutoff=Cutoff.OPTIONAL,
        bounds=Bounds.RANGE,
        long_names=("ndcg", "ndcg_cut"),
        note="Linear gain.",
        budget=True,
    ),
    MeasureDefinition(
        "nDCG_exp",
        "as nDCG with gain 2^g − 1",
        "nDCG in which each grade is worth about twice the one below it.",
        "1",
        cutoff=Cutoff.OPTIONAL,
        bounds=Bounds.RANGE,
        long_names=("ndcg_exp", "ndcg_exp2", "ndcg_burges"),
        budget=True,
    ),
    MeasureDefinition(
        "Rprec",
        "h_R / R",
        "Precision at the depth that could hold every relevant item.",
        "1",
        cutoff=Cutoff.NONE,
        bounds=Bounds.RANGE,
        params=_REL,
        long_names=("r_precision", "rprec"),
    ),
    MeasureDefinition(
        "bpref",
        "1/R Σ over relevant retrieved of 1 − min(judged non-relevant above, R) / min(N, R)",
        "How rarely a judged non-relevant item stands above a relevant one; unjudged items are ignored.",
        "1",
        cutoff=Cutoff.NONE,
        params=_REL,
        long_names=("binary_preference",),
        note="N = number of judged non-relevant items.",
    ),
    MeasureDefinition(
        "infAP",
        "1/R Σ over relevant i of 1/i + (i−1)/i · pooled/(i−1) · (rel+ε)/(rel+nonrel+2ε), counted above i",
        "Average precision estimated when only a random part of the pool was judged.",
        "1",
        cutoff=Cutoff.NONE,
        params=_REL,
        long_names=("inferred_ap", "infap"),
        note="ε = 1e-5; a negative grade marks an item that was pooled but not judged.",
    ),
    MeasureDefinition(
        "RBP",
        "(1 − p) Σ over relevant i of p^(i−1)",
        "Expected share of relevant results seen by a reader who goes on to the next with probability p.",
        "1 − p^min(k, R)",
        cutoff=Cutoff.OPTIONAL,
        bounds=Bounds.BOTH,
        params=("p", "rel"),
        long_names=("rbp", "rank_biased_precision"),
        note="Binary relevance. The upper value is over retrieved results; the published residual adds p^n.",
    ),
    MeasureDefinition(
        "Judged",
        "judged items in the top k / k",
        "Share of the first k results that somebody judged; how far the other measures can be trusted.",
        "min(1, judged/k)",
        long_names=("judged",),
    ),
    MeasureDefinition(
        "SecAcc",
        "results from the target or universal sections in the top k / k",
        "Share of the first k chunks that come from a section that may answer the query.",
        "1",
        needs=RequiredInput.SECTIONS,
        units=_CHUNKS,
        long_names=("section_accuracy_universal", "section_accuracy"),
    ),
    MeasureDefinition(
        "SecAcc_primary",
        "results from the target sections in the top k / k",
        "Share of the first k chunks that come from the target sections themselves.",
        "1",
        needs=RequiredInput.SECTIONS,
        units=_CHUNKS,
        long_names=("section_accuracy_primary",),
    ),
    MeasureDefinition(
        "SecAcc_returned",
        "results from the target sections in the top k / results returned, at most k",
        "Share of the chunks returned that come from the target sections.",
        "1",
        needs=RequiredInput.SECTIONS,
        units=_CHUNKS,
        long_names=("section_accuracy_returned",),
        note="Equal to SecAcc_primary@k when k results come back.",
    ),
    MeasureDefinition(
        "SemPrec",
        "(KEYWORD_MATCH + SEMANTIC_MATCH) / k",
        "Share of the first k results that a reviewer called a match.",
        "1",
        needs=RequiredInput.LABELS,
        bounds=Bounds.BOTH,
        long_names=("semantic_precision",),
    ),
    MeasureDefinition(
        "SemLift",
        "SEMANTIC_MATCH / k",
        "Share of the first k results that match in meaning though not by keyword.",
        "1",
        needs=RequiredInput.LABELS,
        bounds=Bounds.BOTH,
        long_names=("semantic_lift",),
    ),
    MeasureDefinition(
        "FalsePos",
        "FALSE_POSITIVE / k",
        "Share of the first k results that a reviewer called wrong; not the classical false-positive rate.",
        "0",
        needs=RequiredInput.LABELS,
        bounds=Bounds.BOTH,
        higher_is_better=False,
        long_names=("false_positive_rate", "false_positive"),
    ),
    MeasureDefinition(
        "SpanRecall",
        "characters of the gold spans inside the first k retrieved spans / characters of the gold spans",
        "How much of the wanted text was retrieved; text retrieved twice counts once.",
        "depends on the chunks",
        needs=RequiredInput.SPANS,
        units=_CHUNKS,
        long_names=("span_recall",),
        budget=True,
    ),
    MeasureDefinition(
        "SpanPrecision",
        "characters of the gold spans inside the first k retrieved spans / characters retrieved",
        "How much of the retrieved text was wanted; text retrieved twice counts once.",
        "depends on the chunks",
        needs=RequiredInput.SPANS,
        units=_CHUNKS,
        long_names=("span_precision",),
        budget=True,
    ),
    MeasureDefinition(
        "SpanIoU",
        "characters in both / characters in either",
        "Overlap of the wanted and the retrieved text.",
        "depends on the chunks",
        needs=RequiredInput.SPANS,
        units=_CHUNKS,
        long_names=("span_iou",),
        budget=True,
    ),
    MeasureDefinition(
        "FalseAlarm",
        "1 if the top score of a negative query ≥ t, else 0",
        "How often a query without a right answer still gets a result above the threshold.",
        "0",
        cutoff=Cutoff.THRESHOLD,
        needs=RequiredInput.TOP_SCORES,
        higher_is_better=False,
        long_names=("false_alarm",),
        note="The threshold is chosen on other queries than those it is reported on.",
    ),
    MeasureDefinition(
        "AUROC",
        "share of (answerable, negative) pairs whose answerable query has the higher top score, ties half",
        "How well the top score alone tells answerable queries from negative ones.",
        "1",
        cutoff=Cutoff.NONE,
        needs=RequiredInput.TOP_SCORES,
        long_names=("auroc", "auc"),
        note="One value for a set of queries, not one for each.",
    ),
    MeasureDefinition(
        "tokens",
        "Σ tokens of the first k results",
        "Text that would have to be read or paid for; cost to be shown beside quality.",
        "none",
        needs=RequiredInput.TOKENS,
        higher_is_better=False,
        high=float("inf"),
        long_names=("tokens",),
        budget=True,
    ),
)

BY_NAME: dict[str, MeasureDefinition] = {row.name: row for row in ROWS}


def all_measures() -> tuple[MeasureDefinition, ...]:
    """Every measure there is, in the order of the documentation."""
    return ROWS
