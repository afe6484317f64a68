"""Exports in the shapes of the source systems: every number is one of the run's, and the bytes are always the same."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from bakeoff.analysis import Result
from bakeoff.errors import SettingError
from bakeoff.report.exports.presets import EXPORTS, export_run

Make = Callable[..., Result]
S4 = ("RR(document)", "Hit@1(document)", "Hit@5(document)", "Hit@10(document)", "nDCG@10(document)")
TWO = ("semantic · minilm · dense", "semantic · mika · dense")


@pytest.fixture
def run(make_run: Make) -> Result:
    measures = ("RR@10(document)", "Hit@5(document)", "nDCG@10(document)")
    return make_run(labels=TWO, measures=measures, primary="RR@10(document)")


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text())


@pytest.mark.parametrize("preset", EXPORTS)
def test_the_bytes_are_the_same_each_time(run: Result, preset: str, tmp_path: Path) -> None:
    one, two = (export_run(run.path, preset) for _ in range(2))
    assert one.contents == two.contents and one.contents


@pytest.mark.parametrize("preset", EXPORTS)
def test_every_json_file_fits_its_schema(run: Result, preset: str, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    files = export_run(run.path, preset)
    paths = files.write(tmp_path / "out")
    assert {path.relative_to(tmp_path / "out").as_posix() for path in paths} >= set(files.contents)
    for name, shape in files.schemas.items():
        schema = read(tmp_path / "out" / "schemas", f"{shape.__name__}.schema.json")
        jsonschema.validate(read(tmp_path / "out", name), schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"another": "file"}, schema)


def test_what_exists_is_not_replaced_unless_told(run: Result, tmp_path: Path) -> None:
    export_run(run.path, "code").write(tmp_path)
    with pytest.raises(SettingError, match="exists already"):
        export_run(run.path, "code").write(tmp_path)
    export_run(run.path, "code").write(tmp_path, overwrite=True)


def test_an_unknown_preset(run: Result) -> None:
    with pytest.raises(SettingError, match="goldsql"):
        export_run(run.path, "gold")


def test_what_was_not_measured_is_null_and_said(run: Result) -> None:
    files = export_run(run.path, "lineage")
    assert json.loads(files.contents["minilm_results.json"])["precision_at_5"] is None
    assert "P@5" in files.notes[0]


def test_goldsql_numbers_are_those_of_the_run(run: Result, tmp_path: Path) -> None:
    """S4-60..66: means, per-query rows, differences and winners found again in the stored scores (F23)."""
    export_run(run.path, "goldsql").write(tmp_path)
    matrix = run.matrix("RR@10(document)")
    scored = matrix.scored()
    for name, system in (("minilm", TWO[0]), ("mika", TWO[1])):
        told = read(tmp_path, f"{name}_results.json")
        row = scored[matrix.systems.index(system)]
        assert told["metrics"]["mean_mrr"] == pytest.approx(np.nanmean(row), abs=1e-12)
        assert told["metrics"]["std_mrr"] == pytest.approx(np.nanstd(row, ddof=1), abs=1e-12)
        assert told["measures"]["mrr"] == "RR@10(document)"
        assert len(told["query_results"]) == len(matrix.queries)
        assert len(list(tmp_path.glob(f"benchmark_{name}_*.json"))) == 1
    rows = pq.read_table(tmp_path / "query_comparison.parquet").to_pylist()
    for row in rows:
        place = matrix.queries.index(row["query_id"])
        old, new = scored[:, place]
        if math.isnan(old):
            assert row["mrr_diff"] is None and row["winner"] is None
            continue
        assert row["mrr_diff"] == pytest.approx(new - old)
        expected = "Tie" if abs(new - old) <= 0.01 else "mika" if new > old else "minilm"
        assert row["winner"] == expected
    decision = pq.read_table(tmp_path / "benchmark_decision.parquet").to_pylist()
    assert set(decision[0]) == {
        "recommendation",
        "mika_auto_advantage",
        "mika_semantic_advantage",
        "mrr_difference",
        "semantic_lift_difference",
    }
    assert decision[0]["semantic_lift_difference"] is None
    assert not (tmp_path / "human_review_details.parquet").exists()


def test_goldsql_columns_are_those_of_the_source(run: Result, tmp_path: Path) -> None:
    export_run(run.path, "goldsql").write(tmp_path)
    assert pq.read_table(tmp_path / "minilm_results.parquet").column_names == [
        "query_id", "query_text", "category", "difficulty", "intent", "mrr", "hit_at_1", "hit_at_5", "hit_at_10",
        "precision_at_5", "recall_at_10", "ndcg_at_10", "embed_latency_ms", "search_latency_ms", "total_latency_ms",
    ]  # fmt: skip
    aggregate = pq.read_table(tmp_path / "aggregate_metrics.parquet")
    assert aggregate.column_names == [
        "model",
        "mean_mrr",
        "mean_hit_at_10",
        "mean_latency_ms",
        "semantic_lift",
    ]
    assert aggregate.num_rows == 2
    pivoted = pq.read_table(tmp_path / "category_metrics.parquet").to_pandas()
    wide = pivoted.pivot_table(index="category", columns="model", values="mrr")
    assert list(wide.columns) == ["mika", "minilm"] and wide.notna().all().all()


def test_vectordb_latency_is_over_repeats(run: Result) -> None:
    """S3-14: median, sample deviation and quartiles of the repeats' means; quality has one value and no spread."""
    files = export_run(run.path, "vectordb")
    told = json.loads(files.contents["minilm_results.json"])
    means: dict[int, list[float]] = {}
    for row in run.latencies.to_pylist():
        if row["system"] == TWO[0]:
            means.setdefault(row["repeat"], []).append(row["total_ms"])
    repeats = [float(np.mean(values)) for values in means.values()]
    (at_ten,) = [part for part in told["query_results"] if part["top_k"] == 10]
    assert at_ten["avg_latency_ms"]["median"] == pytest.approx(np.median(repeats))
    assert at_ten["avg_latency_ms"]["std"] == pytest.approx(np.std(repeats, ddof=1))
    assert at_ten["queries_per_second"] == pytest.approx(1000 / np.median(repeats))
    assert at_ten["recall_at_k"]["std"] is None


