"""The contract finds what it is there to find: exact search, broken in one place at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.errors import StoreError
from bakeoff.testing.bench import Bench, outcome
from bakeoff.testing.storechecks import CHECKS
from bakeoff.types import Batch, Hits, Metric

EXACT = registry.load("stores", "exact")


class Worst(EXACT):
    """The farthest come."""

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        return super().search(-vector, k, query)


class Distances(EXACT):
    """A distance is given for a score."""

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        hits = super().search(vector, k, query)
        return Hits(hits.ids, 1 - hits.scores)


class Twice(EXACT):
    """One row comes twice."""

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        hits = super().search(vector, k - 1, query)
        return Hits(np.append(hits.ids, hits.ids[-1:]), np.append(hits.scores, hits.scores[-1:]))


class FiltersAfterwards(EXACT):
    """The filter is applied to the k rows that were found."""

    def search_where(self, vector: np.ndarray, k: int, query: Any, where: Any) -> Hits:
        hits = self.search(vector, k, query)
        kept = np.isin(hits.ids, self._beside.allowed(where))
        return Hits(hits.ids[kept], hits.scores[kept])


class NoFilter(EXACT):
    """The filter is not looked at."""

    def search_where(self, vector: np.ndarray, k: int, query: Any, where: Any) -> Hits:
        return self.search(vector, k, query)


class ShortTexts(EXACT):
    """Payload texts end after 1,000 characters."""

    def payloads(self, ids: np.ndarray) -> list[dict[str, Any]]:
        return [
            {key: value[:1000] if isinstance(value, str) else value for key, value in row.items()}
            for row in super().payloads(ids)
        ]


class Unsorted(EXACT):
    """Payloads come in the order of the ids' numbers."""

    def payloads(self, ids: np.ndarray) -> list[dict[str, Any]]:
        return super().payloads(np.sort(ids))


class Floats(EXACT):
    """Integers come back as floating-point numbers."""

    def payloads(self, ids: np.ndarray) -> list[dict[str, Any]]:
        return [row | {"year": float(row["year"])} for row in super().payloads(ids)]


class KeepsDeleted(EXACT):
    """Nothing is deleted."""

    def delete(self, ids: np.ndarray) -> None:
        pass


class ReplacesByAdding(EXACT):
    """The old row stays beside the new one."""

    def replace(self, batch: Batch) -> None:
        self.insert(batch)


class KeepsOld(EXACT):
    """`create` leaves what was there."""

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._metric = metric


class TakesAnything(EXACT):
    """It says it has a limit and refuses nothing."""

    max_dims = 100
    gaps = {ability: why for ability, why in EXACT.gaps.items() if ability != "dims limit"}


class SaysTooMuch(EXACT):
    """A gap is declared for what is there."""

    gaps = EXACT.gaps | {"delete": "not offered"}


class SaysTooLittle(EXACT):
    """A missing ability is not declared."""

    gaps = {ability: why for ability, why in EXACT.gaps.items() if ability != "batch"}


class Misspells(EXACT):
    """A gap nobody knows."""

    gaps = EXACT.gaps | {"deletion": "not offered"}


class Leaks(EXACT):
    """An engine's own error comes through."""

    def ready(self) -> None:
        raise RuntimeError("connection reset")


CASES = {
    Worst: "finds the nearest by cosine",
    Distances: "finds the nearest by cosine",
    Twice: "finds the nearest by l2",
    FiltersAfterwards: "a filter of one row in a hundred",
    NoFilter: "filters are honoured",
    ShortTexts: "long payloads",
    Unsorted: "payloads come back",
    Floats: "payloads come back",
    KeepsDeleted: "deletes",
    ReplacesByAdding: "replaces",
    KeepsOld: "create replaces",
    TakesAnything: "a dimension over the limit is refused",
    SaysTooMuch: "gaps are gaps",
    SaysTooLittle: "a batch of queries is answered as each alone",
    Misspells: "gaps are gaps",
    Leaks: "empty collection",
}


def tried(plugin: type, name: str, folder: Path) -> Any:
    (check,) = (check for check in CHECKS if check.name == name)
    return outcome(check, Bench("broken", plugin, folder, gaps=plugin.gaps))  # type: ignore[attr-defined]


@pytest.mark.parametrize("plugin", CASES, ids=lambda plugin: plugin.__name__)
def test_a_broken_store_is_found(plugin: type, tmp_path: Path) -> None:
    assert tried(EXACT, CASES[plugin], tmp_path).state in ("ok", "gap")
    found = tried(plugin, CASES[plugin], tmp_path)
    assert found.state == "failed" and found.why


def test_names_differ() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)


def test_a_gap_of_a_metric_is_held_to_it(tmp_path: Path) -> None:
    """What is said not to be there must be refused."""

    class NoDot(EXACT):
        gaps = EXACT.gaps | {"dot": "the engine has none"}

    assert tried(NoDot, "finds the nearest by dot", tmp_path).state == "failed"

    class Refuses(NoDot):
        def create(self, collection: str, dims: int, metric: Metric) -> None:
            if metric is Metric.DOT:
                raise StoreError("no inner product")
            super().create(collection, dims, metric)

    found = tried(Refuses, "finds the nearest by dot", tmp_path)
    assert (found.state, found.why) == ("gap", "the engine has none")


def test_the_checks_need_no_pytest() -> None:
    import subprocess
    import sys

    code = "import sys; import bakeoff.testing.trial; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
