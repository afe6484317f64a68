"""Folders for the time of one piece of work: gone at its end, however it comes; what a kill left is swept, nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bakeoff.errors import SettingError
from bakeoff.storage import temp_dir
from bakeoff.storage.temp_dir import PREFIX, TempDir, remove_abandoned


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of its own, for this process and those it starts."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


@pytest.fixture
def owner(place: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Starts a process that has a folder with a file in it and waits, or ends as `last` says."""
    started: list[subprocess.Popen[str]] = []

    def start(last: str = "sys.stdin.read()", hangup: str = "SIG_DFL") -> subprocess.Popen[str]:
        code = f"""
            import signal, sys
            from bakeoff.runtime.signals import TerminationGuard
            from bakeoff.storage.temp_dir import TempDir
            signal.signal(signal.SIGHUP, signal.{hangup})  # whatever these tests were started by
            TerminationGuard().listen()
            with TempDir("x") as folder:
                (folder / "deep").mkdir()
                (folder / "deep" / "file").write_text("x")
                print(folder, flush=True)
                {last}
            """
        process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip
        started.append(process)
        assert process.stdout is not None
        assert Path(process.stdout.readline().strip()).parent == place
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_it_is_there_and_then_gone(place: Path) -> None:
    with TempDir("x") as folder:
        (folder / "a").write_text("x")
        assert folder.parent == place and folder.stat().st_mode & 0o777 == 0o700
    assert not list(place.iterdir())
    kept = TempDir("x")
    kept.close()
    kept.close()
    assert not list(place.iterdir())
    forgotten = TempDir("x")
    del forgotten
    assert not list(place.iterdir())


def test_below_a_folder_of_ours(tmp_path: Path, place: Path) -> None:
    with TempDir("x", tmp_path) as folder:
        assert folder.parent == tmp_path and not list(place.iterdir())


@pytest.mark.parametrize("last", ["", "raise ValueError", "sys.exit(3)", "exit()"])
def test_no_ordinary_end_leaves_it(
    last: str, place: Path, owner: Callable[..., subprocess.Popen[str]]
) -> None:
    owner(last or "pass").wait(60)
    assert not list(place.iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_no_signal_that_asks_leaves_it(
    number: signal.Signals, place: Path, owner: Callable[..., subprocess.Popen[str]]
) -> None:
    process = owner()
    process.send_signal(number)
    process.wait(60)
    assert not list(place.iterdir())


def test_a_process_under_nohup_goes_on(place: Path, owner: Callable[..., subprocess.Popen[str]]) -> None:
    process = owner(hangup="SIG_IGN")
    process.send_signal(signal.SIGHUP)
    process.communicate("")
    assert process.returncode == 0


def test_what_a_killed_process_left_is_swept_by_the_next(
    place: Path, owner: Callable[..., subprocess.Popen[str]]
) -> None:
    killed = owner()
    killed.kill()
    killed.wait(60)
    (left,) = place.iterdir()
    alive = owner()
    assert not left.exists() and len(list(place.iterdir())) == 1, "the one in use stays"
    assert remove_abandoned() == [] and len(list(place.iterdir())) == 1
    alive.communicate("")
    assert not list(place.iterdir())


def test_nothing_else_is_swept(tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    (place / f"{PREFIX}link").symlink_to(outside)
    (place / f"{PREFIX}file").write_text("x")
    (place / "bakeoff-soak-x").mkdir()
    left = place / f"{PREFIX}left"
    left.mkdir()
    (left / "link").symlink_to(outside)
    monkeypatch.setattr(temp_dir.os, "getuid", lambda: left.stat().st_uid + 1)
    assert remove_abandoned() == [], "another user's"
    monkeypatch.undo()
    assert remove_abandoned(place) == [left]
    assert {path.name for path in place.iterdir()} == {f"{PREFIX}link", f"{PREFIX}file", "bakeoff-soak-x"}
    assert (outside / "kept").exists()


def test_one_swept_before_its_lock_is_made_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process sweeps in the moment between the making and the lock."""
    made, lock = [], temp_dir._lock_folder

    def late(path: Path, *, wait: bool) -> list[int]:
        made.append(path)
        if len(made) == 1:
            path.rmdir()
        return lock(path, wait=wait)

    monkeypatch.setattr(temp_dir, "_lock_folder", late)
    with TempDir("x") as folder:
        assert folder == made[1] and folder.is_dir()


def test_a_stop_while_it_is_made_leaves_none(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C may come between any two steps."""

    def stopped(path: Path, *, wait: bool) -> list[int]:
        assert path.is_dir()
        raise KeyboardInterrupt

    monkeypatch.setattr(temp_dir, "_lock_folder", stopped)
    with pytest.raises(KeyboardInterrupt):
        TempDir("x")
    assert not list(place.iterdir())


def test_a_place_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="set TMPDIR"):
        TempDir("x", tmp_path / "nowhere")


def test_a_copy_of_the_process_does_not_remove_it(place: Path) -> None:
    with TempDir("x") as folder:
        child = os.fork()
        if not child:
            temp_dir._remove(folder, [], os.getppid())
            os._exit(0)
        os.waitpid(child, 0)
        assert folder.is_dir()
