"""F66: a store was said not to reach a recall because its search parameter has a name of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel, ConfigDict, Field

from bakeoff import registry
from bakeoff.protocols import SearchKnob
from bakeoff.types import Hits

EXACT = registry.load("stores", "exact")
ROWS = 2000


class Broad(EXACT):
    """Compares the first `breadth` rows."""

    class Query(BaseModel):
        model_config = ConfigDict(extra="forbid", frozen=True)
        breadth: int = Field(default=500, ge=1)

    def kept(self, query: Any) -> int:
        return int(query.breadth)

    def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
        hits = super().search(vector, ROWS, query)
        kept = hits.ids % ROWS < self.kept(query)
        return Hits(hits.ids[kept][:k], hits.scores[kept][:k])


class Declared(Broad):
    @classmethod
    def search_knob(cls, params: Any) -> SearchKnob:
        return SearchKnob("breadth", high=ROWS)


class Pruned(Declared):
    """Its setting says how many rows are left out: recall falls as it rises."""

    class Query(BaseModel):
        model_config = ConfigDict(extra="forbid", frozen=True)
        skip: int = Field(default=1500, ge=0)

    def kept(self, query: Any) -> int:
        return int(ROWS - query.skip)

    @classmethod
    def search_knob(cls, params: Any) -> SearchKnob:
        return SearchKnob("skip", low=0, high=ROWS, recall="falls")


@pytest.fixture
def tuned(tmp_path: Path, cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[[type], Any]:
    """The record of `bakeoff ann` on one such store."""
    monkeypatch.chdir(tmp_path)

    def run(plugin: type) -> Any:
        registry.add("stores", "mine", plugin)
        try:
            typed = cli(
                "ann", f"synthetic:{ROWS}x16", "--queries", 80, "--stores", "mine", "--runs", 1,
                "--target-recall", 0.9, "--out", "found", "--json",
            )  # fmt: skip
        finally:
            registry.remove("stores", "mine")
        assert typed.code == 0, typed.err
        return json.loads(typed.out)

    return run


def test_f66_a_declared_knob_of_any_name_is_tuned(tuned: Callable[[type], Any]) -> None:
    found = tuned(Declared)
    (store,) = found["stores"]
    assert store["tuned"]["reached"] and 1750 <= store["tuned"]["value"] <= ROWS and not found["unreached"]


def test_f66_a_knob_with_which_recall_falls_is_turned_down(tuned: Callable[[type], Any]) -> None:
    (store,) = tuned(Pruned)["stores"]
    assert store["tuned"]["reached"] and 100 <= store["tuned"]["value"] <= 250


def test_f66_a_store_that_declares_none_is_not_tuned(tuned: Callable[[type], Any]) -> None:
    found = tuned(Broad)
    assert found["unreached"]["mine"].startswith("not tuned")
