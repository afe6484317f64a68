"""S0's decision matrix through the commands, against its formula written out here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bakeoff
from bakeoff.errors import ComparisonError, ExperimentError, SettingError
from bakeoff.measures.preset_settings import read_preset_file
from bakeoff.presets.lineage.decision_matrix import DecisionMatrix, MatrixColumn, decision_matrix
from bakeoff.presets.rules import weighted_score
from bakeoff.report.build import build_report
from bakeoff.report.exports.ir_formats import export_preset as export_run

EXPERIMENT = """\
corpus: {folder: corpus}
queries: queries.yaml
chunkers: [whole]
embedders: [{wordllama: {dims: 64, as: nomic-embed-text}}, {wordllama: {as: BAAI/bge-small}}]
modes: [dense, bm25]
depth: 20
preset: lineage
current: nomic-embed-text
"""


@pytest.fixture
def result(home: Path, laid_out: Any) -> bakeoff.Result:
    return bakeoff.run(laid_out(Path.cwd(), EXPERIMENT), out="out")


def test_current_and_candidates_have_the_score_of_the_formula(result: bakeoff.Result) -> None:
    matrix = decision_matrix(result)
    assert matrix is not None and matrix.current.system == "whole · nomic-embed-text · dense"
    for column in (matrix.current, matrix.candidates[0]):
        precision, recall, latency, dims = column.values
        assert precision is not None and recall is not None and latency is not None and dims is not None
        expected = 0.4 * precision + 0.3 * recall + 0.2 * (1 - latency / 200) + 0.1 * (1 - dims / 1024)
        assert column.score.value == pytest.approx(expected)
    assert [row[1] for row in matrix.rows] == ["40%", "30%", "20%", "10%", "100%"]
    bm25 = matrix.candidates[-1]
    assert bm25.system == "whole · bm25" and bm25.score.value is None and bm25.score.missing == ("dims",)


def test_the_matrix_is_in_report_and_export(result: bakeoff.Result) -> None:
    section = next(one for one in build_report(result).extras if one.id == "decision")
    matrix = decision_matrix(result)
    assert matrix is not None and section.grids[0].rows == matrix.rows
    files = export_run(result.path, "lineage").contents
    names = {"nomic-embed-text_results.json", "BAAI-bge-small_results.json", "bm25_results.json"}
    assert names <= set(files)
    assert json.loads(files["BAAI-bge-small_results.json"])["model"] == "BAAI/bge-small"
    text = next(data.decode() for name, data in files.items() if name.startswith("embedding_comparison_"))
    assert "Current: whole · nomic-embed-text · dense" in text


def test_scores_that_are_shown_alike_are_called_the_same() -> None:
    criteria = tuple(one for one in read_preset_file("lineage").criteria if one.weight is not None)
    own, other = (
        MatrixColumn(
            name,
            (0.2, 1.0, ms, 64.0),
            weighted_score({"P@5": 0.2, "R@10": 1.0, "latency_ms": ms, "dims": 64}),
        )
        for name, ms in (("own", 0.04), ("other", 0.14))
    )
    matrix = DecisionMatrix(criteria, own, (other,))
    assert "score than" not in matrix.finding and "score as own" in matrix.finding
    assert matrix.rows[2] == ("Latency", "20%", "0.04 ms", "0.14 ms")


def test_another_current_model_is_named_afterwards(result: bakeoff.Result) -> None:
    matrix = decision_matrix(result.with_current("bge-small"))
    assert matrix is not None and matrix.current.system == "whole · BAAI/bge-small · dense"
    with pytest.raises(ComparisonError):
        result.with_current("dense")


def test_a_current_model_outside_the_experiment_is_refused(home: Path, laid_out: Any) -> None:
    path = laid_out(Path.cwd(), EXPERIMENT.replace("current: nomic-embed-text", "current: ada-002"))
    with pytest.raises(ExperimentError, match="ada-002"):
        bakeoff.run(path)


def test_models_of_different_days_are_in_one_export(home: Path, laid_out: Any) -> None:
    """S0-48: each model was measured on its own day; the files and the matrix are of all of them."""
    here = Path.cwd()
    folders = []
    for name, dims in (("day1", 64), ("day2", 128)):
        text = (
            "corpus: {folder: corpus}\nqueries: queries.yaml\nchunkers: [whole]\npreset: lineage\n"
            f"embedders: [{{wordllama: {{dims: {dims}, as: model-{dims}}}}}]\nmodes: [dense]\ndepth: 20\n"
        )
        folders.append(bakeoff.run(laid_out(here, text), out=here / name).path)
    files = export_run(folders[0], "lineage", also=folders[1:], current="model-128")
    alone = [export_run(folder, "lineage").contents for folder in folders]
    for place, model in enumerate(("model-64", "model-128")):
        assert files.contents[f"{model}_results.json"] == alone[place][f"{model}_results.json"]
    (text,) = (data.decode() for name, data in files.contents.items() if name.endswith(".md"))
    assert "Current: whole · model-128 · dense" in text and "Candidate: whole · model-64 · dense" in text
    assert "day1" in text and "day2" in text and len(files.contents) == 3
    with pytest.raises(SettingError, match="lineage"):
        export_run(folders[0], "code", also=folders[1:])
    with pytest.raises(ComparisonError, match="twice"):
        export_run(folders[0], "lineage", also=folders[:1])


def test_a_model_of_two_days_has_a_file_for_each(home: Path, laid_out: Any) -> None:
    here = Path.cwd()
    text = (
        "corpus: {folder: corpus}\nqueries: queries.yaml\nchunkers: [whole]\npreset: lineage\n"
        "embedders: [{wordllama: {dims: 64, as: small}}]\nmodes: [dense]\ndepth: 20\n"
    )
    days = ("day1", "day2", "day3/day1")
    one, two, three = (bakeoff.run(laid_out(here, text), out=here / name).path for name in days)
    files = export_run(one, "lineage", also=[two, three]).contents
    names = {"small-day1_results.json", "small-day2_results.json", "small-day3-day1_results.json"}
    assert names <= set(files), "a folder of the same name is named with the one that holds it"
    assert json.loads(files["small-day2_results.json"])["run"] == "day2"
