"""Stores on vectors: parsing their specification, filling a collection, and its cost."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
from pydantic import BaseModel, ValidationError

from bakeoff import registry
from bakeoff.benchmark.resources.usage import Resources, Sampler
from bakeoff.benchmark.session import ENGINE_FAULTS
from bakeoff.benchmark.vectors.datasets import VectorSet
from bakeoff.errors import SettingError, StoreError, describe_error
from bakeoff.fingerprint import fingerprint
from bakeoff.protocols import (
    CompleteStore,
    Guarantee,
    SearchKnob,
    Store,
    SupportsDrop,
    SupportsReopen,
    SupportsTuning,
    SupportsVectors,
    declared_guarantees,
)
from bakeoff.storage.cache import folder_bytes
from bakeoff.storage.file_lock import lock_file
from bakeoff.storage.shared_location import ensure_marker
from bakeoff.storage.weights import home_folder
from bakeoff.types import Batch


@dataclass(frozen=True, slots=True)
class StoreSpec:
    """A store with its build parameters and the search knob it declares, if any."""

    label: str
    name: str
    plugin: type[CompleteStore] = field(repr=False)
    params: BaseModel = field(repr=False)
    knob: SearchKnob | None = None

    def query(self, value: int | None = None) -> BaseModel:
        """Query arguments with the knob at a value; the store's own default without one."""
        if value is None:
            return self.plugin.Query()
        assert self.knob is not None
        return self.plugin.Query(**{self.knob.name: value})

    def setting(self, value: int | None) -> str:
        """The display form of a query setting."""
        return "default" if value is None or self.knob is None else f"{self.knob.name}={value}"

    def guarantees(self) -> tuple[Guarantee, ...]:
        """What the store declares about consistency, durability and refresh."""
        return declared_guarantees(self.plugin, self.params, self.query())

    def grid(self, k: int) -> tuple[int | None, ...]:
        """The values of a sweep; only the default if the store declares no knob."""
        return (None,) if self.knob is None else self.knob.grid(k)


def parse_store_specs(specs: Sequence[str]) -> tuple[StoreSpec, ...]:
    """The stores of a command line, validated; a repeated store is an error."""
    candidates = [_candidate(spec.strip()) for spec in specs if spec.strip()]
    if not candidates:
        raise SettingError("no store was named. Write --stores exact,faiss.")
    labels = [one.label for one in candidates]
    if twice := sorted({label for label in labels if labels.count(label) > 1}):
        raise SettingError(f"{', '.join(twice)} is named twice in --stores.")
    return tuple(candidates)


def _candidate(spec: str) -> StoreSpec:
    name, _, rest = spec.partition(":")
    plugin = registry.load("stores", name)
    if not issubclass(plugin, SupportsVectors):
        raise SettingError(f"{name} searches by keywords; it cannot be measured on vectors.")
    try:
        params = plugin.Params(**_nest_settings(rest, spec))
    except ValidationError as exc:
        first = exc.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SettingError(f"--stores {spec}: {where}: {first['msg']}.") from exc
    return StoreSpec(spec, name, cast("type[CompleteStore]", plugin), params, declared_knob(plugin, params))


def _nest_settings(text: str, spec: str) -> dict[str, object]:
    """`a.b=1;c=x` as nested dictionaries of strings, which the parameters' own types turn into values."""
    settings: dict[str, object] = {}
    for item in filter(None, text.split(";")):
        path, sign, value = item.partition("=")
        if not sign or not path:
            raise SettingError(
                f"--stores {spec}: {item!r} is not name=value. Write faiss:build.index=ivf;build.m=8."
            )
        *folders, last = path.strip().split(".")
        inner: dict[str, object] = settings
        for part in folders:
            inner = cast("dict[str, object]", inner.setdefault(part, {}))
        inner[last] = value.strip()
    return settings


def declared_knob(plugin: type[Store], params: BaseModel) -> SearchKnob | None:
    """The knob that tunes searches of an index built with these parameters."""
    knob: SearchKnob | None = plugin.search_knob(params) if issubclass(plugin, SupportsTuning) else None
    if knob is not None and knob.name not in plugin.Query.model_fields:
        raise StoreError(
            f"{plugin.__name__} declares the search knob {knob.name!r}, which its Query does not have. "
            f"It has: {', '.join(plugin.Query.model_fields) or 'nothing'}."
        )
    return knob


LENGTH = 16


