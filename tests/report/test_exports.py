"""Exports in the shapes of the source systems: every number is one of the run's, and the bytes are always the same."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bakeoff.errors import SettingError
from bakeoff.presets.decisions import preset_trade, s4_case
from bakeoff.presets.export import EXPORTS
from bakeoff.presets.export_files import schema_name
from bakeoff.report.exports.ir_formats import export_preset as export_run
from bakeoff.runs.analysis import Result
from bakeoff.runs.markdown_tables import escape_markdown

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
        schema = read(tmp_path / "out" / "schemas", f"{schema_name(shape)}.schema.json")
        jsonschema.validate(read(tmp_path / "out", name), schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"another": "file"}, schema)


def test_existing_files_are_not_replaced_without_force(run: Result, tmp_path: Path) -> None:
    export_run(run.path, "code").write(tmp_path)
    with pytest.raises(SettingError):
        export_run(run.path, "code").write(tmp_path)
    export_run(run.path, "code").write(tmp_path, overwrite=True)


def test_an_unknown_preset(run: Result) -> None:
    with pytest.raises(SettingError, match="goldsql"):
        export_run(run.path, "gold")


def test_unmeasured_values_are_null_and_noted(run: Result) -> None:
    files = export_run(run.path, "lineage")
    assert json.loads(files.contents["minilm_results.json"])["precision_at_5"] is None
    assert "P@5" in files.notes[0]


def test_a_preset_that_validate_would_refuse_is_not_recommended(run: Result) -> None:
    """Without 100 chunks and a depth of 100 there are no 100 neighbours."""
    record = json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_text(json.dumps(record | {"depth": 100}))
    path = run.path / "systems.parquet"
    table = pq.read_table(path)
    at = table.schema.get_field_index("chunks")
    for chunks, recommended in ((99, False), (500, True)):
        column = pa.array([chunks] * table.num_rows, table.schema.field(at).type)
        pq.write_table(table.set_column(at, table.schema.field(at), column), path)
        (note,) = export_run(run.path, "ann").notes
        assert ("preset: ann" in note) is recommended


def test_a_preset_has_its_source_systems_name_too(run: Result) -> None:
    for name, source in (("lineage", "s0"), ("code", "S2"), ("vectordb", "s3"), ("goldsql", "s4")):
        assert export_run(run.path, source).contents == export_run(run.path, name).contents
    with pytest.raises(SettingError, match="trec_eval"):
        export_run(run.path, "trec_eval")


def test_what_was_computed_by_other_conventions_is_null(make_run: Make) -> None:
    """S3 counts chunks; a run whose k counts documents has no recall of S3's, but its P_unique is the same."""
    measures = ("R@5(document)", "P_unique@5(document)", "RR@5(document)")
    made = make_run(labels=TWO, measures=measures, primary="R@5(document)")

    def at_five() -> tuple[dict[str, Any], tuple[str, ...]]:
        files = export_run(made.path, "vectordb")
        rows = json.loads(files.contents["minilm_results.json"])["query_results"]
        return next(row for row in rows if row["top_k"] == 5), files.notes

    row, notes = at_five()
    assert row["recall_at_k"]["median"] is None and row["mrr"] is None
    assert row["precision_at_k"]["median"] is not None
    assert any("k_counts: units | chunks" in note for note in notes)
    path = made.path / "run.json"
    record = json.loads(path.read_text())
    record["conventions"]["k_counts"] = "chunks"
    path.write_text(json.dumps(record))
    row, notes = at_five()
    assert row["recall_at_k"]["median"] is not None and row["mrr"] is not None
    assert not any("k_counts" in note for note in notes)


def test_goldsql_numbers_are_those_of_the_run(run: Result, tmp_path: Path) -> None:
    """S4-60..66: means, per-query rows, differences and winners found again in the stored scores (F23)."""
    export_run(run.path, "goldsql", pair=("mika", "minilm")).write(tmp_path)
    matrix = run.matrix("RR@10(document)")
    scored = matrix.without_structural()
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
    # Streamlit makes the page this process's __main__; without its return, processes started later would run the page
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    page = testing.AppTest.from_file(str(Path(__file__).parent / "goldsql_page.py"), default_timeout=60).run()
    assert not page.exception
    shown = {metric.label: metric.value for metric in page.metric}
    decision = pq.read_table(tmp_path / "results" / "benchmark_decision.parquet").to_pylist()[0]
    assert shown["Recommendation"] == decision["recommendation"]
    mean = run.summaries("RR@10(document)")[TWO[0]].mean
    assert mean is not None and shown["minilm MRR"] == f"{mean:.3f}"
    assert page.info[0].value == "Human review not yet completed"


def test_the_comparison_of_lineage_says_why_how_to_read_and_what_to_trade(make_run: Make) -> None:
    """S0-2, S0-19, S0-25, S0-26: words beside the numbers, and the recommendation is the verdict's."""
    measures = ("P@5(document)", "R@10(document)", "RR(document)", "nDCG@5(document)")
    run = make_run(labels=TWO, measures=measures, primary="P@5(document)")
    files = export_run(run.path, "lineage")
    (text,) = (found.decode() for name, found in files.contents.items() if name.endswith(".md"))
    assert "rule of thumb" in text
    assert "0.4 · P@5 + 0.3 · R@10" in text
    advice = run.recommendation
    assert advice is not None
    mean = run.summaries("P@5(document)")[advice.system].mean
    assert mean is not None and f"on average {mean * 5:.1f} of the first 5 documents" in text
    assert "no typical position" in text and "rank 1" in text
    assert escape_markdown(advice.sentence) in text.split("## Recommendation")[1]


