"""Retrieval modes as data: which searches a mode makes, and how their results become one ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from bakeoff.types import Json, VectorKind

KEYWORD_ENGINE = "tantivy"
TUNABLE_ENGINE = "postings"
"""The engine where k1 and b can be set: one index serves every pair of them."""

RERANK = "rerank"
"""The pipeline stage that means each of the experiment's rerankers."""

TUNED = "tuned"
WEIGHT = 0.5
NORMALISE = "minmax"


def _unset(value: object) -> bool:
    return value is None


def _weight(value: Json) -> Json:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value in (None, TUNED) or (number and 0 <= value <= 1):
        return value
    raise ValueError(f"weight is {value!r}. Write the dense share, from 0 to 1, or {TUNED}")


class Dense(BaseModel):
    """Nearest vectors in the store."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Sparse(BaseModel):
    """Sparse vectors of an encoder, by inner product: learned term weights, or BM25 as vectors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LateInteraction(BaseModel):
    """A vector per token, compared by MaxSim."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _Words(BaseModel):
    """A keyword mode; unset parameters don't enter a system's name."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    engine: Annotated[
        str | dict[str, dict[str, object] | None],
        Field(description="store that searches by words, or {store: {its settings}}"),
    ] = KEYWORD_ENGINE
    k1: Annotated[float | None, Field(ge=0, exclude_if=_unset, description="how soon repeats count less")] = (
        None
    )
    b: Annotated[float | None, Field(ge=0, le=1, exclude_if=_unset, description="how much length counts")] = (
        None
    )

    @model_validator(mode="before")
    @classmethod
    def _engine_of_k1_and_b(cls, values: Json) -> Json:
        """k1 or b without an engine mean the engine that has them; so does an encoder, whose vectors it searches."""
        chosen = (
            isinstance(values, dict) and "engine" not in values and {"k1", "b", "encoder"} & values.keys()
        )
        return {**values, "engine": TUNABLE_ENGINE} if chosen else values


class Bm25(_Words):
    """Words weighed by BM25; no model."""


class Hybrid(_Words):
    """Dense and BM25 (or sparse) rankings fused by reciprocal rank (RRF), or by weighted scores."""

    encoder: Annotated[
        str | dict[str, dict[str, object] | None] | None,
        Field(
            exclude_if=_unset,
            description="encoder of sparse vectors, which `engine` then searches in the place of words",
        ),
    ] = None
    rrf_k: Annotated[float, Field(gt=0, description="larger: lower ranks count more")] = 60.0
    dense_weight: Annotated[float, Field(gt=0)] = 1.0
    keyword_weight: Annotated[float, Field(gt=0)] = 1.0
    fusion: Annotated[Literal["rrf", "weighted"], Field(exclude_if=lambda value: value == "rrf")] = "rrf"
    weight: Annotated[
        float | Literal["tuned"] | None,
        BeforeValidator(_weight),
        Field(
            exclude_if=_unset,
            description="share of the dense score, the words have the rest; tuned: chosen on other queries",
        ),
    ] = None
    normalise: Annotated[
        Literal["minmax", "z"] | None,
        Field(exclude_if=_unset, description="how scores of one query are made comparable"),
    ] = None

    @model_validator(mode="after")
    def _of_one_fusion(self) -> Hybrid:
        weighted = self.fusion == "weighted"
        foreign = ("rrf_k", "dense_weight", "keyword_weight") if weighted else ("weight", "normalise")
        wrong = [name for name in foreign if name in self.model_fields_set]
        if self.encoder is not None and {"k1", "b"} & self.model_fields_set:
            raise ValueError(
                "k1 and b shape BM25 over words; with an encoder, set them there, or remove the encoder"
            )
        if wrong:
            own = "fusion: rrf" if weighted else "fusion: weighted"
            raise ValueError(f"{', '.join(wrong)} belongs to {own}. Remove it, or say {own}")
        return self

    @property
    def tuned(self) -> bool:
        """Whether the weight of a query is chosen on other queries."""
        return self.weight == TUNED

    @property
    def share(self) -> float:
        """The dense share, if it is fixed."""
        return WEIGHT if self.weight is None else float(self.weight)


class NativeHybrid(BaseModel):
    """Vectors and words fused by the store itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Retrieve(BaseModel):
    """A retriever's own search; a file can't name it as a mode."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Leg = Literal["dense", "sparse", "tokens", "keywords", "native", "retriever"]


_VECTORS: dict[Leg, VectorKind] = {
    "dense": "dense",
    "native": "dense",
    "sparse": "sparse",
    "tokens": "tokens",
}


@dataclass(frozen=True, slots=True)
class ModeKind:
    """A mode's name, its parameters, and which searches it makes."""

    name: str
    params: type[BaseModel]
    legs: tuple[Leg, ...]

    @property
    def vectors(self) -> VectorKind | None:
        """The kind of vectors that a model makes and a store holds for it; None if it needs neither."""
        return _VECTORS.get(self.legs[0])

    @property
    def keywords(self) -> bool:
        """Whether it needs a keyword engine."""
        return "keywords" in self.legs


MODES = {
    mode.name: mode
    for mode in (
        ModeKind("dense", Dense, ("dense",)),
        ModeKind("bm25", Bm25, ("keywords",)),
        ModeKind("hybrid", Hybrid, ("dense", "keywords")),
        ModeKind("native_hybrid", NativeHybrid, ("native",)),
        ModeKind("sparse", Sparse, ("sparse",)),
        ModeKind("late_interaction", LateInteraction, ("tokens",)),
    )
}
"""The modes of an experiment file."""

RETRIEVER = ModeKind("retriever", Retrieve, ("retriever",))
"""The mode of systems under `retrievers`."""


def mode_legs(name: str, params: BaseModel) -> tuple[Leg, ...]:
    """The searches of a mode with its parameters, or of a retriever."""
    if isinstance(params, Hybrid) and params.encoder is not None:
        return ("dense", "sparse")
    return RETRIEVER.legs if name == RETRIEVER.name else MODES[name].legs
