"""The contract finds what it is there to find: exact search, broken in one place at a time."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from pydantic import BaseModel, ConfigDict

from bakeoff import registry
from bakeoff.errors import StoreError
from bakeoff.protocols import SearchKnob
from bakeoff.testing.store_checks import CHECKS
from bakeoff.testing.store_fixture import StoreFixture, outcome
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
        kept = np.isin(hits.ids, self._beside.matching_ids(where))
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


class NeedsWritable(EXACT):
    """It normalises the rows it is given in place; a run gives maps that are read only."""

    def insert(self, batch: Batch) -> None:
        assert batch.vectors is not None
        batch.vectors[:] = batch.vectors / np.linalg.norm(batch.vectors, axis=1, keepdims=True)
        super().insert(batch)


class Knobbed(EXACT):
    """Looks at the first `breadth` rows only."""

    class Query(BaseModel):
        model_config = ConfigDict(extra="forbid", frozen=True)
        breadth: int = 2000

    @classmethod
    def search_knob(cls, params: Any) -> SearchKnob:
        return SearchKnob("breadth", low=1, high=2000)

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        hits = super().search(vector, 10_000, query)
        kept = hits.ids % 2000 < query.breadth
        return Hits(hits.ids[kept][:k], hits.scores[kept][:k])


class IdleKnob(Knobbed):
    """The declared knob changes nothing."""

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        return EXACT.search(self, vector, k, query)


class WrongWay(Knobbed):
    """Recall rises with the knob; it says that it falls."""

    @classmethod
    def search_knob(cls, params: Any) -> SearchKnob:
        return SearchKnob("breadth", low=1, high=2000, recall="falls")


class NoSuchField(Knobbed):
    """The knob is a field that Query does not have."""

    @classmethod
    def search_knob(cls, params: Any) -> SearchKnob:
        return SearchKnob("ef")


class OneForAll(EXACT):
    """Every collection lies in the same place."""

    rows: ClassVar[list[Any]] = []

    def ready(self) -> None:
        type(self).rows = self._blocks

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        return self._among(self.rows, vector, k)


class AnswersClosed(EXACT):
    """A closed store answers as if it were empty."""

    def close(self) -> None:
        self._blocks = []


class AnyDimension(EXACT):
    """A query of another dimension is cut or filled up."""

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        return super().search(np.resize(vector, self._dims), k, query)


class Litters(EXACT):
    """It leaves a file in the working folder."""

    def ready(self) -> None:
        Path("engine.log").write_text("ready")


class LittersTemporary(EXACT):
    """It leaves a file among the temporary ones."""

    def ready(self) -> None:
        tempfile.mkstemp()


class Prints(EXACT):
    """It says that it is ready."""

    def ready(self) -> None:
        print("ready")


class PrintsBelow(EXACT):
    """A library below Python writes to the terminal."""

    def ready(self) -> None:
        os.write(2, b"WARNING: clustering 300 points")


class Sleeps(EXACT):
    """It waits before it answers."""

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        time.sleep(0.001)
        return super().search(vector, k, query)


CASES = {
    NeedsWritable: "finds the nearest by cosine",
    IdleKnob: "the search knob has an effect",
    WrongWay: "the search knob has an effect",
    NoSuchField: "the search knob has an effect",
    OneForAll: "collections of two names are two",
    AnswersClosed: "a closed store answers nothing",
    AnyDimension: "a query of another dimension is refused",
    Litters: "files are in its home only",
    LittersTemporary: "files are in its home only",
    Prints: "prints nothing",
    PrintsBelow: "prints nothing",
    Sleeps: "a search does not sleep",
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
    return outcome(check, StoreFixture(name="broken", plugin=plugin, folder=folder, gaps=plugin.gaps))  # type: ignore[attr-defined]


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

    code = "import sys; import bakeoff.testing.smoke_test; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_knob_with_an_effect_passes(tmp_path: Path) -> None:
    found = tried(Knobbed, "the search knob has an effect", tmp_path)
    assert (found.state, found.why) == ("ok", "")


def test_vectors_are_given_as_a_run_gives_them(tmp_path: Path) -> None:
    given = StoreFixture(name="exact", plugin=EXACT, folder=tmp_path).vectors()
    assert isinstance(given, np.memmap) and not given.flags.writeable
