"""Retrieval modes as data: which searches a mode makes, and how their answers become one ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

KEYWORD_ENGINE = "tantivy"


class Dense(BaseModel):
    """Nearest vectors in the store."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Bm25(BaseModel):
    """Words weighed by BM25; no model."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    engine: Annotated[str, Field(description="store that searches by words")] = KEYWORD_ENGINE


class Hybrid(BaseModel):
    """Dense and BM25 rankings fused by reciprocal rank (RRF)."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    engine: Annotated[str, Field(description="store that searches by words")] = KEYWORD_ENGINE
    rrf_k: Annotated[float, Field(gt=0, description="larger: lower ranks count more")] = 60.0
    dense_weight: Annotated[float, Field(gt=0)] = 1.0
    keyword_weight: Annotated[float, Field(gt=0)] = 1.0


@dataclass(frozen=True, slots=True)
class ModeKind:
    """A mode's name, its parameters, and which searches it makes."""

    name: str
    params: type[BaseModel]
    dense: bool
    keywords: bool


MODES = {
    mode.name: mode
    for mode in (
        ModeKind("dense", Dense, dense=True, keywords=False),
        ModeKind("bm25", Bm25, dense=False, keywords=True),
        ModeKind("hybrid", Hybrid, dense=True, keywords=True),
    )
}
