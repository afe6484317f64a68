"""The keys of bakeoff.yaml, their defaults and allowed values."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from bakeoff.corpus.languages import LanguageName
from bakeoff.types import Metric

RawSpec = str | dict[str, object]
"""A part of a system as written: `line`, or `{tokens: {size: 256}}`."""

RERANK_DEPTH = 20
"""Passages that a reranker reads by default."""

MOST_RUNS = 100


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
    """Limits a system must meet to be recommended."""

    p95_ms: Annotated[float | None, Field(gt=0, description="milliseconds, 95 of 100 queries")] = None
    memory_mb: Annotated[float | None, Field(gt=0, description="memory while it serves")] = None
    index_mb: Annotated[float | None, Field(gt=0, description="size of the index")] = None


Preferred = Literal["fewer parts", "tokens", "latency", "memory", "cost", "index size"]


class DecideSettings(_Strict):
    """How to choose between close systems; measurements don't depend on it."""

    margin: Annotated[
        float,
        Field(ge=0, allow_inf_nan=False, description="points of the primary measure that may be given up"),
    ] = 0.02
    prefer: Annotated[
        list[Preferred],
        Field(description="what decides between systems within the margin, most important first"),
    ] = ["fewer parts", "tokens", "latency", "memory", "cost", "index size"]
    ratio: Annotated[
        float, Field(gt=1, allow_inf_nan=False, description="ratio that counts as a difference")
    ] = 1.5


Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Prices(_Strict):
    """Prices at a date; a missing price is unknown, not zero."""

    date: Annotated[datetime.date, Field(description="when these prices held")]
    currency: str = "USD"
    machine_per_hour: Annotated[Price | None, Field(description="of the serving machine")] = None
    gb_month: Annotated[Price | None, Field(description="per gigabyte of storage and month")] = None
    million_tokens: Annotated[
        dict[str, Price], Field(description="by embedder; 0 for a model of your own")
    ] = {}


class ExperimentFile(_Strict):
    """The keys of bakeoff.yaml."""

    name: Annotated[str, Field(description="name of the runs; default: the folder's")] = ""
    corpus: Annotated[
        dict[str, object],
        Field(description="the documents: folder, include, exclude, or a source; chunks can do without"),
    ] = {}
    language: Annotated[
        LanguageName | None,
        Field(
            exclude_if=lambda value: value is None,
            description="language of the documents, by name or code; default: detected",
        ),
    ] = None
    queries: Annotated[Path, Field(description="the query file")]
    judgments: Annotated[
        Path | None,
        Field(exclude_if=lambda value: value is None, description="people's judgments from a review"),
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
    chunkers: Annotated[list[RawSpec], Field(min_length=1, description="how documents are chunked")] = [
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
            description="a models.toml whose models are compared, in addition to embedders",
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
    rerankers: Annotated[list[RawSpec], Field(description="rerankers applied to the top results")] = []
    retrievers: Annotated[
        list[RawSpec],
        Field(
            exclude_if=lambda value: not value,
            description="existing searches, compared with the combinations above",
        ),
    ] = []
    allow: Annotated[
        list[Literal["leak", "duplicate", "split-overlap", "unread", "few-documents"]],
        Field(
            exclude_if=lambda value: not value,
            description="problems of queries and truth that should not stop a run",
        ),
    ] = []
    measures: MeasureChoice = MeasureChoice()
    targets: Annotated[dict[str, float], Field(description="values to reach, checked by validate")] = {}
    limits: SystemLimits = SystemLimits()
    decide: Annotated[DecideSettings, Field(exclude_if=lambda value: value == DecideSettings())] = (
        DecideSettings()
    )
    prices: Prices | None = None
    executor: Annotated[RawSpec | None, Field(description="where work runs; default: this machine")] = None
    metric: Annotated[Metric, Field(description="how near two vectors are")] = Metric.COSINE
    depth: Annotated[int, Field(ge=1, le=10_000, description="chunks retrieved per query")] = 100
    runs: Annotated[int, Field(ge=1, le=MOST_RUNS, description="number of repeats of the timings")] = 1
    top_k: Annotated[
        list[Annotated[int, Field(ge=1, le=10_000)]],
        Field(
            exclude_if=lambda value: not value,
            description="depths measured separately; each run then ingests, indexes and searches again",
        ),
    ] = []
    seed: Annotated[int, Field(description="seed of resampling and folds")] = 7
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
            exclude_if=lambda value: not value,
            description="measuring conventions, if they differ from the preset's",
        ),
    ] = {}

    @field_validator("corpus", mode="before")
    @classmethod
    def _name_the_folder(cls, value: object) -> object:
        """Raise for a bare path, showing the line to write instead."""
        if isinstance(value, str):
            raise ValueError(f"keys with values are expected. Write corpus: {{folder: {value}}}")
        return value
