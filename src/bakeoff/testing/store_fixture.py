"""A store under test: how a check creates and fills one, and reports what is wrong; needs no test runner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel

from bakeoff import protocols as p
from bakeoff.types import STORAGES, Batch, Metric

ABILITIES: dict[str, type] = {
    "vectors": p.SupportsVectors,
    "keywords": p.SupportsKeywords,
    "hybrid": p.SupportsHybrid,
    "reopen": p.SupportsReopen,
    "delete": p.SupportsDelete,
    "replace": p.SupportsReplace,
    "payload": p.SupportsPayload,
    "batch": p.SupportsBatch,
    "sparse vectors": p.SupportsSparse,
    "token vectors": p.SupportsTokenVectors,
    "storage": p.SupportsStorage,
}
"""Abilities that a store has by having the methods."""
OPTIONAL = {
    "sparse vectors": "sparse vectors",
    "token vectors": "token vectors",
    "storage": "vectors but float32",
}
"""Abilities that few engines have: lacking them needs no reason."""
LIMIT = "dims limit"
"""Also an ability: a store whose engine has a limit declares it as `max_dims`."""
BEHAVIOURS = ("clients", "long payloads", *(metric.value for metric in Metric), *STORAGES)
"""Abilities without a method: two clients at once, payload texts of 100 kB, each metric, each storage."""
FIRST_ID = 1000


class DeclaredGap(Exception):
    """Something the store declares it can't do, with its reason."""


class ContractViolation(AssertionError):
    """A violation of the contract."""


def expect(holds: object, text: str) -> None:
    """Raise ContractViolation with a text unless a condition holds."""
    if not holds:
        raise ContractViolation(text)


@dataclass(kw_only=True)
class StoreFixture:
    """One store's plug-in and parameters, its folder, and the required accuracy."""

    name: str
    plugin: type[p.CompleteStore]
    folder: Path
    params: Mapping[str, object] = field(default_factory=dict)
    gaps: Mapping[str, str] = field(default_factory=dict)
    rows: int = 300
    dims: int = 16
    recall: float = 0.95
    score_error: float = 1e-3
    _made: list[p.CompleteStore] = field(default_factory=list)

    def make(self, home: str = "home") -> p.CompleteStore:
        """A new instance on a folder of that name."""
        (self.folder / home).mkdir(exist_ok=True)
        store = self.plugin(self.plugin.Params(**self.params), self.folder / home)
        self._made.append(store)
        return store

    def close(self) -> None:
        """Close every instance that was made, including those a check has closed already."""
        while self._made:
            self._made.pop().close()

    def query(self) -> BaseModel:
        """The default query arguments."""
        return self.plugin.Query()

    def has(self, ability: str) -> bool:
        """Whether the plug-in has an ability's methods; abilities without a method count as present."""
        if ability == LIMIT:
            return hasattr(self.plugin, "max_dims")
        protocol = ABILITIES.get(ability)
        return protocol is None or issubclass(self.plugin, protocol)

    def need(self, ability: str) -> None:
        """Raise DeclaredGap with the declared reason, or ContractViolation if there is none."""
        if ability in self.gaps:
            raise DeclaredGap(self.gaps[ability])
        if not self.has(ability) and ability in OPTIONAL:
            raise DeclaredGap(f"the store holds no {OPTIONAL[ability]}")
        if not self.has(ability):
            hint = f"give it {_methods(ability)}, or say why not: gaps = {{{ability!r}: '…'}}"
            raise ContractViolation(f"no {ability}: {hint}.")

    @property
    def vector_folder(self) -> Path:
        """Where the vectors given to a store lie."""
        return self.folder / "given"

    def vectors(self, rows: int | None = None, seed: int = 7) -> np.ndarray:
        """Seeded vectors of unequal length, so that the metrics differ, as a read-only memory map like in a run."""
        count = rows or self.rows
        file = self.vector_folder / f"{count}-{self.dims}-{seed}.npy"
        if not file.exists():
            self.vector_folder.mkdir(exist_ok=True)
            generator = np.random.default_rng(seed)
            scale = generator.uniform(0.5, 2.0, (count, 1))
            np.save(file, (generator.normal(size=(count, self.dims)) * scale).astype(np.float32))
        mapped: np.ndarray = np.load(file, mmap_mode="r")
        return mapped

    def make_filled(self, metric: Metric = Metric.COSINE) -> tuple[p.CompleteStore, np.ndarray]:
        """A store with the seeded vectors, inserted in two batches with ids that don't start at 0."""
        store, rows = self.make(), self.vectors()
        store.create("contract_rows", self.dims, metric)
        for part in np.array_split(np.arange(self.rows), 2):
            store.insert(Batch(part.astype(np.int64) + FIRST_ID, vectors=rows[part[0] : part[-1] + 1]))
        store.ready()
        return store, rows


def _methods(ability: str) -> str:
    """The methods of an ability."""
    if ability == LIMIT:
        return "max_dims"
    return ", ".join(sorted(name for name in vars(ABILITIES[ability]) if not name.startswith("_")))


@dataclass(frozen=True, slots=True)
class ContractCheck:
    """One promise of the contract: its name, the abilities it concerns, and its test."""

    name: str
    needs: tuple[str, ...]
    tried: Callable[[StoreFixture], None]

    def __call__(self, bench: StoreFixture) -> None:
        """Return if the promise is kept; raise DeclaredGap, ContractViolation, or what the store raised."""
        try:
            for ability in self.needs:
                bench.need(ability)
            self.tried(bench)
        finally:
            bench.close()


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """Outcome of a check, and the reason if it is not fine."""

    check: str
    state: Literal["ok", "gap", "failed"]
    why: str = ""


class Suite(list[ContractCheck]):
    """Checks in the order they are written."""

    def check(
        self, *needs: str
    ) -> Callable[[Callable[[StoreFixture], None]], Callable[[StoreFixture], None]]:
        """Decorator: register the function as a check for stores with some abilities, under its name."""

        def add(tried: Callable[[StoreFixture], None]) -> Callable[[StoreFixture], None]:
            self.append(ContractCheck(tried.__name__.replace("_", " "), needs, tried))
            return tried

        return add


def outcome(check: ContractCheck, bench: StoreFixture) -> CheckOutcome:
    """Try one check and say how it ended."""
    try:
        check(bench)
    except DeclaredGap as gap:
        return CheckOutcome(check.name, "gap", str(gap))
    except ContractViolation as exc:
        return CheckOutcome(check.name, "failed", str(exc))
    except Exception as exc:  # noqa: BLE001 - whatever an adapter lets through is a check that failed
        return CheckOutcome(check.name, "failed", f"{type(exc).__name__}: {exc}")
    return CheckOutcome(check.name, "ok")
