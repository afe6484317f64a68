"""bakeoff models and bakeoff test model as a user types them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from bakeoff import registry
from bakeoff.cli import models
from bakeoff.cli.trials import part
from bakeoff.errors import DataError, EmbedderError, ModelNotFoundError, SettingError, UnknownPluginError
from bakeoff.protocols import Embedder
from bakeoff.types import Role


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    models.register(made)
    part.register(made)
    return made


def invoke(app: typer.Typer, *words: str) -> Any:
    return CliRunner().invoke(app, list(words), catch_exceptions=True)


def checks(app: typer.Typer, *words: str) -> tuple[int, dict[str, dict[str, Any]]]:
    done = invoke(app, "test", "model", *words, "--json")
    return done.exit_code, {row["name"]: row for row in json.loads(done.stdout)["checks"]}


def test_a_sound_model_passes_every_check(app):
    code, rows = checks(app, "wordllama", "--param", "dims=64")
    assert code == 0
    assert rows["vectors"]["seen"] == "64 numbers each"
    assert rows["repeated"]["seen"] == "bit-identical"
    assert rows["long texts"]["seen"] == "all 2,048 words are read"
    assert "texts/s" in rows["throughput"]["seen"] and "20" in rows["latency"]["seen"]


def test_the_screen_says_what_was_seen(app):
    done = invoke(app, "test", "model", "wordllama")
    assert done.exit_code == 0
    assert "wordllama-l2-supercat on wordllama: 256 dimensions" in done.stdout
    assert "paraphrases" in done.stdout and "ok" in done.stdout


Change = Callable[[np.ndarray, list[str]], np.ndarray]


def broken(change: Change, **says: Any) -> type:
    """WordLlama with its vectors changed."""
    real = registry.load("embedders", "wordllama")

    class Broken(real):
        calls = 0

        @property
        def info(self) -> Any:
            from dataclasses import replace

            return replace(super().info, **says)

        def embed(self, texts: Any, role: Role) -> np.ndarray:
            Broken.calls += 1
            return change(super().embed(texts, role), list(texts))

    return Broken


@cache
def whole_model() -> Embedder:
    whole = registry.load("embedders", "wordllama")
    return whole(whole.Params())


def forgetful(rows: np.ndarray, texts: list[str]) -> np.ndarray:
    """Vectors of the first ten words only."""
    return whole_model().embed([" ".join(text.split()[:10]) for text in texts], Role.DOCUMENT)


def refusing(rows: np.ndarray, texts: list[str]) -> np.ndarray:
    """Vectors of texts that have few words; others are an error."""
    if max(len(text.split()) for text in texts) > 100:
        raise EmbedderError("too long")
    return rows


@pytest.mark.parametrize(
    ("change", "says", "failed"),
    [
        (refusing, {"max_tokens": 256}, "long texts"),
        (lambda rows, texts: rows * 2, {}, "length"),
        (lambda rows, texts: rows[:, :100], {}, "vectors"),
        (lambda rows, texts: rows * np.float32("nan"), {}, "vectors"),
        (lambda rows, texts: rows[[0] * len(rows)], {}, "vectors"),
        (
            lambda rows, texts: rows + np.random.default_rng().normal(0, 0.01, rows.shape),
            {"normalised": False},
            "repeated",
        ),
        (lambda rows, texts: rows[::-1], {}, "alone or together"),
        (lambda rows, texts: rows[[0, *range(len(rows) - 1, 0, -1)]], {}, "paraphrases"),
        (forgetful, {"max_tokens": 256}, "long texts"),
        (lambda rows, texts: rows, {"max_tokens": 100}, "long texts"),
    ],
)
def test_each_check_can_fail(app, register, change, says, failed):
    register("embedders", "broken", broken(change, **says))
    code, rows = checks(app, "broken")
    assert code == 1
    assert rows[failed]["fine"] is False


def test_a_text_above_the_limit_may_be_refused(app, register):
    register("embedders", "strict", broken(refusing, max_tokens=100))
    code, rows = checks(app, "strict")
    assert code == 0 and rows["long texts"]["fine"] is None


def test_wrong_words_are_refused_with_what_is_known(app):
    cases = [
        (("wordlama",), UnknownPluginError, "Did you mean"),
        (("wordllama", "--param", "dim=64"), DataError, 'Did you mean "dims"'),
        (("wordllama", "--param", "dims"), SettingError, "key=value"),
        (
            ("embedding-gemma", "--backend", "mistralrs", "--quantization", "q8"),
            ModelNotFoundError,
            "embedding-gemma-q8.gguf",
        ),
        (("x", "--backend", "mistralrs", "--quantization", "q3"), DataError, "quantization"),
    ]
    for words, kind, message in cases:
        done = invoke(app, "test", "model", *words)
        assert isinstance(done.exception, kind), words
        assert message in str(done.exception)


def test_list_shows_dimensions_and_whether_weights_are_here(app, home: Path):
    rows = {row["name"]: row for row in json.loads(invoke(app, "models", "list", "--json").stdout)}
    assert {"minilm", "bge-small", "nomic", "onnx", "llamacpp", "ollama", "openai", "cohere"} <= rows.keys()
    assert (rows["bge-small"]["dims"], rows["bge-small"]["weights"]) == (384, "to pull")
    assert (rows["wordllama"]["dims"], rows["wordllama"]["licence"], rows["wordllama"]["weights"]) == (
        256,
        "MIT",
        "here",
    )
    assert rows["ollama"]["dims"] is None and rows["ollama"]["weights"] == "a server"
    assert rows["onnx"]["weights"] == "a folder of yours"
    assert not home.exists()  # a list makes nothing


def test_pulling_a_model_whose_weights_are_in_its_package_is_not_an_error(app) -> None:
    done = invoke(app, "models", "pull", "wordllama")
    assert done.exit_code == 0
    assert "installed" in done.stdout
    assert invoke(app, "models", "pull", "--quiet", "wordllama").stdout == ""


def test_info_says_what_the_catalogue_knows(app, home: Path):
    said = json.loads(invoke(app, "models", "info", "e5-small", "--json").stdout)
    assert (said["query_prompt"], said["pooling"], said["max_tokens"]) == ("query: ", "mean", 512)
    assert said["folder"] is None
    shown = invoke(app, "models", "info", "e5-small").stdout
    assert "bakeoff models pull e5-small" in shown and said["files"]["model.onnx"] in shown
    assert isinstance(invoke(app, "models", "info", "e6").exception, ModelNotFoundError)


def test_a_name_of_the_catalogue_is_tried_like_a_plugin(app, home: Path):
    done = invoke(app, "test", "model", "bge-small")
    assert isinstance(done.exception, ModelNotFoundError)
    assert "bakeoff models pull bge-small" in str(done.exception)


def test_list_of_a_models_file(app, tmp_path: Path, home: Path):
    file = tmp_path / "models.toml"
    file.write_text(
        '[[fastembed]]\nmodel = "BAAI/bge-small-en-v1.5"\n[[mistralrs]]\nmodel = "all-MiniLM-L6-v2"\nquantization = "q8"\n'
    )
    rows = json.loads(invoke(app, "models", "list", "--models-toml", str(file), "--json").stdout)
    assert [row["embedder"] for row in rows] == ["onnx", "llamacpp"]
    assert "BAAI--bge-small-en-v1.5" in rows[0]["weights"]
    assert "quantization=q8" in rows[1]["parameters"]
