"""The built-in measures, one class each."""

from bakeoff.measures.builtin.counts import (
    Hit,
    JudgedShare,
    Precision,
    PrecisionUnique,
    Recall,
    RecallCapped,
    RPrecision,
)
from bakeoff.measures.builtin.gains import ExponentialNDCG, LinearNDCG
from bakeoff.measures.builtin.incomplete import BinaryPreference, InferredAP
from bakeoff.measures.builtin.other_inputs import (
    AUROC,
    FalseAlarm,
    FalsePositives,
    NeighbourRecall,
    NeighbourRecall100,
    SectionAccuracy,
    SectionAccuracyPrimary,
    SectionAccuracyReturned,
    SemanticLift,
    SemanticPrecision,
    SpanIoU,
    SpanPrecision,
    SpanRecall,
    Tokens,
)
from bakeoff.measures.builtin.ranks import AveragePrecision, RankBiasedPrecision, ReciprocalRank
from bakeoff.measures.definitions import MeasureDefinition

BUILT_IN: tuple[MeasureDefinition, ...] = (
    Precision(),
    PrecisionUnique(),
    Recall(),
    RecallCapped(),
    NeighbourRecall(),
    NeighbourRecall100(),
    Hit(),
    ReciprocalRank(),
    AveragePrecision(),
    LinearNDCG(),
    ExponentialNDCG(),
    RPrecision(),
    BinaryPreference(),
    InferredAP(),
    RankBiasedPrecision(),
    JudgedShare(),
    SectionAccuracy(),
    SectionAccuracyPrimary(),
    SectionAccuracyReturned(),
    SemanticPrecision(),
    SemanticLift(),
    FalsePositives(),
    SpanRecall(),
    SpanPrecision(),
    SpanIoU(),
    FalseAlarm(),
    AUROC(),
    Tokens(),
)
"""In the order of the documentation."""

__all__ = ["BUILT_IN"]
