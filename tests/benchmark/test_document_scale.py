"""Growth over documents: nested samples, every phase from an empty cache, rows against what was put there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bakeoff.benchmark.configurations import trial
from bakeoff.benchmark.configurations.jobs import TrialFigure, TrialIngestion
from bakeoff.benchmark.configurations.trial import Servers
from bakeoff.benchmark.results.scale_results import document_rows, fits_of, read_rows
from bakeoff.benchmark.scale.document_sizes import (
    DocumentScaleOptions,
    DocumentScaleOutcome,
    measure_document_scale,
)
from bakeoff.cli.app import app
from bakeoff.config import experiment
from bakeoff.errors import SettingError, StoreError
from bakeoff.pipeline.read import Sample
from bakeoff.types import SourceItem, Status

SIZES = (2, 4, 8)
WORDS = ("valve", "copper", "boiler", "zinc", "gauge", "piston")
QUERIES = """\
queries:
- {id: a, text: copper of plant 3, truth: {documents: [doc_3.md]}}
- {id: b, text: gauge of plant 5, truth: {documents: [doc_5.md]}}
"""
EXPERIMENT = """\
corpus: {folder: docs}
queries: queries.yaml
chunkers: [{line: {doc_lines: 2, overlap: 0}}]
embedders: [{wordllama: {dims: 64}}]
stores: [exact, hnswlib]
modes: [dense]
"""
PHASES = ("read_s", "chunk_s", "embed_s", "insert_s", "index_s", "ready_s")
NO_SERVERS = Servers(lambda *_: (), lambda *_: None)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "docs").mkdir()
    for number in range(8):
        lines = [f"the {word} of plant {number} is line {number * 7} of {word}s" for word in WORDS]
        (tmp_path / "docs" / f"doc_{number}.md").write_text("\n".join(lines) + "\n")
    (tmp_path / "queries.yaml").write_text(QUERIES)
    (tmp_path / "bakeoff.yaml").write_text(EXPERIMENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    return tmp_path


def measured(options: DocumentScaleOptions) -> DocumentScaleOutcome:
    plan = experiment.load(Path("bakeoff.yaml"))
    return measure_document_scale(
        plan, plan.systems, options, NO_SERVERS, folder=Path("out"), tell=lambda _: None
    )


def test_samples_of_one_seed_are_nested_and_keep_the_order() -> None:
    items = [SourceItem(f"{i:02d}", "1", 1) for i in range(30)]
    chosen = [[item.id for item in Sample(size, 7).choose(items)] for size in (5, 12, 30, 99)]
    assert [len(some) for some in chosen] == [5, 12, 30, 30]
    assert set(chosen[0]) < set(chosen[1]) < set(chosen[2]) and chosen[1] == sorted(chosen[1])
    assert Sample(5, 8).choose(items) != Sample(5, 7).choose(items)


@pytest.mark.slow
def test_the_command_measures_every_phase_at_every_size(folder: Path) -> None:
    """The corpus has 8 documents of 6 lines, cut into 3 chunks each."""
    words = ["scale", "bakeoff.yaml", "--sizes", "2,4,8", "--runs", "1", "--k", "3", "--out", "out", "--json"]
    found = CliRunner().invoke(app, [*words, "--systems", "hnswlib"])
    assert found.exit_code == 0, found.output
    rows = read_rows(folder / "out" / "rows.parquet")
    values = {(row.size, row.figure): row.value for row in rows}
    assert [values[size, "documents"] for size in SIZES] == [2, 4, 8]
    assert [values[size, "chunks"] for size in SIZES] == [6, 12, 24]
    for size in SIZES:
        assert all((values[size, phase] or 0) > 0 for phase in PHASES)
        assert sum(values[size, phase] or 0 for phase in PHASES) <= (values[size, "total_s"] or 0)
        assert values[size, "knn"] == 1 and (values[size, "disk_mb"] or 0) > 0
    record = json.loads(found.stdout)
    assert record["unit"] == "documents" and record["dataset"]["documents"] == 8
    assert {one["figure"] for one in record["fits"]} >= {"read_s", "embed_s", "build_s", "total_s", "p50_ms"}
    assert CliRunner().invoke(app, ["page", "out"]).exit_code == 0
    assert "documents^" in (folder / "out" / "page.html").read_text()


def test_figures_of_known_growth_have_their_exponents(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def constructed(work: object, job: object) -> object:
        size = job.sample.size  # type: ignore[attr-defined]
        if work is trial.ingest_documents:
            return TrialIngestion(
                Path(), "", None, (TrialFigure("read_s", size**1.0), TrialFigure("documents_s", size**2.0))
            )
        times = [TrialFigure(name, size / 3) for name in ("insert_s", "index_s", "ready_s")]
        return [*times, TrialFigure("engine_s", 0.0), TrialFigure("p50_ms", size**0.5)]

    monkeypatch.setattr(trial, "run_isolated", constructed)
    outcome = measured(DocumentScaleOptions(SIZES, runs=2))
    fits = fits_of(outcome.rows)
    system = outcome.rows[0].system
    found = {figure: fits[system, figure].exponent for figure in ("read_s", "build_s", "total_s", "p50_ms")}
    assert found == pytest.approx({"read_s": 1, "build_s": 1, "total_s": 2, "p50_ms": 0.5})
    assert outcome.status is Status.DONE and len(document_rows(outcome.rows).rows) == 2 * len(SIZES)


def test_a_system_that_fails_is_not_tried_at_larger_sizes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def fail(_work: object, job: object) -> object:
        tried.append(job.sample.size)  # type: ignore[attr-defined]
        raise StoreError("no room")

    monkeypatch.setattr(trial, "run_isolated", fail)
    outcome = measured(DocumentScaleOptions(SIZES, runs=1))
    assert tried == [2, 2] and outcome.status is Status.FAILED
    assert set(outcome.failed.values()) == {"at 2 documents: no room"} and len(outcome.failed) == 2


def test_sizes_that_the_corpus_does_not_have_are_refused(folder: Path) -> None:
    with pytest.raises(SettingError, match="8 documents"):
        measured(DocumentScaleOptions((2, 9)))
    with pytest.raises(SettingError):
        DocumentScaleOptions((4, 2))


@pytest.mark.parametrize(
    "option",
    [
        ["--stores", "faiss"],
        ["--filters", "0.1"],
        ["--target-recall", "0.9"],
        ["--seconds", "5"],
        ["--queries", "500"],
        ["--timeout", "60"],
        ["--executor", "ray"],
    ],
)
def test_options_of_vector_datasets_are_refused(folder: Path, option: list[str]) -> None:
    found = CliRunner().invoke(app, ["scale", "bakeoff.yaml", *option])
    assert isinstance(found.exception, SettingError) and option[0] in str(found.exception)
