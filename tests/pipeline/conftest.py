"""The shared work over the tiny corpus, made once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bakeoff import registry
from bakeoff.config import experiment
from bakeoff.config.plan import Plan, PluginSpec, System
from bakeoff.pipeline.chunk import ChunkedCorpus, chunk_corpus
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.query_executor import QueryExecutor
from bakeoff.pipeline.read import ReadCorpus, read_documents
from bakeoff.pipeline.shared_artifacts import SharedArtifacts
from bakeoff.storage.cache import Cache
from bakeoff.truth.queries import read_queries
from bakeoff.types import Metric


@dataclass(frozen=True)
class Bench:
    """A plan and the place to work on it."""

    plan: Plan
    context: StageContext

    def corpus(self) -> ReadCorpus:
        part = self.plan.source
        return read_documents(part, registry.load("sources", part.name)(part.params), self.context)

    def query_executor(self, **settings: Any) -> QueryExecutor:
        chosen = {"metric": Metric.COSINE, "depth": 20, "repeats": 1, **settings}
        queries = read_queries(self.plan.queries).queries
        return QueryExecutor(SharedArtifacts(self.corpus(), queries, self.context, **chosen))

    def system(self, label: str) -> System:
        return next(system for system in self.plan.systems if system.label == label)

    def chunking(self, name: str, **params: Any) -> ChunkedCorpus:
        part = made(f"chunkers/{name}", **params)
        return chunk_corpus(part, self.corpus(), self.context)


def made(what: str, **params: Any) -> PluginSpec:
    """A part by kind and name."""
    kind, name = what.split("/")
    return PluginSpec(kind, name, name, registry.load(kind, name).Params(**params))


@pytest.fixture
def part() -> Callable[..., PluginSpec]:
    return made


@pytest.fixture
def bench(tiny: Path, tmp_path: Path) -> Bench:
    return Bench(experiment.load(tiny), StageContext(Cache(tmp_path / "cache")))
