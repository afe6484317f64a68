"""fastembed: the real encoder from a folder on its engine; skipped where it is not installed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from pydantic import ValidationError

from bakeoff import registry
from bakeoff.errors import EmbedderError, ModelNotFoundError
from bakeoff.plugins.embedders.minilm import MiniLMEmbedder
from bakeoff.types import Role

REFERENCE = json.loads(Path(__file__).with_name("minilm_reference.json").read_text())


pytest.importorskip("fastembed", reason="fastembed is not installed: pip install 'bakeoff[fastembed]'")


@pytest.fixture
def plugin() -> Any:
    return registry.load("embedders", "fastembed")


@pytest.fixture
def exported(minilm: MiniLMEmbedder, tmp_path: Path) -> Path:
    """MiniLM's own graph under the input name that exports use; it pools by itself and takes one length a run."""
    folder = tmp_path / "all-MiniLM-L6-v2"
    folder.mkdir()
    model = onnx.load(minilm._graph())
    for node in model.graph.node:
        node.input[:] = ["input_ids" if name == "ids" else name for name in node.input]
    model.graph.input[0].name = "input_ids"
    onnx.save(model, folder / "model.onnx")
    for name in ("tokenizer.json", "config.json"):
        shutil.copy(minilm._weights.folder / name, folder)
    settings = {"model_max_length": 256, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def made(plugin: Any, **params: object) -> Any:
    return plugin(plugin.Params.model_validate(params))


def test_the_engine_gives_the_vectors_of_the_reference(plugin: Any, exported: Path) -> None:
    embedder = made(plugin, folder=exported, pooling="graph", batch_size=1)
    rows = embedder.embed(REFERENCE["texts"], Role.DOCUMENT)
    assert np.abs(rows - np.array(REFERENCE["vectors"])).max() < 2e-6
    info = embedder.info
    assert (info.name, info.dims, info.max_tokens, info.pooling) == ("all-MiniLM-L6-v2", 384, 256, "graph")
    assert info.normalised and embedder.count_tokens(["A man is eating food.", "word " * 1000]) == [8, 1002]
    embedder.close()


def test_f42_prompts_and_cuts_are_part_of_the_identity(plugin: Any, exported: Path) -> None:
    own = {"folder": exported, "pooling": "graph", "batch_size": 1}
    plain, asked = made(plugin, **own), made(plugin, **own, query_prompt="query: ")
    assert len({plain.info, asked.info, made(plugin, **own, max_tokens=64).info}) == 3
    assert np.array_equal(asked.embed(["food"], Role.QUERY), plain.embed(["query: food"], Role.DOCUMENT))
    with pytest.raises(EmbedderError, match="256"):
        _ = made(plugin, **own, max_tokens=257).info


def test_no_pooling_is_guessed(plugin: Any, exported: Path) -> None:
    with pytest.raises(EmbedderError, match="Set pooling"):
        _ = made(plugin, folder=exported).info


def test_a_model_that_is_not_here_is_not_fetched(plugin: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
    with pytest.raises(ModelNotFoundError, match="download: true"):
        made(plugin, model="BAAI/bge-small-en-v1.5").embed(["a"], Role.QUERY)


def test_an_unknown_name_is_answered_with_the_nearest(plugin: Any) -> None:
    with pytest.raises(ModelNotFoundError, match=r"BAAI/bge-small-en-v1\.5"):
        made(plugin, model="BAAI/bge-smal-en-v1.5").embed(["a"], Role.QUERY)


def test_what_belongs_to_a_folder_is_refused_without_one(plugin: Any) -> None:
    with pytest.raises(ValidationError, match="to a folder"):
        made(plugin, pooling="mean")


def test_a_folder_without_its_tokenizer_settings_is_named(plugin: Any, exported: Path) -> None:
    (exported / "tokenizer_config.json").unlink()
    with pytest.raises(ModelNotFoundError, match="tokenizer_config"):
        _ = made(plugin, folder=exported, pooling="graph").info
