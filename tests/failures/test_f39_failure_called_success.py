"""F39: a store that fails, and the run prints "success", writes zeros and exits 0."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bakeoff import registry
from bakeoff.cli import console
from bakeoff.cli.app import app
from bakeoff.errors import StoreError
from bakeoff.runs.analysis import open_run
from bakeoff.types import Hits


@pytest.fixture
def broken(tiny: Path, register: Callable[..., None]) -> Path:
    class Broken(registry.load("stores", "faiss")):
        def ready(self) -> None:
            raise StoreError("the engine refused the index: no memory left.")

    register("stores", "broken", Broken)
    tiny.write_text(tiny.read_text().replace("[exact, faiss]", "[exact, broken]"))
    return tiny


def typed(*words: str) -> int:
    return console.run_guarded(lambda: app(list(words), standalone_mode=False))


def test_f39_failed_is_a_status_with_a_reason_and_code_1(broken: Path, capsys: Any) -> None:
    assert typed("run", "--json", "--out", "run") == 1
    told = json.loads(capsys.readouterr().out)
    assert len(told["failed"]) == 4 and len(told["systems"]) == 6
    result = open_run("run")
    rows = {row["system"]: row for row in result.systems.to_pylist()}
    for system, reason in told["failed"].items():
        assert rows[system]["status"] == "failed" and rows[system]["reason"] == reason
        assert "no memory left" in reason and "broken" in system
    assert result.record.status == "partial"


def test_f39_no_zero_stands_for_a_failed_system(broken: Path, capsys: Any) -> None:
    typed("run", "-q", "--out", "run")
    result = open_run("run")
    for table in (result.scores, result.latencies, result.rankings, result.losses):
        assert not set(table["system"].to_pylist()) & set(result.failed)
    before = [row for row in result.timings.to_pylist() if row["system"] in result.failed]
    assert {row["phase"] for row in before} == {"read", "chunk", "embed_chunks"}  # what it went through
    assert all(row["value"] != 0 for row in before)
    assert set(result.comparison.ranking) == set(result.done)


def test_f39_the_others_are_as_if_it_had_not_been_there(broken: Path, ran: Any, capsys: Any) -> None:
    typed("run", "-q", "--out", "run")
    result = open_run("run")
    for system in result.done:
        assert result.comparison.summary(system).mean == ran.result.comparison.summary(system).mean


def test_f39_a_store_that_fails_under_measurement_is_failed_and_code_1(
    home: Path, register: Callable[..., None], capsys: Any
) -> None:
    class Broken(registry.load("stores", "exact")):
        def search(self, vector: Any, k: int, query: Any) -> Hits:
            raise StoreError("the connection was closed.")

    register("stores", "broken", Broken)
    words = ("ann", "synthetic:500x8", "--stores", "broken,exact", "--runs", "1", "--out", "out")
    assert typed(*words) == 1
    record = json.loads(Path("out/record.json").read_text())
    assert record["status"] == "failed" and "the connection was closed" in record["failed"]["broken"]
    assert [point["system"] for point in record["points"]] == ["exact"]
    told = " ".join("".join(capsys.readouterr()).split())
    assert "the connection was closed" in told
