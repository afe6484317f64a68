"""A shared folder that goes and comes back: nothing is written elsewhere, nothing that is there is missed."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.errors import CacheError
from bakeoff.storage import shared_location
from bakeoff.storage.cache import verify_folder
from bakeoff.storage.shared_location import MARKER, SharedFolderCache, ensure_marker, retry_until_available

KEY = "ab" + "0" * 30


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "shared"


@pytest.fixture
def cache(root: Path) -> SharedFolderCache:
    return SharedFolderCache(ensure_marker(root))


def hello(folder: Path) -> None:
    (folder / "hello.txt").write_text("hello")


def while_gone(root: Path, act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> object:
    """What `act` gives if the folder goes before it and comes back only when it is being waited for."""
    waited = threading.Event()
    sleep = shared_location.time.sleep
    monkeypatch.setattr(shared_location.time, "sleep", lambda seconds: (waited.set(), sleep(0.01)))
    away = root.with_name("away")
    root.rename(away)

    def back() -> None:
        waited.wait(60)
        away.rename(root)

    thread = threading.Thread(target=back)
    thread.start()
    try:
        return act()
    finally:
        waited.set()
        thread.join()


def test_what_is_there_is_not_missed(
    cache: SharedFolderCache, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = cache.make("stage", KEY, hello)
    again = SharedFolderCache(ensure_marker(root))
    assert while_gone(root, lambda: again.get("stage", KEY), monkeypatch) == made
    assert while_gone(root, lambda: again.keys("stage", KEY[:4]), monkeypatch) == [KEY]
    assert while_gone(root, lambda: again.has("stage", KEY), monkeypatch) is True
    assert while_gone(root, lambda: again.has("stage", "cd" * 16), monkeypatch) is False


def test_what_is_made_waits_for_the_folder(
    cache: SharedFolderCache, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = while_gone(root, lambda: cache.keep("stage", KEY, hello), monkeypatch)
    assert folder == root / "stage" / "ab" / KEY and verify_folder(folder, f"stage/{KEY}")


def test_a_folder_that_goes_in_the_middle(
    cache: SharedFolderCache, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes while the artifact is written; the artifact is written once more, and nothing where the folder was."""
    calls: list[Path] = []
    away = root.with_name("away")

    def write(folder: Path) -> None:
        calls.append(folder)
        hello(folder)
        if len(calls) == 1:
            root.rename(away)

    def back(_seconds: float) -> None:
        assert not root.exists(), "written where nobody finds it"
        away.rename(root)

    monkeypatch.setattr(shared_location.time, "sleep", back)
    made = cache.make("stage", KEY, write)
    assert len(calls) == 2 and verify_folder(made, f"stage/{KEY}")


def test_a_fault_of_the_work_is_not_waited_out(
    cache: SharedFolderCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_location.time, "sleep", lambda _: pytest.fail("waited"))

    def write(folder: Path) -> None:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "the model is not there")

    with pytest.raises(ConnectionRefusedError):
        cache.make("stage", KEY, write)
    with pytest.raises(CacheError):
        cache.make("stage", KEY, lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))


def test_a_fault_that_passes_is_waited_out(cache: SharedFolderCache, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = [OSError(errno.ESTALE, "stale"), OSError(errno.EIO, "broken")]
    monkeypatch.setattr(shared_location.time, "sleep", lambda _: None)

    def act() -> str:
        if faults:
            raise faults.pop()
        return "done"

    assert retry_until_available(ensure_marker(cache.root), act) == "done"


def test_a_folder_that_stays_away_is_told(
    cache: SharedFolderCache, root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cache.get("stage", KEY)
    monkeypatch.setattr(shared_location, "PATIENCE_SECONDS", 0.3)
    root.rename(root.with_name("away"))
    with pytest.raises(CacheError):
        cache.get("stage", KEY)
    assert len([record for record in caplog.records if "is gone" in record.message]) == 1
    assert not root.exists()


def test_another_folder_in_its_place_is_not_used(
    cache: SharedFolderCache, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_location, "PATIENCE_SECONDS", 0.3)
    monkeypatch.setattr(shared_location, "FIRST_SECONDS", 0.3)
    (root / MARKER).write_text("of another machine")
    with pytest.raises(CacheError):
        cache.make("stage", KEY, lambda _: pytest.fail("written elsewhere"))