class Collection:
    """A collection name locked against other benchmarks until it is released.

    Two runs over the same data with the same settings have the same name; a run with another BAKEOFF_HOME has another
    one, so that a lock in that folder is enough.
    """

    def __init__(self, candidate: StoreSpec, dataset: VectorSet, part: str = "") -> None:
        self._candidate, self._cache = candidate, home_folder() / "cache"
        self._shared = issubclass(candidate.plugin, SupportsDrop)  # embedded stores use a folder of this run
        params = candidate.params.model_dump(mode="json")
        parts = (part, candidate.name, params, dataset.fingerprint, dataset.dims, dataset.metric.value)
        mark = ensure_marker(self._cache).marker if self._shared else ""
        self.name = f"bench_{fingerprint('collection', mark, *parts)[:LENGTH]}"
        self._lock: int | None = None

    def acquire(self) -> None:
        """Lock the name; a StoreError names the process that already holds it."""
        if not self._shared:
            return
        path = self._cache / "locks" / f"{self._candidate.name}-{self.name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            lock_file(handle, wait=False)
        except BlockingIOError:
            owner = os.read(handle, 32).decode("ascii", "replace")
            os.close(handle)
            raise StoreError(
                f"{self._candidate.label}: process {owner or 'unknown'} is measuring the same data with the same "
                f"settings in collection {self.name}. Run the command again when that process has ended."
            ) from None
        os.truncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        self._lock = handle

    def release(self) -> None:
        """Release the name."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def end(self, store: Store, *, keep: bool = False, hung: bool = False) -> None:
        """Drop the collection unless `keep` is set, close the store and release the name.

        A store in which a search hangs is left as it is; another connection drops its collection. A collection that
        cannot be dropped is a StoreError that says how to remove it.
        """
        try:
            if not keep and isinstance(store, SupportsDrop):
                self._drop(store, hung)
        finally:
            if not hung:
                store.close()
            self.release()

    def _drop(self, store: SupportsDrop, hung: bool) -> None:
        other = self._candidate.plugin(self._candidate.params, home_folder()) if hung else None
        try:
            (other or store).drop(self.name)
        except (StoreError, *ENGINE_FAULTS) as exc:
            raise StoreError(
                f"collection {self.name} is still on the server ({describe_error(exc).rstrip('.')}). Remove it with "
                f"`bakeoff servers collections {self._candidate.name} --drop`."
            ) from exc
        finally:
            if other is not None:
                other.close()


BATCH = 8192


@dataclass(frozen=True, slots=True)
class BuiltStore:
    """An open store; `build_seconds` is inserting and indexing together (S1-9, C-14).

    `index_bytes` is None for an engine that keeps its index elsewhere: it can be reopened, and left no file here.
    """

    candidate: StoreSpec
    store: CompleteStore
    collection: Collection
    insert_seconds: float
    index_seconds: float
    index_bytes: int | None
    in_memory: bool
    resources: Resources

    @property
    def elsewhere(self) -> bool:
        """Whether a server keeps the index."""
        return self.index_bytes is None

    @property
    def build_seconds(self) -> float:
        """Seconds from the empty collection to the last row searchable."""
        return self.insert_seconds + self.index_seconds

    def close(self, *, keep: bool = False, hung: bool = False) -> None:
        """Drop the collection from its server unless `keep` is set, and close the store."""
        in_its_folder = hung and not self.elsewhere  # it is removed with the run's folder
        self.collection.end(self.store, keep=keep or in_its_folder, hung=hung)


def build_store(
    candidate: StoreSpec, dataset: VectorSet, home: Path, pids: Iterable[int] = (), part: str = ""
) -> BuiltStore:
    """Insert every base vector and wait for the index; ids are row numbers, `pids` the store's server processes."""
    with locked_store(candidate, dataset, home, part) as (store, collection), Sampler(pids=pids) as sampler:
        begin = time.perf_counter()
        store.create(collection.name, dataset.dims, dataset.metric)
        insert_rows(store, dataset.base)
        inserted = time.perf_counter()
        store.ready()
        ready = time.perf_counter()
    on_disk = folder_bytes(home)
    in_memory = not on_disk and not isinstance(store, SupportsReopen)
    size = int(dataset.base.nbytes) if in_memory else on_disk or None
    return BuiltStore(
        candidate=candidate,
        store=store,
        collection=collection,
        insert_seconds=inserted - begin,
        index_seconds=ready - inserted,
        index_bytes=size,
        in_memory=in_memory,
        resources=sampler.result,
    )


def insert_rows(
    store: CompleteStore, rows: np.ndarray, payloads: list[dict[str, str | int | float]] | None = None
) -> None:
    """Insert all rows in batches; ids are row numbers."""
    for first in range(0, len(rows), BATCH):
        part = slice(first, min(first + BATCH, len(rows)))
        ids = np.arange(part.start, part.stop, dtype=np.int64)
        store.insert(Batch(ids, vectors=rows[part], payloads=payloads[part] if payloads else None))


@contextlib.contextmanager
def locked_store(
    candidate: StoreSpec, dataset: VectorSet, home: Path, part: str = ""
) -> Iterator[tuple[CompleteStore, Collection]]:
    """A store and its locked collection name; neither remains after a failure."""
    home.mkdir(parents=True, exist_ok=True)
    collection = Collection(candidate, dataset, part)
    collection.acquire()
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(collection.release)
        store = candidate.plugin(candidate.params, home)
        on_failure.callback(_end_quietly, collection, store)
        yield store, collection
        on_failure.pop_all()


def _end_quietly(collection: Collection, store: Store) -> None:
    """Clean up a collection after a failure, without hiding that failure."""
    with contextlib.suppress(StoreError):
        collection.end(store)
