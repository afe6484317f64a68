"""Published SciFact scores come out of the whole product: import, read, embed, search, score."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import bakeoff
from bakeoff.cli.app import app
from bakeoff.errors import ModelNotFoundError
from bakeoff.storage.catalogue import entries
from bakeoff.storage.weights import find, home_folder

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
PUBLISHED = DATA / "published" / "scifact.json"

pytestmark = pytest.mark.skipif(not PUBLISHED.is_file(), reason="shared/data/scifact is not here")


def measured(folder: Path, experiment: str) -> dict[str, float | None]:
    """The means of the only system of an experiment over SciFact, whole abstracts as documents."""
    queries = folder / "queries.yaml"
    done = CliRunner().invoke(app, ["import", "beir", str(DATA / "scifact"), "--out", str(queries)])
    assert done.exit_code == 0, done.output
    (folder / "bakeoff.yaml").write_text(
        f"corpus: {{source: beir, folder: {json.dumps(str(DATA / 'scifact'))}}}\n"
        "queries: queries.yaml\n"
        "allow: [leak]\n"  # one claim is a sentence of its abstract; the published figures count it
        "chunkers: [whole]\n"
        "measures: {primary: nDCG@10(document), also: [nDCG@1(document), R@10(document), R@100(document)]}\n"
        + experiment
    )
    result = bakeoff.run(folder / "bakeoff.yaml", out=folder / "run", home=home_folder())
    assert not result.failed
    (system,) = result.done
    assert result.comparison.summary(system).n == 300
    return {measure: result.compare(measure).summary(system).mean for measure in result.record.measures}


def published(system: str) -> dict[str, float]:
    found: dict[str, float] = json.loads(PUBLISHED.read_text())["systems"][system]["scores"]
    return found


@pytest.mark.slow
def test_bm25_is_near_the_published_score(tmp_path: Path) -> None:
    """Another analyser and k1, b than Anserini's: near, not equal."""
    means = measured(tmp_path, "modes: [bm25]\n")
    expected = published("BM25 (Anserini, flat index, k1=0.9 b=0.4)")
    assert means["nDCG@10(document)"] == pytest.approx(expected["ndcg_at_10"], abs=0.015)
    assert means["R@100(document)"] == pytest.approx(expected["recall_at_100"], abs=0.015)


@pytest.fixture
def weights() -> None:
    try:
        find("minilm")
    except ModelNotFoundError:
        pytest.skip("no MiniLM weights: run make models")


@pytest.mark.slow
def test_minilm_gives_the_published_scores(tmp_path: Path, weights: None) -> None:
    means = measured(tmp_path, "embedders: [minilm]\nmodes: [dense]\n")
    expected = published("all-MiniLM-L6-v2 (exact cosine)")
    assert means["nDCG@10(document)"] == pytest.approx(expected["ndcg_at_10"], abs=0.0005)
    assert means["R@100(document)"] == pytest.approx(expected["recall_at_100"], abs=0.0005)
    assert means["nDCG@1(document)"] == pytest.approx(expected["ndcg_at_1"], abs=0.0005)
    assert means["R@10(document)"] == pytest.approx(expected["recall_at_10"], abs=0.0005)


SCIFACT_MODELS = os.environ.get("BAKEOFF_SCIFACT_MODELS", "").split(",")
"""Models to embed SciFact with: minutes to an hour each on two cores, seconds once their vectors are in the cache."""


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    "name", [name for name, entry in entries().items() if entry.scifact and name != "minilm"]
)
def test_a_model_of_the_catalogue_gives_its_published_score(tmp_path: Path, name: str) -> None:
    if name not in SCIFACT_MODELS:
        pytest.skip(f"set BAKEOFF_SCIFACT_MODELS={name} to embed SciFact with it")
    means = measured(tmp_path, f"embedders: [{name}]\nmodes: [dense]\n")
    assert means["nDCG@10(document)"] == pytest.approx(entries()[name].scifact, abs=0.0005)


@pytest.mark.slow
def test_int8_is_within_half_a_point_of_fp32(tmp_path: Path, weights: None) -> None:
    means = measured(tmp_path, "embedders: [{minilm: {precision: int8}}]\nmodes: [dense]\n")
    exact = published("all-MiniLM-L6-v2 (exact cosine)")["ndcg_at_10"]
    assert exact == pytest.approx(0.64508, abs=5e-6)
    assert means["nDCG@10(document)"] == pytest.approx(exact, abs=0.005)
