"""Load targets: a search function, its queries, and warm-up queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel

from bakeoff.benchmark.resources.usage import Resources
from bakeoff.benchmark.session import ENGINE_FAULTS
from bakeoff.benchmark.stores import StoreSpec, build_store, parse_store_specs
from bakeoff.benchmark.vectors.datasets import VectorSet, open_dataset
from bakeoff.benchmark.vectors.neighbours import ExactNeighbours
from bakeoff.benchmark.vectors.quality import answer_quality
from bakeoff.errors import SettingError, StoreError
from bakeoff.pipeline.loops.closed_loop import WARM_UP, Search
from bakeoff.protocols import CompleteStore, SupportsReopen
from bakeoff.types import Hits, Metric

Pids = Callable[[str, BaseModel | None], Sequence[int]]
"""Process ids of the server behind a store, by name and parameters; empty if unknown."""


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """How a client process opens the same target; `kind` names the class in what is sent to it."""

    kind: ClassVar[str]

    def to_dict(self) -> dict[str, object]:
        """Plain values for a client process."""
        return {"kind": self.kind, **asdict(self)}

    def open(self, home: Path) -> LoadTarget:
        """The target in this process; `home` is a folder of its own."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class OpenStats:
    """The cost of opening a target; `build_seconds` is null if an earlier run built the index."""

    seconds: float
    build_seconds: float | None
    index_bytes: int | None
    resources: Resources


@dataclass(frozen=True, slots=True)
class QualityReference:
    """A quality reported with the speed; `measured` is null if it is computed from the answers under load."""

    name: str
    measured: float | None = None
    judge: Callable[[Sequence[Hits | None]], float | None] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class LoadTarget:
    """One system under load; `search(one of queries, k, query)` answers, with always k rows if it is `full`."""

    label: str
    store: str
    search: Search = field(repr=False)
    queries: Sequence[object] = field(repr=False)
    others: Sequence[object] = field(repr=False)
    k: int
    opening: OpenStats
    query: BaseModel | None = None
    setting: str = ""
    params: BaseModel | None = None
    full: bool = True
    grade: QualityReference | None = None
    recipe: TargetSpec | None = field(default=None, repr=False)
    close: Callable[..., None] = field(default=lambda **_: None, repr=False)

    def connect(self) -> None:
        """One unmeasured search that opens the calling thread's connection."""
        if len(self.others):
            self.search(self.others[0], self.k, self.query)


@dataclass(frozen=True, slots=True)
class VectorRecipe(TargetSpec):
    """A store over a dataset, for a client process: a connection of its own to a server, which is never filled again.

    An embedded store is opened where it was built if that folder is here and the engine reads it; else it is built
    again, in a folder of this client's own.
    """

    kind = "vectors"
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

    def open(self, home: Path) -> LoadTarget:
        """The target in this process; `home` is a folder of its own for a store that is built again."""
        dataset = open_dataset(self.dataset, metric=Metric(self.metric), queries=self.queries, seed=self.seed)
        (candidate,) = parse_store_specs([self.spec])
        again = issubclass(candidate.plugin, SupportsReopen) and (self.server or Path(self.home).is_dir())
        store = self._reopen(candidate, dataset) if again else self._rebuild(candidate, dataset, home)
        return LoadTarget(
            label=self.spec,
            store=candidate.name,
            search=store.search,
            queries=list(dataset.queries),
            others=list(dataset.warm_up(WARM_UP, self.seed)),
            k=self.k,
            opening=OpenStats(0.0, None, None, Resources.none()),
            query=candidate.query(self.setting),
            close=store.close,
        )

    def _rebuild(self, candidate: StoreSpec, dataset: VectorSet, home: Path) -> CompleteStore:
        """An index private to this process; its name is released immediately, because other clients use it too."""
        built = build_store(candidate, dataset, home, part=str(home))
        built.collection.release()
        return built.store

    def _reopen(self, candidate: StoreSpec, dataset: VectorSet) -> CompleteStore:
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
    """Why a process other than the driver cannot open a store, and what to do."""
    if server:
        return f"{label}: {why} A client's machine must reach the server at the address it is given."
    return (
        f"{label} is an embedded store that a second process cannot open ({why.rstrip('.')}). "
        "Leave --clients out, or use a store that is a server."
    )


def vector_target(
    candidate: StoreSpec,
    dataset: VectorSet,
    home: Path,
    *,
    name: str,
    k: int,
    setting: int | None,
    seed: int,
    truth: ExactNeighbours | None,
    pids: Sequence[int] = (),
    keep: bool = False,
) -> LoadTarget:
    """A store filled with the dataset; `name` is what the dataset is opened by."""
    built = build_store(candidate, dataset, home, pids)
    recipe = VectorRecipe(
        dataset=name,
        metric=dataset.metric.value,
        queries=len(dataset.queries),
        seed=seed,
        spec=candidate.label,
        setting=setting,
        k=k,
        home=str(home),
        server=built.elsewhere,
        collection=built.collection.name,
    )
    return LoadTarget(
        label=candidate.label,
        store=candidate.name,
        search=built.store.search,
        queries=list(dataset.queries),
        others=list(dataset.warm_up(WARM_UP, seed)),
        k=k,
        opening=OpenStats(built.build_seconds, built.build_seconds, built.index_bytes, built.resources),
        query=candidate.query(setting),
        setting=candidate.setting(setting),
        params=candidate.params,
        full=True,
        grade=QualityReference(f"kNN@{k}", judge=_judge(dataset, truth, k)) if truth is not None else None,
        recipe=recipe,
        close=partial(built.close, keep=keep),
    )


def check_dataset(stores: Sequence[StoreSpec], dataset: VectorSet, k: int, setting: int | None) -> None:
    """Refuse options that do not fit the dataset before anything is built."""
    if not 1 <= k <= len(dataset.base):
        raise SettingError(f"--k is {k}; it must be between 1 and {len(dataset.base):,}, the base's vectors.")
    for candidate in stores:
        if setting is not None and candidate.knob is None:
            raise SettingError(f"{candidate.label} declares no search knob; leave --setting out.")


def _judge(
    dataset: VectorSet, truth: ExactNeighbours, k: int
) -> Callable[[Sequence[Hits | None]], float | None]:
    """kNN@k of answers in the order of the queries."""
    return lambda answers: answer_quality(answers, truth, dataset, k).knn
