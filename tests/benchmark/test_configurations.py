"""Configurations measured anew at each depth: rows, their figures against formulas written here, export, resume."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import bakeoff
from bakeoff import registry
from bakeoff.benchmark.configurations import trial
from bakeoff.benchmark.configurations.jobs import IngestionJob, SystemJob
from bakeoff.benchmark.configurations.trial import ingest_documents, measure_configuration
from bakeoff.benchmark.results.configurations import CONFIGURATIONS, Configurations, read_configurations
from bakeoff.cli.app import app
from bakeoff.config.experiment import load
from bakeoff.errors import ExperimentError, SettingError, StoreError
from bakeoff.report.exports.ir_formats import export_preset as export_run
from bakeoff.report.sections.depths import depths_section
from bakeoff.report.sections.parts import LineChart
from bakeoff.runs.analysis import Result, open_run

WORDS = [
    f"{a}{b}ing" for a in ("am", "bro", "cas", "dre", "fal", "gar") for b in ("ber", "can", "dle", "gla")
]
DEPTHS = (1, 4)
RUNS = 2
EXPERIMENT = """\
corpus: {folder: docs}
queries: queries.yaml
preset: vectordb
chunkers: [{line: {doc_lines: 2, overlap: 0}}]
embedders: [{wordllama: {dims: 64}}]
stores: [exact, hnswlib]
modes: [dense]
runs: 2
top_k: [1, 4]
"""


def write_corpus(folder: Path) -> None:
    dice = random.Random(4)
    (folder / "docs").mkdir()
    lines = []
    for number in range(8):
        own = dice.sample(WORDS, 6)
        rows = [" ".join(dice.choices(own, k=5) + dice.choices(WORDS, k=2)) for _ in range(6)]
        (folder / "docs" / f"doc_{number:03d}.md").write_text("\n".join(rows) + "\n")
        words = " ".join(dice.sample(rows[2].split(), 3))
        lines.append({"id": f"q{number}", "query": words, "relevant_doc_ids": [f"doc_{number:03d}"]})
    (folder / "test_cases.json").write_text(json.dumps({"test_cases": lines}))
    (folder / "bakeoff.yaml").write_text(EXPERIMENT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run by the commands a user types, from S3's own file with ids that leave the extension out.

    Its configurations are measured briefly and in this process; the slow tests below measure in processes of their own.
    """
    place = tmp_path_factory.mktemp("vectordb")
    write_corpus(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("BAKEOFF_HOME", str(place / "home"))
        patch.setattr(trial, "run_isolated", lambda work, job: work(job))
        patch.setattr(trial, "SEARCH_SECONDS", 0.0)
        assert CliRunner().invoke(app, ["import", "vectordb", "test_cases.json"]).exit_code == 0
        assert CliRunner().invoke(app, ["validate"]).exit_code == 0
        assert CliRunner().invoke(app, ["run", "--out", "run", "-q"]).exit_code == 0
    return place / "run"


@pytest.fixture
def result(folder: Path) -> Result:
    return open_run(folder)


def configurations(result: Result) -> Configurations:
    found = read_configurations(result)
    assert found is not None
    return found


def test_every_depth_of_every_run_has_its_own_row(result: Result) -> None:
    rows = configurations(result).rows
    assert {
        (row["system"], row["repeat"], row["top_k"]) for row in rows if row["figure"] == "latency_ms"
    } == {(system, repeat, k) for system in result.done for repeat in range(RUNS) for k in DEPTHS}
    figures = {row["figure"] for row in rows if row["top_k"] == 4}
    assert {"latency_ms", "qps", "search_avg_memory_mb", "R", "P_unique", "RR", "kNN"} <= figures
    assert all(row["value"] is not None or row["note"] for row in rows)


def test_ingestion_is_timed_in_every_run_though_validate_filled_the_cache(result: Result) -> None:
    found = configurations(result)
    for system in result.done:
        phases = {
            name: found.across_runs(system, name).values
            for name in ("read_s", "chunk_s", "embed_s", "insert_s", "index_s", "total_s")
        }
        assert all(len(values) == RUNS for values in phases.values())
        whole = phases.pop("total_s")
        assert all(sum(values[i] for values in phases.values()) <= whole[i] for i in range(RUNS))


def test_quality_is_that_of_the_first_k_chunks(result: Result) -> None:
    """S3-3, S3-5 and S3-6, written out here, on the rankings that the run kept."""
    truth = {f"q{number}": {f"doc_{number:03d}.md"} for number in range(8)}
    rows = [row for row in result.rankings.to_pylist() if "exact" in row["system"]]
    for k in DEPTHS:
        expected: dict[str, list[float]] = {"R": [], "P_unique": [], "RR": []}
        for query, relevant in truth.items():
            ranked = sorted((row for row in rows if row["query_id"] == query), key=lambda row: row["rank"])
            documents = [row["document_id"] for row in ranked[:k]]
            expected["R"].append(len(set(documents) & relevant) / len(relevant))
            expected["P_unique"].append(len(set(documents) & relevant) / len(set(documents)))
            ranks = [place for place, one in enumerate(documents, 1) if one in relevant]
            expected["RR"].append(1 / ranks[0] if ranks else 0.0)
        system = rows[0]["system"]
        for name, values in expected.items():
            measured = configurations(result).across_runs(system, name, k).values
            assert measured == pytest.approx([np.mean(values)] * RUNS)


def test_the_export_has_a_record_per_depth_with_its_own_figures(folder: Path, result: Result) -> None:
    """S3-10, S3-12, S3-14."""
    files = export_run(folder, "vectordb")
    told: dict[str, Any] = json.loads(files.contents["hnswlib_results.json"])
    assert [row["top_k"] for row in told["query_results"]] == list(DEPTHS)
    assert told["runs"] == RUNS and not files.notes
    (system,) = [one for one in result.done if "hnswlib" in one]
    for row in told["query_results"]:
        values = configurations(result).across_runs(system, "latency_ms", row["top_k"]).values
        assert row["avg_latency_ms"]["median"] == pytest.approx(np.median(values))
        assert row["avg_latency_ms"]["std"] == pytest.approx(np.std(values, ddof=1))
        assert row["resources"]["avg_memory_mb"] > 0
        assert row["recall_at_k"]["std"] is not None and row["knn_recall"]["median"] == 1.0
    assert told["ingestion"]["parsing_time_sec"] > 0 and told["ingestion"]["total_time_sec"] > 0
    assert told["ingestion"]["resources"]["peak_memory_mb"] > 0
    growth = told["ingestion"]["memory_growth_mb"], told["ingestion"]["memory_growth_note"]
    assert (growth[0] is None) is bool(growth[1])
    pairs = json.loads(files.contents["speed_comparisons.json"])["pairs"]
    assert [pair["p"] for pair in pairs] == [None, None]  # two runs: too few for a test


def test_three_runs_are_compared_with_welch_and_holm() -> None:
    rates = {"a": (100.0, 101.0, 99.0), "b": (50.0, 51.0, 49.0), "c": (50.0, 49.5, 50.5)}
    rows = [
        {
            "system": system,
            "repeat": i,
            "top_k": 5,
            "figure": "qps",
            "value": value,
            "note": "",
            "measured": "",
        }
        for system, values in rates.items()
        for i, value in enumerate(values)
    ]
    pairs = {(one.a, one.b): one for one in Configurations(tuple(rows)).compare("qps", 5, 7)}
    fast = pairs["a", "b"]
    assert fast.ratio == pytest.approx(2.0) and fast.p is not None and fast.p_holm is not None
    assert fast.p < fast.p_holm < 0.01
    even = pairs["b", "c"]
    assert even.p_holm is not None and even.p_holm > 0.5


@pytest.mark.slow
def test_finished_repeats_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = pq.read_table(folder / f"{CONFIGURATIONS.name}.parquet")
    monkeypatch.chdir(folder.parent)
    monkeypatch.setenv("BAKEOFF_HOME", str(folder.parent / "home"))
    gone = sorted((folder / CONFIGURATIONS.name).glob("*.json"))[0]
    lost = json.loads(gone.read_text())[0]
    gone.unlink()
    assert CliRunner().invoke(app, ["run", "--out", "run", "-q"]).exit_code == 0
    after = pq.read_table(folder / f"{CONFIGURATIONS.name}.parquet").to_pylist()
    kept = [
        row
        for row in before.to_pylist()
        if (row["system"], row["repeat"]) != (lost["system"], lost["repeat"])
    ]
    assert [
        row for row in after if (row["system"], row["repeat"]) != (lost["system"], lost["repeat"])
    ] == kept
    assert len(after) == before.num_rows


def test_the_preset_has_three_runs_and_its_depths_unless_the_file_says_so(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    path = tmp_path / "bakeoff.yaml"
    path.write_text(EXPERIMENT.replace("runs: 2\ntop_k: [1, 4]\n", ""))
    assert (load(path).settings.runs, load(path).settings.top_k) == (3, [1, 3, 5, 10, 20])
    path.write_text(EXPERIMENT.replace("[1, 4]", "[]"))
    assert (load(path).settings.runs, load(path).settings.top_k) == (2, [])
    path.write_text(EXPERIMENT.replace("[1, 4]", "[4, 1]"))
    with pytest.raises(ExperimentError, match="line 9"):
        load(path)


def test_the_report_draws_quality_at_each_depth_with_the_spread_of_the_runs(result: Result) -> None:
    """S3-16: Recall@K, Precision@K and MRR, a curve per system with error bars where runs differ."""
    section = depths_section(result, result.done)
    assert section is not None
    charts = {chart.name: chart for chart in section.charts}
    assert set(charts) == {"recall_at_k", "precision_at_k", "mrr_at_k", "latency_at_k"}
    for name, figure in (("recall_at_k", "R"), ("latency_at_k", "latency_ms")):
        plot = charts[name].plot
        assert isinstance(plot, LineChart) and [curve.name for curve in plot.curves] == list(result.done)
        for curve in plot.curves:
            across = {k: configurations(result).across_runs(curve.name, figure, k) for k in DEPTHS}
            assert curve.points == tuple((k, value) for k, one in across.items() for value in one.values)
            assert curve.spread == tuple((k, one.q1, one.q3) for k, one in across.items() if one.sd)
            assert (len(curve.spread) == len(DEPTHS)) is (figure == "latency_ms")


def test_a_plain_search_asks_its_store_for_the_depth_and_no_more(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3-29: a depth is measured by itself, not cut from a deeper search."""
    plan = load(folder.parent / "bakeoff.yaml")
    system = plan.systems[0]
    assert system.store is not None and system.store.name == "exact"
    homes = tmp_path / "ingestion", tmp_path / "engine"
    for home in homes:
        home.mkdir()
    made = ingest_documents(IngestionJob(plan, system.chunker, system.embedder, homes[0]))
    plugin = registry.load("stores", "exact")
    search, asked = plugin.search, []

    def recorded(store: Any, vector: Any, k: int, query: Any) -> Any:
        asked.append(k)
        return search(store, vector, k, query)

    monkeypatch.setattr(plugin, "search", recorded)
    monkeypatch.setattr(trial, "SEARCH_SECONDS", 0.0)
    measure_configuration(SystemJob(plan, system, made, homes[1], "salt"))
    assert list(dict.fromkeys(asked))[:2] == list(DEPTHS)


@pytest.mark.slow
def test_python_repeats_the_configurations_as_the_command_does(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAKEOFF_HOME", str(folder.parent / "home"))
    result = bakeoff.run(folder.parent, out=tmp_path / "python", runs=3)
    rows = configurations(result).rows
    assert {(row["system"], row["repeat"]) for row in rows} == {
        (system, repeat) for system in result.done for repeat in range(3)
    }
    assert result.record.runs == 3


@pytest.mark.parametrize("runs", [0, 101])
def test_a_number_of_runs_out_of_range_is_refused(folder: Path, runs: int) -> None:
    with pytest.raises(SettingError, match=str(runs)):
        bakeoff.run(folder.parent, runs=runs)


def test_a_configuration_that_fails_in_a_repeat_is_a_note_of_the_run(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAKEOFF_HOME", str(folder.parent / "home"))

    def fail(*_: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(trial, "run_isolated", fail)
    result = bakeoff.run(folder.parent, out=tmp_path / "failing", runs=1)
    assert configurations(result).failures() == dict.fromkeys(result.done, "the disk is full")
    assert sum("the disk is full" in note for note in open_run(result.path).record.notes) == len(result.done)
