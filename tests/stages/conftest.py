"""The shared work over the tiny corpus, made once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bakeoff import experiment, registry
from bakeoff.cache import Cache
from bakeoff.plan import Part, Plan, System
from bakeoff.stages.chunk import Chunking, chunk
from bakeoff.stages.kitchen import Kitchen
from bakeoff.stages.read import Corpus, read
from bakeoff.stages.work import Workshop
from bakeoff.truth.queries import read_queries
from bakeoff.types import Metric


@dataclass(frozen=True)
class Bench:
    """A plan and the place to work on it."""

    plan: Plan
    shop: Workshop

    def corpus(self) -> Corpus:
        part = self.plan.source
        return read(part, registry.load("sources", part.name)(part.params), self.shop)

    def kitchen(self, **settings: Any) -> Kitchen:
        chosen = {"metric": Metric.COSINE, "depth": 20, "repeats": 1, **settings}
        return Kitchen(self.corpus(), read_queries(self.plan.queries).queries, self.shop, **chosen)

    def system(self, label: str) -> System:
        return next(system for system in self.plan.systems if system.label == label)

    def chunking(self, name: str, **params: Any) -> Chunking:
        part = made(f"chunkers/{name}", **params)
        return chunk(part, registry.load("chunkers", name)(part.params), self.corpus(), self.shop)


def made(what: str, **params: Any) -> Part:
    """A part by kind and name."""
    kind, name = what.split("/")
    return Part(kind, name, name, registry.load(kind, name).Params(**params))


@pytest.fixture
def part() -> Callable[..., Part]:
    return made


@pytest.fixture
def bench(tiny: Path, tmp_path: Path) -> Bench:
    return Bench(experiment.load(tiny), Workshop(Cache(tmp_path / "cache")))