def test_names_that_would_be_alike_are_numbered(make_run: Make) -> None:
    files = export_run(make_run(labels=("a · m · dense", "a · M · dense", "b · m! · dense")).path, "lineage")
    assert {"m_results.json", "m_2_results.json", "m_3_results.json"} <= set(files.contents)


def test_a_failed_system_is_left_out(make_run: Make) -> None:
    files = export_run(make_run(systems=3, failed=1).path, "code")
    assert len(json.loads(files.contents["benchmark.json"])["results"]) == 2


def test_the_page_of_the_source_runs_on_the_exported_files(
    run: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S4-68: its Streamlit page reads these files and columns, and nothing else."""
    testing = pytest.importorskip("streamlit.testing.v1")
    export_run(run.path, "goldsql").write(tmp_path / "results")
    monkeypatch.setenv("GOLDSQL_RESULTS", str(tmp_path / "results"))
    page = testing.AppTest.from_file(str(Path(__file__).parent / "goldsql_page.py"), default_timeout=60).run()
    assert not page.exception
    shown = {metric.label: metric.value for metric in page.metric}
    decision = pq.read_table(tmp_path / "results" / "benchmark_decision.parquet").to_pylist()[0]
    assert shown["Recommendation"] == decision["recommendation"]
    mean = run.summaries("RR@10(document)")[TWO[0]].mean
    assert mean is not None and shown["minilm MRR"] == f"{mean:.3f}"
    assert page.info[0].value == "Human review not yet completed"
