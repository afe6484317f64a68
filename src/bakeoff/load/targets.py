"""What is put under load: something that answers, the queries it is asked, and other ones to warm it up with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bakeoff.cache import Cache
from bakeoff.errors import SettingError, StoreError
from bakeoff.load.building import Built, build
from bakeoff.load.datasets import VectorSet, open_dataset
from bakeoff.load.faults import ENGINE_FAULTS
from bakeoff.load.quality import quality
from bakeoff.load.resources import Resources
from bakeoff.load.settings import Candidate, candidates
from bakeoff.load.truth import Neighbours, truth_of
from bakeoff.protocols import SupportsReopen
from bakeoff.stages.client_loop import WARM_UP, Search
from bakeoff.types import Hits, Metric

Pids = Callable[[str, Any], Sequence[int]]
"""Process ids of the server behind a store, by its name and parameters; none where it has none or cannot be seen."""


class Recipe(Protocol):
    """How a client process opens the same target for itself."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values; `kind` names the recipe."""
        ...


@dataclass(frozen=True, slots=True)
class Opening:
    """What it took until a query could be asked; `build_seconds` is null where an earlier run built the index."""

    seconds: float
    build_seconds: float | None
    index_bytes: int | None
    resources: Resources


@dataclass(frozen=True, slots=True)
class Grade:
    """A quality that stands beside the speed; `measured` is null where it is judged from the answers under load."""

    name: str
    measured: float | None = None
    judge: Callable[[Sequence[Hits | None]], float | None] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Target:
    """One system under load; `search(one of asked, k, query)` answers, with k rows always where it is `full`."""

    label: str
    store: str
    search: Search = field(repr=False)
    asked: Sequence[Any] = field(repr=False)
    others: Sequence[Any] = field(repr=False)
    k: int
    opening: Opening
    query: Any = None
    setting: str = ""
    params: Any = None
    full: bool = True
    grade: Grade | None = None
    recipe: Recipe | None = field(default=None, repr=False)
    close: Callable[..., None] = field(default=lambda **_: None, repr=False)

    def connect(self) -> None:
        """One search that is not measured, with a query that is not: it opens the calling thread's connection."""
        if len(self.others):
            self.search(self.others[0], self.k, self.query)


@dataclass(frozen=True, slots=True)
class VectorRecipe:
    """A store over a dataset, for a client process: a connection of its own to a server, which is never filled again.

    An embedded store is opened where it was built if that folder is here and the engine reads it; else it is built
    again, in a folder of this client's own.
    """

    dataset: str
    metric: str
    queries: int
    seed: int
    spec: str
    setting: int | None
    k: int
    home: str
    server: bool
    collection: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a client process."""
        return {"kind": "vectors", **{name: getattr(self, name) for name in self.__slots__}}

    def open(self, home: Path) -> Target:
        """The target in this process; `home` is a folder of its own for a store that is built again."""
        dataset = open_dataset(self.dataset, metric=Metric(self.metric), queries=self.queries, seed=self.seed)
        (candidate,) = candidates([self.spec])
        again = issubclass(candidate.plugin, SupportsReopen) and (self.server or Path(self.home).is_dir())
        store = self._reopened(candidate, dataset) if again else self._rebuilt(candidate, dataset, home)
        nothing = Opening(0.0, None, None, Resources.none())
        asked, others, query = (
            list(dataset.queries),
            _others(dataset, self.seed),
            candidate.query(self.setting),
        )
        return Target(
            self.spec, candidate.name, store.search, asked, others, self.k, nothing, query, close=store.close
        )

    def _rebuilt(self, candidate: Candidate, dataset: VectorSet, home: Path) -> Any:
        """An index of this process alone; its name is free at once, for the other clients have it too."""
        built = build(candidate, dataset, home, part=str(home))
        built.collection.release()
        return built.store

    def _reopened(self, candidate: Candidate, dataset: VectorSet) -> Any:
        try:
            store = candidate.plugin(candidate.params, Path(self.home))
            rows = store.open(self.collection, dataset.dims, dataset.metric)
        except ENGINE_FAULTS as exc:
            raise StoreError(
                cannot_open(candidate.label, self.server, f"{type(exc).__name__}: {exc}")
            ) from exc
        except StoreError as exc:
            raise StoreError(cannot_open(candidate.label, self.server, str(exc))) from exc
        if rows != len(dataset.base):
            raise StoreError(
                f"{candidate.label} holds {rows:,} rows here; {len(dataset.base):,} were inserted."
            )
        return store


def cannot_open(label: str, server: bool, why: str) -> str:
    """Why a process beside the driver cannot open a store, and what to do."""
    if server:
        return f"{label}: {why} A client's machine must reach the server at the address it is given."
    return (
        f"{label} is an embedded store that a second process cannot open beside the first ({why.rstrip('.')}). "
        "Leave --clients out, or use a store that is a server."
    )


def vector_target(
    candidate: Candidate,
    dataset: VectorSet,
    home: Path,
    *,
    name: str,
    k: int,
    setting: int | None,
    seed: int,
    truth: Neighbours | None,
    pids: Sequence[int] = (),
    keep: bool = False,
) -> Target:
    """A store filled with the dataset; `name` is what the dataset is opened by."""
    built = build(candidate, dataset, home, pids)
    recipe = VectorRecipe(
        name,
        dataset.metric.value,
        len(dataset.queries),
        seed,
        candidate.label,
        setting,
        k,
        str(home),
        built.elsewhere,
        built.collection.name,
    )
    return Target(
        candidate.label,
        candidate.name,
        built.store.search,
        list(dataset.queries),
        _others(dataset, seed),
        k,
        _opening(built),
        candidate.query(setting),
        candidate.setting(setting),
        candidate.params,
        True,
        Grade(f"kNN@{k}", judge=_judge(dataset, truth, k)) if truth is not None else None,
        recipe,
        partial(built.close, keep=keep),
    )


def check_dataset(stores: Sequence[Candidate], dataset: VectorSet, k: int, setting: int | None) -> None:
    """Refuse what cannot be asked of a dataset, before anything is built."""
    if not 1 <= k <= len(dataset.base):
        raise SettingError(f"--k is {k}; it must be between 1 and {len(dataset.base):,}, the base's vectors.")
    for candidate in stores:
        if setting is not None and candidate.knob is None:
            raise SettingError(f"{candidate.label} declares no search knob to set; leave --setting out.")


def dataset_truth(dataset: VectorSet, k: int, cache: Cache) -> Neighbours:
    """The exact neighbours, from the cache or made now."""
    return truth_of(dataset, k, cache)


def _judge(dataset: VectorSet, truth: Neighbours, k: int) -> Callable[[Sequence[Hits | None]], float | None]:
    """kNN@k of answers in the order of the queries."""
    return lambda answers: quality(answers, truth, dataset, k).knn


def _opening(built: Built) -> Opening:
    return Opening(built.build_seconds, built.build_seconds, built.index_bytes, built.resources)


def _others(dataset: VectorSet, seed: int) -> list[np.ndarray]:
    """Rows of the base to warm up with: no measured query is among them."""
    count = min(WARM_UP, len(dataset.base))
    return list(dataset.base[np.random.default_rng(seed).choice(len(dataset.base), count, replace=False)])
