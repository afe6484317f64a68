"""The plan of a run: the experiment's settings, and the systems that follow from them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from bakeoff import registry
from bakeoff.config.modes import Leg, mode_legs
from bakeoff.corpus.languages import LanguageName
from bakeoff.errors import SettingError
from bakeoff.fingerprint import fingerprint
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.types import FULL_FORM, ExistingCollection, Json, Metric, VectorForm

RawSpec = str | dict[str, object]
"""A part of a system as the user names it: `line`, or `{tokens: {size: 256}}`."""

RERANK_DEPTH = 20
"""Passages that a reranker reads by default."""

MOST_RUNS = 100

RETRIEVERS = "retrievers"
"""The kind of plug-in of searches that exist already."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class MeasureChoice(_Strict):
    """What is measured."""

    primary: Annotated[str, Field(description="decides the verdict")] = "nDCG@10(document)"
    also: Annotated[list[str], Field(description="measured in addition")] = [
        "RR@10(document)",
        "R@20(document)",
    ]


class SystemLimits(_Strict):
    """What a system may cost to be recommended."""

    p95_ms: Annotated[float | None, Field(gt=0, description="milliseconds, 95 of 100 queries")] = None
    memory_mb: Annotated[float | None, Field(gt=0, description="memory while it serves")] = None
    index_mb: Annotated[float | None, Field(gt=0, description="size of the index")] = None


Preferred = Literal["fewer parts", "tokens", "latency", "memory", "cost", "index size"]


class DecideSettings(_Strict):
    """How one of several near systems is chosen; decides nothing that is measured."""

    margin: Annotated[
        float,
        Field(ge=0, allow_inf_nan=False, description="points of the primary measure that may be given up"),
    ] = 0.02
    prefer: Annotated[
        list[Preferred],
        Field(description="what decides between systems within the margin, first things first"),
    ] = ["fewer parts", "tokens", "latency", "memory", "cost", "index size"]
    ratio: Annotated[
        float, Field(gt=1, allow_inf_nan=False, description="how many times more counts as a difference")
    ] = 1.5


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
        dict[str, object],
        Field(description="the documents: folder, include, exclude, or a source; chunks can do without"),
    ] = {}
    language: Annotated[
        LanguageName | None,
        Field(
            exclude_if=lambda value: value is None,
            description="of the documents, by name or code; detected where it is not given",
        ),
    ] = None
    queries: Annotated[Path, Field(description="the query file")]
    judgments: Annotated[
        Path | None,
        Field(exclude_if=lambda value: value is None, description="people's judgments, of a review"),
    ] = None
    chunks: Annotated[
        dict[str, object] | None,
        Field(
            exclude_if=lambda value: value is None,
            description="a table of chunks made elsewhere, compared as a chunker",
        ),
    ] = None
    readers: Annotated[
        dict[str, RawSpec | list[RawSpec]],
        Field(
            exclude_if=lambda value: not value,
            description="who reads files, by kind: {pdf: pypdf}; a list is compared",
        ),
    ] = {}
    chunkers: Annotated[list[RawSpec], Field(min_length=1, description="how documents are cut")] = [
        "semantic"
    ]
    embedders: Annotated[list[RawSpec], Field(min_length=1, description="models")] = ["wordllama"]
    encoders: Annotated[
        list[RawSpec],
        Field(
            exclude_if=lambda value: not value,
            description="models of sparse or token vectors, for the modes sparse and late_interaction",
        ),
    ] = []
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
    retrievers: Annotated[
        list[RawSpec],
        Field(
            exclude_if=lambda value: not value,
            description="searches that exist already, compared with the combinations above",
        ),
    ] = []
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
    decide: Annotated[DecideSettings, Field(exclude_if=lambda value: value == DecideSettings())] = (
        DecideSettings()
    )
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
        dict[str, object],
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
    """One chosen plug-in with its validated parameters; `label` tells it from the others of its kind.

    A chunker has the `reading` whose text it cuts, where the experiment names readers. The vector `form` of an embedder
    has its dimensions, that of a store the rest; `family` is then the label without it.
    """

    kind: str
    name: str
    label: str
    params: BaseModel = field(repr=False)
    existing: ExistingCollection | None = None
    reading: Reading | None = None
    form: VectorForm = FULL_FORM
    family: str = ""

    @property
    def full(self) -> PluginSpec:
        """The same part with full vectors."""
        return self if self.form == FULL_FORM else replace(self, label=self.family, form=FULL_FORM, family="")

    @property
    def indexed(self) -> PluginSpec:
        """The store as its index is: one index serves every rescoring."""
        return replace(self, form=replace(self.form, rescore=0)) if self.form.rescore else self

    def in_language(self, language: str) -> PluginSpec:
        """The same plug-in for texts of a language; one that has no language, or was given one, is not changed."""
        if not language or getattr(self.params, "language", language) is not None:
            return self
        return replace(self, params=self.params.model_copy(update={"language": language}))

    def identity(self) -> list[Json]:
        """What enters a cache key: kind, name, code version and parameters."""
        version = registry.load(self.kind, self.name).version if self.kind in registry.KINDS else "1"
        own: list[Json] = [self.kind, self.name, version, self.params.model_dump(mode="json")]
        own += [asdict(self.existing)] if self.existing else []
        return [*own, self.form.chosen()] if self.form != FULL_FORM else own


