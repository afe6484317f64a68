"""A models.toml that drives a run, from the command line and from the experiment."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers

from bakeoff import registry
from bakeoff.cli import console
from bakeoff.pipeline import embed, once_map
from bakeoff.pipeline.canary import TEXTS
from bakeoff.runs.stored_times import START
from bakeoff.storage import row_cache
from bakeoff.types import Role

MODELS = """\
[[wordllama]]
dims = 64

[[fastembed]]
model = "BAAI/bge-small-en-v1.5"
"""
BGE = "BAAI/bge-small-en-v1.5"
DIMS = 8


def export_model(folder: Path) -> None:
    """A small ONNX export: one random vector per token, as a BERT encoder's output; its folder names no pooling."""
    words = [
        "[UNK]",
        *sorted({word for text in ("the cat reads a file of tables", *TEXTS) for word in text.split()}),
    ]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    folder.mkdir(parents=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    table = np.random.default_rng(1).normal(size=(len(words), DIMS)).astype(np.float32)
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", DIMS])
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])],
        "lookup",
        [ids],
        [output],
        [numpy_helper.from_array(table, "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, folder / "model.onnx")


@pytest.fixture
def weights(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An experiment, a models.toml next to it, and a folder of the user's that holds bge's files."""
    export_model(tmp_path / "weights" / "bge-small-en-v1.5")
    monkeypatch.setenv("BAKEOFF_MODELS", str(tmp_path / "weights"))
    Path("models.toml").write_text(MODELS)
    return tmp_path / "weights"


def embedders(out: str) -> set[str]:
    from bakeoff.runs.analysis import open_run

    return set(open_run(Path(out)).systems["embedder"].to_pylist())


def test_a_models_file_replaces_the_embedders_of_the_experiment(weights: Path, cli: Any) -> None:
    assert cli("run", "-q", "--models", "models.toml", "--out", "out").code == 0
    assert embedders("out") == {"wordllama", BGE}
    record = json.loads(Path("out/run.json").read_text())
    assert record["models"] == MODELS


def test_only_the_named_models_run(weights: Path, cli: Any) -> None:
    done = cli(
        "run", "--json", "--models", "models.toml", "--models-only", "bge-small-en-v1.5", "--out", "out"
    )
    assert done.code == 0 and embedders("out") == {BGE}


@pytest.mark.slow
def test_a_run_of_chosen_models_is_put_under_load(weights: Path, cli: Any) -> None:
    """Its file of models is found near it by its text, or given; client processes read it too."""
    Path("lists").mkdir()
    Path("models.toml").rename("lists/mine.toml")
    words = ("--models", "lists/mine.toml", "--models-only", "wordllama")
    assert cli("run", "-q", *words, "--out", "out").code == 0
    short = ("load", "out", "--seconds", "0.1", "--runs", "1")
    refused = cli(*short)
    assert refused.code == 2 and "--models FILE" in refused.err
    assert cli(*short, "--models", "lists/mine.toml", "--clients", "1").code == 0
    Path("lists/mine.toml").rename("mine.toml")
    found = cli(*short)
    assert found.code == 0 and "wordllama" in found.out


def test_the_experiment_names_a_models_file_and_embedders(weights: Path, small: Path, cli: Any) -> None:
    small.write_text(small.read_text() + "models: models.toml\n")
    assert cli("run", "-q", "--out", "out").code == 0
    assert embedders("out") == {"wordllama(dims=64)", "wordllama", BGE}


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--models", "models.toml", "--models-only", "bge-smal-en-v1.5"), "bge-smal-en-v1.5"),
        (("--models-only", "wordllama"), "--models FILE"),
        (("--models", "nowhere.toml"), "nowhere.toml"),
    ],
)
def test_wrong_choices_are_refused(weights: Path, cli: Any, words: tuple[str, ...], named: str) -> None:
    done = cli("run", *words)
    assert done.code == 2 and named in done.err and not Path("runs").exists()


def test_a_model_without_weights_is_refused_with_the_place_for_them(
    weights: Path, cli: Any, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.delenv("BAKEOFF_MODELS")
    done = cli("run", "--models", "models.toml")
    assert done.code == 2 and str(home / "models" / "BAAI--bge-small-en-v1.5") in done.err
    assert "--models-only wordllama" in done.err


def test_a_speed_is_kept_with_its_date_when_vectors_come_from_the_cache(small: Path, cli: Any) -> None:
    first, second = (cli("run", "--json", "--out", out).json["systems"][0] for out in ("one", "two"))
    assert first["embeddings_per_second"] > 0 and first["embeddings_measured"] is None
    assert second["embeddings_per_second"] == first["embeddings_per_second"]
    assert re.search(r"\d{4}-\d\d-\d\d", second["embeddings_measured"])
    for out, dated in (("one", False), ("two", True)):
        assert cli("export", out, "--preset", "code", "--out", f"{out}-files").code == 0
        row = json.loads(Path(f"{out}-files/benchmark.json").read_text())["results"][0]
        assert row["embeddings_per_second"] == first["embeddings_per_second"]
        assert bool(row["embeddings_measured"]) is dated


def test_a_speed_has_no_date_if_another_chunker_of_the_same_run_made_some_vectors(
    small: Path, cli: Any
) -> None:
    """Short documents: both chunkers give the same chunks, so the second takes them from the row cache."""
    changed = re.sub(r"chunkers: .*", "chunkers: [whole, {recursive: {size: 100000}}]", small.read_text())
    small.write_text(changed)
    systems = cli("run", "--json", "--out", "one").json["systems"]
    assert len(systems) == 2 and all(one["embeddings_per_second"] > 0 for one in systems)
    assert [one["embeddings_measured"] for one in systems] == [None, None]


def test_the_start_of_a_model_is_not_part_of_its_speed(
    small: Path, cli: Any, register: Any, made_clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S2-26: 5 s to open, 3 s until the first vector, then 10 ms per text, however long the cache takes to write."""
    clock = made_clock(embed, row_cache, once_map)

    class Slow(registry.load("embedders", "wordllama")):
        def __init__(self, params: Any) -> None:
            clock.passes(5000)
            self.calls = 0
            super().__init__(params)

        def embed(self, texts: Any, role: Role) -> np.ndarray:
            self.calls += 1
            clock.passes((3000 if self.calls == 1 else 0) + 10 * len(texts))
            return super().embed(texts, role)

    register("embedders", "slow", Slow)
    small.write_text(small.read_text().replace("wordllama", "slow"))
    for out in ("one", "two"):
        (row,) = cli("run", "--json", "--out", out).json["systems"]
        assert row["embeddings_per_second"] == pytest.approx(100)
        assert row["model_start_seconds"] == pytest.approx(8.01)
        assert cli("export", out, "--preset", "code", "--out", f"{out}-files").code == 0
        (told,) = json.loads(Path(f"{out}-files/benchmark.json").read_text())["results"]
        assert told["embeddings_per_second"] == row["embeddings_per_second"]
        assert told["model_start_seconds"] == row["model_start_seconds"]
        assert "8.01 s" in Path(f"{out}-files/public_embedding_benchmark_report.md").read_text()
        assert "8.01 s" in Path(out, "report.html").read_text()
    monkeypatch.setattr(console.out, "width", 200)
    shown = cli("run", "--out", "two").out
    assert START in shown and "8.01 s" in shown


def test_models_embed_one_after_the_other(small: Path, cli: Any, register: Any) -> None:
    """Two models that share the cores would both seem slow."""
    inside, most = [0], [0]

    class Watched(registry.load("embedders", "wordllama")):
        def embed(self, texts: Any, role: Role) -> np.ndarray:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            time.sleep(0.05)
            inside[0] -= 1
            return super().embed(texts, role)

    register("embedders", "watched", Watched)
    models = "[{watched: {dims: 64}}, {watched: {dims: 128}}, {watched: {dims: 256}}]"
    small.write_text(small.read_text().replace("[{wordllama: {dims: 64}}]", models))
    assert cli("run", "-q", "--out", "out").code == 0
    assert most == [1]


def test_a_query_file_is_checked_by_itself(home: Path, cli: Any) -> None:
    query = {"query": "where is it", "query_type": "Code", "expected_files": ["a.rs"]}
    Path("seed.json").write_text(json.dumps({"queries": [query]}))
    assert cli("validate", "--queries", "seed.json", "--format", "code").code == 0
    assert cli("validate", "--queries", "seed.json").code == 2
    Path("twice.json").write_text(json.dumps({"queries": [query | {"id": "a"}, query | {"id": "b"}]}))
    done = cli("validate", "--queries", "twice.json", "--format", "code", "--json")
    assert done.code == 2 and [one["code"] for one in done.json["findings"]] == ["duplicate"]
    assert cli("validate", "--format", "code").code == 2
