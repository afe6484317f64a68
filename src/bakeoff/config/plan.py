"""The plan of a run: the experiment's settings, and the systems that follow from them."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from bakeoff import registry
from bakeoff.errors import SettingError
from bakeoff.fingerprint import fingerprint
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.types import Metric

RawSpec = str | dict[str, Any]
"""A part of a system as the user names it: `line`, or `{tokens: {size: 256}}`."""

RERANK_DEPTH = 20
"""Passages a reranker looks at unless it is told how many."""

MOST_RUNS = 100


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class MeasureChoice(_Strict):
    """What is measured."""

    primary: Annotated[str, Field(description="decides the verdict")] = "nDCG@10(document)"
    also: Annotated[list[str], Field(description="measured beside it")] = [
        "RR@10(document)",
        "R@20(document)",
    ]


class SystemLimits(_Strict):
    """What a system may cost to be recommended."""

    p95_ms: Annotated[float | None, Field(gt=0, description="milliseconds, 95 of 100 queries")] = None
    memory_mb: Annotated[float | None, Field(gt=0, description="memory while it serves")] = None
    index_mb: Annotated[float | None, Field(gt=0, description="size of the index")] = None


Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Prices(_Strict):
    """What things cost at a date; a price that is not given is unknown, not zero."""

    date: Annotated[datetime.date, Field(description="when these prices held")]
    currency: str = "USD"
    machine_per_hour: Annotated[Price | None, Field(description="of the machine that serves")] = None
    gb_month: Annotated[Price | None, Field(description="of a gigabyte of storage a month")] = None
    million_tokens: Annotated[
        dict[str, Price], Field(description="by embedder; 0 for a model of your own")
    ] = {}


class ExperimentFile(_Strict):
    """The keys of bakeoff.yaml."""

    name: Annotated[str, Field(description="of the runs; usually the folder's")] = ""
    corpus: Annotated[
        dict[str, Any], Field(description="the documents: folder, include, exclude, or a source")
    ]
    queries: Annotated[Path, Field(description="the query file")]
    judgments: Annotated[
        Path | None,
        Field(exclude_if=lambda value: value is None, description="people's judgments, of a review"),
    ] = None
    chunkers: Annotated[list[RawSpec], Field(min_length=1, description="how documents are cut")] = [
        "semantic"
    ]
    embedders: Annotated[list[RawSpec], Field(min_length=1, description="models")] = ["wordllama"]
    models: Annotated[
        Path | None,
        Field(
            exclude_if=lambda value: value is None,
            description="a models.toml whose models are compared, with those of embedders where both are written",
        ),
    ] = None
    stores: Annotated[list[RawSpec], Field(min_length=1, description="where vectors are kept")] = ["exact"]
    modes: Annotated[
        list[RawSpec | list[RawSpec]],
        Field(min_length=1, description="how a query is answered; a list is a pipeline"),
    ] = ["dense", "bm25", "hybrid"]
    mode: Annotated[
        RawSpec | list[RawSpec] | None,
        Field(exclude_if=lambda value: value is None, description="short for modes with one entry"),
    ] = None
    rerankers: Annotated[list[RawSpec], Field(description="who orders the first results again")] = []
    allow: Annotated[
        list[Literal["leak", "duplicate", "split-overlap", "unread"]],
        Field(
            exclude_if=lambda value: not value,
            description="faults of queries and truth that do not stop a run",
        ),
    ] = []
    measures: MeasureChoice = MeasureChoice()
    targets: Annotated[dict[str, float], Field(description="values to reach, checked by validate")] = {}
    limits: SystemLimits = SystemLimits()
    prices: Prices | None = None
    executor: Annotated[RawSpec | None, Field(description="where work runs; usually this machine")] = None
    metric: Annotated[Metric, Field(description="how near two vectors are")] = Metric.COSINE
    depth: Annotated[int, Field(ge=1, le=10_000, description="chunks retrieved a query")] = 100
    runs: Annotated[int, Field(ge=1, le=MOST_RUNS, description="times the timings are repeated")] = 1
    top_k: Annotated[
        list[Annotated[int, Field(ge=1, le=10_000)]],
        Field(
            exclude_if=lambda value: not value,
            description="depths measured by themselves; each run then ingests, indexes and searches anew",
        ),
    ] = []
    seed: Annotated[int, Field(description="of resampling and of folds")] = 7
    current: Annotated[
        str | None,
        Field(
            exclude_if=lambda value: value is None,
            description="the system in use today, by words of its label; the others are its candidates",
        ),
    ] = None
    preset: Annotated[str | None, Field(description="measures and rules of a known benchmark")] = None
    conventions: Annotated[
        dict[str, Any],
        Field(
            exclude_if=lambda value: not value, description="how numbers are made, where the preset's differ"
        ),
    ] = {}

    @field_validator("corpus", mode="before")
    @classmethod
    def _name_the_folder(cls, value: object) -> object:
        """Refuse a bare path with the line to write instead."""
        if isinstance(value, str):
            raise ValueError(f"keys with values are expected. Write corpus: {{folder: {value}}}")
        return value


@dataclass(frozen=True, slots=True)
class PluginSpec:
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
class RerankSpec:
    """A closer look at the first `depth` passages of a ranking."""

    part: PluginSpec
    depth: int = RERANK_DEPTH
    label: str = ""


@dataclass(frozen=True, slots=True)
class RetrievalSpec:
    """How queries are answered: the searches of a mode, how many passages they fetch, and who orders them again."""

    mode: PluginSpec
    keyword: PluginSpec | None = None
    keyword_search: BaseModel | None = None
    depth: int | None = None
    rerank: tuple[RerankSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class System:
    """One combination that is measured; `depth` is None where it fetches what the experiment says."""

    chunker: PluginSpec
    mode: PluginSpec
    embedder: PluginSpec | None = None
    store: PluginSpec | None = None
    search: BaseModel | None = None
    keyword: PluginSpec | None = None
    keyword_search: BaseModel | None = None
    depth: int | None = None
    rerank: tuple[RerankSpec, ...] = ()
    label: str = ""

    @property
    def parts(self) -> tuple[PluginSpec | None, ...]:
        """All parts, in the order of the flow."""
        first = self.rerank[0].part if self.rerank else None
        more = tuple(one.part for one in self.rerank[1:])
        return (self.chunker, self.embedder, self.store, self.keyword, self.mode, first, *more)

    def identity(self) -> list[Any]:
        """What makes this system another one; what was not chosen does not enter."""
        search = self.search.model_dump(mode="json") if self.search is not None else None
        named = [part.identity() if part else None for part in self.parts[:6]]
        chosen = self._chosen()
        return [*named, search, chosen] if chosen else [*named, search]

    def _chosen(self) -> dict[str, Any]:
        words = self.keyword_search.model_dump(mode="json") if self.keyword_search is not None else {}
        looks = [[one.part.identity(), one.depth] for one in self.rerank]
        usual = len(looks) < 2 and all(one.depth == RERANK_DEPTH for one in self.rerank)
        found = {"keyword_search": words, "depth": self.depth, "rerank": [] if usual else looks}
        return {key: value for key, value in found.items() if value}


def fits_words(label: str, name: str) -> bool:
    """Whether all words of a name occur in a system's label."""
    return all(word in label for word in name.replace("·", " ").split())


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything a run needs to know, checked; `file` is the name of the experiment file in its folder.

    `models` is the text of the models.toml that named the embedders, '' where none did.
    """

    name: str
    text: str
    folder: Path
    source: PluginSpec
    queries: Path
    systems: tuple[System, ...]
    primary: str
    measures: tuple[str, ...]
    settings: ExperimentFile = field(repr=False)
    executor: PluginSpec | None = None
    file: str = ""
    conventions: Conventions = DEFAULT
    models: str = ""

    def with_runs(self, runs: int) -> Plan:
        """The same plan with another number of runs."""
        if not 1 <= runs <= MOST_RUNS:
            raise SettingError(f"runs is {runs}; it must be from 1 to {MOST_RUNS}.")
        return replace(self, settings=self.settings.model_copy(update={"runs": runs}))

    def fingerprint(self) -> str:
        """The name of this plan: equal plans measure the same thing."""
        return fingerprint(
            "plan",
            [s.identity() for s in self.systems],
            list(self.measures),
            self.settings.model_dump(
                mode="json", exclude={"prices", "executor", "current"}
            ),  # measure nothing anew
        )
