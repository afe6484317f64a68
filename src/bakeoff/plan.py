"""The plan of a run: the experiment's settings, and the systems that follow from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from bakeoff import registry
from bakeoff.fingerprint import fingerprint
from bakeoff.types import Metric

Given = str | dict[str, Any]
"""A part of a system as the user names it: `line`, or `{tokens: {size: 256}}`."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class MeasureChoice(_Strict):
    """What is measured."""

    primary: str = "nDCG@10(document)"
    also: list[str] = ["RR@10(document)", "R@20(document)"]


class Limits(_Strict):
    """What a system may cost to be recommended."""

    p95_ms: Annotated[float, Field(gt=0)] | None = None
    memory_mb: Annotated[float, Field(gt=0)] | None = None
    index_mb: Annotated[float, Field(gt=0)] | None = None


class ExperimentFile(_Strict):
    """The keys of bakeoff.yaml."""

    name: str = ""
    corpus: dict[str, Any]
    queries: Path
    chunkers: Annotated[list[Given], Field(min_length=1)] = ["semantic"]
    embedders: Annotated[list[Given], Field(min_length=1)] = ["wordllama"]
    stores: Annotated[list[Given], Field(min_length=1)] = ["exact"]
    modes: Annotated[list[Given], Field(min_length=1)] = ["dense", "bm25", "hybrid"]
    rerankers: list[Given] = []
    measures: MeasureChoice = MeasureChoice()
    targets: dict[str, float] = {}
    limits: Limits = Limits()
    metric: Metric = Metric.COSINE
    depth: Annotated[int, Field(ge=1, le=10_000, description="chunks retrieved a query")] = 100
    runs: Annotated[int, Field(ge=1, le=100, description="times the timings are repeated")] = 1
    seed: int = 7
    preset: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One chosen plug-in with its validated parameters; `label` tells it from the others of its kind."""

    kind: str
    name: str
    label: str
    params: BaseModel = field(repr=False)

    def identity(self) -> list[Any]:
        """What enters a cache key: kind, name, code version and parameters."""
        version = registry.load(self.kind, self.name).version if self.kind in registry.KINDS else "1"
        return [self.kind, self.name, version, self.params.model_dump(mode="json")]


@dataclass(frozen=True, slots=True)
class System:
    """One combination that is measured."""

    chunker: Part
    mode: Part
    embedder: Part | None = None
    store: Part | None = None
    search: BaseModel | None = None
    keyword: Part | None = None
    reranker: Part | None = None
    label: str = ""

    @property
    def parts(self) -> tuple[Part | None, ...]:
        """All parts, in the order of the flow."""
        return (self.chunker, self.embedder, self.store, self.keyword, self.mode, self.reranker)

    def identity(self) -> list[Any]:
        """What makes this system another one."""
        search = self.search.model_dump(mode="json") if self.search is not None else None
        return [part.identity() if part else None for part in self.parts] + [search]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything a run needs to know, checked."""

    name: str
    text: str
    folder: Path
    source: Part
    queries: Path
    systems: tuple[System, ...]
    primary: str
    measures: tuple[str, ...]
    settings: ExperimentFile = field(repr=False)

    def fingerprint(self) -> str:
        """The name of this plan: equal plans measure the same thing."""
        return fingerprint(
            "plan",
            [s.identity() for s in self.systems],
            list(self.measures),
            self.settings.model_dump(mode="json"),
        )