@dataclass(frozen=True, slots=True)
class Reading:
    """One choice of readers, by kind of file; `label` tells it from other choices of the same experiment."""

    label: str = ""
    parts: tuple[tuple[str, PluginSpec], ...] = ()

    @property
    def by_kind(self) -> dict[str, PluginSpec]:
        """The chosen reader of each kind that has one."""
        return dict(self.parts)

    def identity(self) -> list[Json]:
        """What enters a cache key: nothing where every kind has its usual reader."""
        return [[kind, part.identity()] for kind, part in self.parts]


USUAL_READING = Reading()


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
    encoder: PluginSpec | None = None
    depth: int | None = None
    rerank: tuple[RerankSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class System:
    """One combination that is measured; `depth` is None where it fetches what the experiment says.

    A retriever is a system too: the passages that it returns are its chunks, so it is in the place of the chunker.
    `keyword` is the engine of the second search of a fusion, by words or by the sparse vectors of an `encoder`.
    """

    chunker: PluginSpec
    mode: PluginSpec
    embedder: PluginSpec | None = None
    store: PluginSpec | None = None
    search: BaseModel | None = None
    keyword: PluginSpec | None = None
    keyword_search: BaseModel | None = None
    encoder: PluginSpec | None = None
    depth: int | None = None
    rerank: tuple[RerankSpec, ...] = ()
    label: str = ""
    family: str = ""
    """The label that the system has with full vectors."""

    @property
    def form(self) -> VectorForm:
        """How its vectors are kept and searched."""
        held = self.store.form if self.store else FULL_FORM
        return replace(held, dims=self.embedder.form.dims) if self.embedder else held

    @property
    def legs(self) -> tuple[Leg, ...]:
        """The searches it makes for a query."""
        return mode_legs(self.mode.name, self.mode.params)

    @property
    def has_reference(self) -> bool:
        """Whether its first search is by vectors, so that an exact search can be held against it."""
        return self.legs[0] in ("dense", "sparse", "tokens")

    @property
    def models(self) -> tuple[PluginSpec, ...]:
        """What embeds its chunks and queries: an embedder, an encoder, or one of each."""
        return tuple(part for part in (self.embedder, self.encoder) if part is not None)

    @property
    def retriever(self) -> PluginSpec | None:
        """The search that exists already, where the system is one."""
        return self.chunker if self.chunker.kind == RETRIEVERS else None

    @property
    def builds_index(self) -> bool:
        """Whether one of its searches is in an index over our chunks: not a retriever's, nor a collection of others."""
        stores = (self.store, self.keyword)
        return any(one is not None and one.existing is None for one in stores)

    @property
    def parts(self) -> tuple[PluginSpec | None, ...]:
        """All parts, in the order of the flow."""
        first = self.rerank[0].part if self.rerank else None
        more = tuple(one.part for one in self.rerank[1:])
        return (self.chunker, self.embedder, self.store, self.keyword, self.mode, first, *more, self.encoder)

    def identity(self) -> list[Json]:
        """What makes this system another one; what was not chosen does not enter."""
        search = self.search.model_dump(mode="json") if self.search is not None else None
        named = [part.identity() if part else None for part in self.parts[:6]]
        chosen = self._chosen()
        return [*named, search, chosen] if chosen else [*named, search]

    def _chosen(self) -> dict[str, object]:
        words = self.keyword_search.model_dump(mode="json") if self.keyword_search is not None else {}
        looks = [[one.part.identity(), one.depth] for one in self.rerank]
        usual = len(looks) < 2 and all(one.depth == RERANK_DEPTH for one in self.rerank)
        reading = self.chunker.reading or USUAL_READING
        readers = {"label": reading.label, "readers": reading.identity()} if reading.parts else {}
        found = {
            "keyword_search": words,
            "encoder": self.encoder.identity() if self.encoder else None,
            "depth": self.depth,
            "rerank": [] if usual else looks,
            "reading": readers,
        }
        return {key: value for key, value in found.items() if value}


def fits_words(label: str, name: str) -> bool:
    """Whether all words of a name occur in a system's label."""
    return all(word in label for word in name.replace("·", " ").split())


def match_labels(name: str, labels: Sequence[str], letters: Mapping[str, str]) -> list[str]:
    """The labels that a name means: a whole label, a letter of the table of systems, or words of labels."""
    if name in labels:
        return [name]
    if name in letters:
        return [letters[name]]
    return [label for label in labels if fits_words(label, name)]


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A models.toml instead of an experiment's models (None for the experiment's own), and the models to run of it."""

    path: Path | None = None
    only: tuple[str, ...] = ()


OWN_MODELS = ModelFile()
"""All models that the experiment names itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything a run needs to know, checked; `file` is the name of the experiment file in its folder.

    `models` is the text of the models.toml that named the embedders, '' where none did; `model_file` is the one
    that the user gave instead of the experiment's.
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
    model_file: ModelFile = OWN_MODELS
    readings: tuple[Reading, ...] = (USUAL_READING,)

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
                mode="json", exclude={"prices", "executor", "current", "decide"}
            ),  # measure nothing anew
        )
