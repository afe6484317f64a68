"""models.toml as it is written for other tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.config import models_toml
from bakeoff.errors import DataError, UnknownPluginError

SHAPE = """\
[[fastembed]]
model = "BAAI/bge-small-en-v1.5"

[[fastembed]]
model = "sentence-transformers/all-MiniLM-L6-v2"

[[mistralrs]]
model = "embedding-gemma"
quantization = "q8"
device = "metal"

[[mistralrs]]
model = "own/model.gguf"

[[ollama]]
model = "nomic-embed-text"
"""


def read(folder: Path, text: str) -> list[models_toml.ModelChoice]:
    (folder / "models.toml").write_text(text, encoding="utf-8")
    return models_toml.read_models_file(folder / "models.toml")


def test_every_table_becomes_an_embedder(tmp_path: Path, home: Path) -> None:
    bge, minilm, gemma, own, ollama = read(tmp_path, SHAPE)
    kept = home / "models"
    assert bge.as_spec() == {
        "onnx": {
            "folder": str(kept / "BAAI--bge-small-en-v1.5"),
            "name": "BAAI/bge-small-en-v1.5",
            "pooling": "cls",
            "as": "BAAI/bge-small-en-v1.5",
        }
    }
    assert str(kept / "BAAI--bge-small-en-v1.5") in bge.missing
    assert minilm.as_spec() == {"minilm": {"as": minilm.model}} and not minilm.missing
    assert gemma.params == {
        "file": str(kept / "embedding-gemma" / "embedding-gemma-q8.gguf"),
        "device": "metal",
    }
    assert "precision q8" in gemma.missing
    assert own.params["file"] == str(tmp_path / "own" / "model.gguf")
    assert ollama.as_spec() == {"ollama": {"model": "nomic-embed-text", "as": "nomic-embed-text"}}
    assert gemma.label == "embedding-gemma q8"


def test_models_of_one_name_are_labelled_by_their_engine(tmp_path: Path, home: Path) -> None:
    text = '[[fastembed]]\nmodel = "x/y"\n[[mistralrs]]\nmodel = "x/y"\n'
    assert [one.label for one in read(tmp_path, text)] == ["x/y (fastembed)", "x/y (mistralrs)"]
    with pytest.raises(DataError, match="2 times"):
        read(tmp_path, '[[fastembed]]\nmodel = "x/y"\n[[fastembed]]\nmodel = "x/y"\n')


def test_paths_are_below_the_folder_of_the_file(tmp_path: Path, home: Path) -> None:
    (one,) = read(tmp_path, '[[onnx]]\nfolder = "weights/bge"\n')
    assert one.params["folder"] == str(tmp_path / "weights" / "bge") and one.label == "bge"


def test_a_model_that_is_there_is_not_missing(tmp_path: Path, home: Path) -> None:
    folder = home / "models" / "BAAI--bge-small-en-v1.5"
    folder.mkdir(parents=True)
    (folder / "tokenizer.json").write_text("{}")
    assert not read(tmp_path, SHAPE)[0].missing


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[[mistralrs]]\nmodel = "x"\nquantization = "q3"',
            r"number 1: quantization: .*'q8' or 'q4k' \(it is 'q3'\)",
        ),
        ('[[mistralrs]]\nmodel = "x"\ndevice = "cuda"', "device"),
        ("[[fastembed]]", "model is missing"),
        ('[[fastembed]]\nmodle = "x"', 'Did you mean "model"'),
        ('[fastembed]\nmodel = "x"', r"Write \[\[fastembed\]\]"),
        ("", "names no model"),
        ("[[", "is not TOML"),
    ],
)
def test_mistakes_are_reported(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, text)


def test_an_unknown_engine_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownPluginError, match='"fastembed"'):
        read(tmp_path, '[[fastembd]]\nmodel = "x"')


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        models_toml.read_models_file(tmp_path / "models.toml")


def test_a_model_that_the_catalogue_has_names_the_command_that_fetches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("BAKEOFF_MODELS", raising=False)
    (choice,) = read(tmp_path, '[[fastembed]]\nmodel = "BAAI/bge-small-en-v1.5"\n')
    assert "bakeoff models pull bge-small" in choice.missing


def test_weights_of_the_catalogue_serve_a_fastembed_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bakeoff.config.models_toml.here", lambda entry: tmp_path / entry.name)
    monkeypatch.delenv("BAKEOFF_MODELS", raising=False)
    (choice,) = read(tmp_path, '[[fastembed]]\nmodel = "BAAI/bge-small-en-v1.5"\n')
    assert (choice.embedder, choice.missing) == ("onnx", "")
    assert choice.params["model"] == "bge-small" and choice.params["query_prompt"] == ""
