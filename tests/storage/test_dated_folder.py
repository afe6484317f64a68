"""Folders of results: one for each piece of work, whoever else begins in the same second."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bakeoff.errors import SettingError
from bakeoff.storage import dated_folder
from bakeoff.storage.dated_folder import make_dated_folder, result_folder


@pytest.fixture(autouse=True)
def one_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dated_folder, "timestamp", lambda: "20260501-120000")


def test_folders_of_one_second_are_numbered(tmp_path: Path) -> None:
    made = [make_dated_folder(tmp_path / "runs", "ann-x").name for _ in range(3)]
    assert made == ["ann-x-20260501-120000", "ann-x-20260501-120000-2", "ann-x-20260501-120000-3"]
    assert make_dated_folder(tmp_path / "load").name == "20260501-120000"


def test_whoever_asks_at_once_gets_another_folder(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: make_dated_folder(tmp_path, "x"), range(40)))
    assert len(set(made)) == 40 and all(folder.is_dir() for folder in made)


def test_a_folder_that_got_nothing_is_removed(tmp_path: Path) -> None:
    with result_folder(None, tmp_path / "runs", "ann-x") as empty:
        assert empty.is_dir()
    assert not (tmp_path / "runs").exists()
    with result_folder(None, tmp_path / "runs", "ann-x") as folder:
        (folder / "record.json").touch()
    assert folder.is_dir()


def test_a_given_folder_is_taken_as_it_is(tmp_path: Path) -> None:
    with result_folder(tmp_path / "mine", tmp_path / "runs") as folder:
        assert folder == tmp_path / "mine" and not folder.exists()
    assert not (tmp_path / "runs").exists()


def test_a_folder_that_cannot_be_made_is_the_users_to_change(tmp_path: Path) -> None:
    (tmp_path / "runs").touch()
    with pytest.raises(SettingError, match="--out"):
        make_dated_folder(tmp_path / "runs", "x")