def test_the_preset_reports_quality_against_latency(make_run: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """S0-25: the leader against the fastest, with what was measured; the times are made."""
    times = {TWO[0]: 30.0, TWO[1]: 20.0}
    monkeypatch.setattr(Result, "timing", lambda _, system, *__: times[system])
    run = make_run(labels=TWO, measures=("P@5(document)",), primary="P@5(document)")
    assert run.comparison.best == TWO[0]
    (line,) = preset_trade(run)
    assert f"Consider {TWO[0]}" in line and "30" in line and "20" in line
    times[TWO[1]] = 3.0
    assert "Not worth it" in preset_trade(run)[0]
    times[TWO[1]] = 40.0
    assert preset_trade(run) == []


def test_what_a_load_saw_of_processor_and_memory_is_in_the_databases_file(
    run: Result, make_load: Callable[..., Any]
) -> None:
    """S3-12: null without a load; then the engine's side, and no building where the index was only opened."""
    name = "semantic_minilm_dense_results.json"
    stem = "minilm_results.json"
    contents = export_run(run.path, "vectordb").contents
    name = name if name in contents else stem
    assert json.loads(contents[name])["query_results"][0]["resources"] is None
    make_load(run, server=True)
    told = json.loads(export_run(run.path, "vectordb").contents[name])
    assert told["query_results"][0]["resources"] == {
        "avg_cpu_percent": 40.0,
        "peak_cpu_percent": 80.0,
        "avg_memory_mb": 150.0,
        "peak_memory_mb": 200.0,
        "note": "",
    }
    assert told["ingestion"]["resources"] is None


def test_the_report_of_code_names_the_level_of_every_figure(run: Result) -> None:
    """S2-2, S2-25, C-28."""
    text = export_run(run.path, "code").contents["public_embedding_benchmark_report.md"].decode()
    assert "file ndcg" in text and "answer hit" in text and "emb/sec" in text
    assert text.index("In short") < text.index("| model")
    mean = run.summaries("nDCG@10(document)")[TWO[0]].mean
    assert mean is not None and f"{mean:.3f}" in text


def test_models_that_lead_on_different_categories_are_to_be_used_together(run: Result) -> None:
    """S4-71: one better on one category, the other on another, equal over all."""
    labels = {row["query_id"]: row["category"] for row in run.queries.to_pylist()}
    path = run.path / "scores.parquet"
    rows = pq.read_table(path)

    def decision(wins: dict[str, str]) -> str:
        """Who wins a category has 1 or ½ on its queries, all else 0."""
        values = [
            row["value"]
            if row["value"] is None
            else (row["system"] == wins.get(labels[row["query_id"]])) / (1 + int(row["query_id"][-1]) % 2)
            for row in rows.to_pylist()
        ]
        at = rows.schema.get_field_index("value")
        pq.write_table(rows.set_column(at, rows.schema.field(at), [values]), path)
        files = export_run(run.path, "goldsql")
        return str(json.loads(files.contents["comparison_report.json"])["decision"])

    assert decision({"howto": TWO[0], "concept": TWO[1]}) == "hybrid"
    assert decision({"howto": TWO[1], "concept": TWO[1]}) == "mika"


def test_semantic_lift_decides_only_where_people_judged(make_run: Make, run: Result) -> None:
    """S4-72: without a review there is no lift to look at."""
    assert s4_case(run, TWO[1], TWO[0], "RR@10(document)").lift is None
    reviewed = make_run(
        labels=TWO, measures=("RR@10(document)", "SemLift@10(chunk)"), primary="RR@10(document)"
    )
    lift = s4_case(reviewed, TWO[1], TWO[0], "RR@10(document)").lift
    assert lift is not None and (lift.a, lift.b) == (TWO[1], TWO[0])


def test_latency_is_critical_where_the_experiment_limits_it(make_run: Make) -> None:
    """S4-72: a better model is not taken if it is slower than allowed."""
    for limit, critical in ((1e-6, True), (1e9, False)):
        found = make_run(labels=TWO, limits=(("p95_ms", limit),), primary="RR@10(document)")
        assert s4_case(found, TWO[1], TWO[0], "RR@10(document)").latency_critical is critical
    assert not s4_case(make_run(labels=TWO), TWO[1], TWO[0], "RR@10(document)").latency_critical


def test_goldsql_compares_the_leaders_or_the_pair_asked_for(make_run: Make, tmp_path: Path) -> None:
    labels = ("semantic · third · dense", *TWO, "semantic · last · dense")
    run = make_run(labels=labels, measures=("RR@10(document)",), primary="RR@10(document)")
    names = dict(zip(labels, ("third", "minilm", "mika", "last"), strict=True))
    ranking = run.comparison.ranking
    told = json.loads(export_run(run.path, "goldsql").contents["comparison_report.json"])
    assert {told["first"], told["second"]} == {names[system] for system in ranking[:2]}
    pair = run.comparison.pair(*(next(s for s in labels if names[s] == told[n]) for n in ("second", "first")))
    assert told["p_wilcoxon"] == pair.p_wilcoxon
    asked = tuple(names[system] for system in ranking[-2:])
    told = json.loads(export_run(run.path, "goldsql", pair=asked).contents["comparison_report.json"])
    assert (told["second"], told["first"]) == asked
    export_run(run.path, "goldsql", pair=asked).write(tmp_path / "out")
    (row,) = pq.read_table(tmp_path / "out" / "benchmark_decision.parquet").to_pylist()
    assert f"{asked[0]}_auto_advantage" in row
    with pytest.raises(SettingError, match="twice"):
        export_run(run.path, "goldsql", pair=("mika", "mika"))
    with pytest.raises(SettingError, match="goldsql"):
        export_run(run.path, "code", pair=("mika", "minilm"))
