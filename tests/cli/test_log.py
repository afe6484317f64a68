"""bakeoff log: what MLflow and Weights & Biases get is what the run has, and nothing of the documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bakeoff.report.exports.trackers import metric_name, tracked_systems


def test_every_system_has_its_means_with_both_ends_and_its_parts(ran: Any) -> None:
    result = ran.result
    primary = result.record.primary
    systems = {one.name: one for one in tracked_systems(result)}
    assert list(systems) == result.systems["system"].to_pylist()
    assert [one.name for one in systems.values() if one.recommended] == [result.recommendation.system]
    for name, summary in result.summaries(primary).items():
        metrics = systems[name].metrics
        assert metrics[metric_name(primary)] == summary.mean
        assert metrics[f"{metric_name(primary)}_low"] == summary.interval.low
        assert metrics["p50_ms"] == result.timing(name, "total", "p50_ms")
        assert {"chunker", "mode", "settings"} <= set(systems[name].params)


def test_an_unknown_tracker_and_a_missing_report_are_errors(ran: Any, cli: Callable[..., Any]) -> None:
    assert cli("log", ran.result.path, "--to", "neptune").code == 2
    assert cli("log", ran.result.path, "--to", "mlflow", "--with-report").code == 2


@pytest.mark.slow
def test_mlflow_keeps_the_figures_of_a_run_once_and_no_text(
    ran: Any, cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mlflow

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", tmp_path.as_uri())
    mlflow.set_tracking_uri(tmp_path.as_uri())
    assert cli("log", ran.result.path, "--to", "mlflow", "--project", "search").code == 0
    experiment = mlflow.get_experiment_by_name("search")
    kept = {
        one.info.run_name: one for one in mlflow.search_runs([experiment.experiment_id], output_format="list")
    }
    parent = kept.pop(ran.result.record.run)
    assert parent.data.tags["bakeoff.recommendation"] == ran.result.recommendation.sentence
    assert parent.data.tags["bakeoff.strength"] == "start"
    assert {name: one.data.metrics for name, one in kept.items()} == {
        one.name: one.metrics for one in tracked_systems(ran.result)
    }
    assert {one.data.tags["mlflow.parentRunId"] for one in kept.values()} == {parent.info.run_id}
    assert cli("log", ran.result.path, "--to", "mlflow", "--project", "search").code == 2
    assert not any(_holds_a_question(path, ran.result) for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.slow
def test_wandb_keeps_one_entry_per_system_offline(
    ran: Any, cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    logged = cli("log", ran.result.path, "--to", "wandb", "--json")
    assert logged.json["entries"] == len(ran.result.record.systems)
    assert (logged.json["offline"], Path(logged.json["place"])) == (True, tmp_path / "wandb")
    assert "WARNING" not in logged.err
    written = list(tmp_path.rglob("*.wandb"))
    assert len(written) == len(ran.result.record.systems)
    data = b"".join(record for path in written for record in _wandb_records(path))
    for system in tracked_systems(ran.result):
        assert system.name.encode() in data
    assert metric_name(ran.result.record.primary).encode() in data
    assert not any(os.fsencode(text) in data for text in ran.result.queries["text"].to_pylist())


def _wandb_records(path: Path) -> Iterator[bytes]:
    """The records of an offline entry: blocks of 32 KiB of fragments, each after its checksum, length and type."""
    data, at = path.read_bytes(), 7
    while at < len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        length = int.from_bytes(data[at + 4 : at + 6], "little")
        yield data[at + 7 : at + 7 + length]
        at += 7 + length


def _holds_a_question(path: Path, result: Any) -> bool:
    data = path.read_bytes()
    return any(os.fsencode(text) in data for text in result.queries["text"].to_pylist())
