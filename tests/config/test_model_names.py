"""A name under `embedders:` becomes the plug-in that runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bakeoff.config.model_names import resolve_model
from bakeoff.errors import ModelNotFoundError, UnknownPluginError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_plugins_keep_their_names_and_the_catalogue_adds_its_own(tmp_path: Path) -> None:
    assert resolve_model("embedders", "minilm", {"precision": "int8"}, tmp_path) == (
        "minilm",
        {"precision": "int8"},
    )
    assert resolve_model("embedders", "bge-small", {}, tmp_path) == ("onnx", {"model": "bge-small"})
    assert resolve_model("embedders", "nomic", {"threads": 2}, tmp_path) == (
        "onnx", {"model": "nomic", "threads": 2},
    )  # fmt: skip
    found = resolve_model("rerankers", "cross-encoder-small", {}, tmp_path)
    assert found == ("cross_encoder", {"model": "cross-encoder-small"})


def test_a_folder_and_a_gguf_file_of_the_users(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "mine"
    folder.mkdir(parents=True)
    assert resolve_model("embedders", "models/mine", {}, tmp_path) == ("onnx", {"folder": str(folder)})
    (folder / "a.gguf").write_bytes(b"")
    prompts = {"prompts": {"query": "q: ", "passage": "p: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    expected = {"file": str(folder / "a.gguf"), "query_prompt": "q: ", "document_prompt": "p: "}
    assert resolve_model("embedders", "./models/mine", {}, tmp_path) == ("llamacpp", expected)
    (folder / "b.gguf").write_bytes(b"")
    with pytest.raises(ModelNotFoundError, match="2 GGUF files"):
        resolve_model("embedders", "./models/mine", {}, tmp_path)


def test_a_repository_is_named_by_its_owner(tmp_path: Path, home: Path) -> None:
    assert resolve_model("embedders", "people/model", {}, tmp_path) == ("onnx", {"model": "people/model"})
    pulled = home / "models" / "people--model"
    pulled.mkdir(parents=True)
    (pulled / "model.gguf").write_bytes(b"")
    assert resolve_model("embedders", "people/model", {}, tmp_path) == ("llamacpp", {"model": "people/model"})


def test_an_unknown_name_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownPluginError, match='"e5-small"'):
        resolve_model("embedders", "e5-smal", {}, tmp_path)
