"""A shared folder that goes and comes back: nothing is written elsewhere, nothing that is there is missed."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff import sharedfolder
from bakeoff.cache import intact
from bakeoff.errors import CacheError
from bakeoff.sharedfolder import MARK, PatientCache, marked, patiently

KEY = "ab" + "0" * 30


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "shared"


@pytest.fixture
def cache(root: Path) -> PatientCache:
    return PatientCache(marked(root))


def hello(folder: Path) -> None:
    (folder / "hello.txt").write_text("hello")


def while_gone(root: Path, act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> object:
    """What `act` gives if the folder goes before it and comes back only when it is being waited for."""
    waited = threading.Event()
    sleep = sharedfolder.time.sleep
    monkeypatch.setattr(sharedfolder.time, "sleep", lambda seconds: (waited.set(), sleep(0.01)))
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
    cache: PatientCache, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = cache.make("stage", KEY, hello)
    again = PatientCache(marked(root))
    assert while_gone(root, lambda: again.get("stage", KEY), monkeypatch) == made
    assert while_gone(root, lambda: again.keys("stage", KEY[:4]), monkeypatch) == [KEY]
    assert while_gone(root, lambda: again.has("stage", KEY), monkeypatch) is True
    assert while_gone(root, lambda: again.has("stage", "cd" * 16), monkeypatch) is False


def test_what_is_made_waits_for_the_folder(
    cache: PatientCache, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = while_gone(root, lambda: cache.keep("stage", KEY, hello), monkeypatch)
    assert folder == root / "stage" / "ab" / KEY and intact(folder, f"stage/{KEY}")


def test_a_folder_that_goes_in_the_middle(
    cache: PatientCache, root: Path, monkeypatch: pytest.MonkeyPatch
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

    monkeypatch.setattr(sharedfolder.time, "sleep", back)
    made = cache.make("stage", KEY, write)
    assert len(calls) == 2 and intact(made, f"stage/{KEY}")


def test_a_fault_of_the_work_is_not_waited_out(cache: PatientCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharedfolder.time, "sleep", lambda _: pytest.fail("waited"))

    def write(folder: Path) -> None:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "the model is not there")

    with pytest.raises(ConnectionRefusedError):
        cache.make("stage", KEY, write)
    with pytest.raises(CacheError, match="the disk is full"):
        cache.make("stage", KEY, lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))


def test_a_fault_that_passes_is_waited_out(cache: PatientCache, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = [OSError(errno.ESTALE, "stale"), OSError(errno.EIO, "broken")]
    monkeypatch.setattr(sharedfolder.time, "sleep", lambda _: None)

    def act() -> str:
        if faults:
            raise faults.pop()
        return "done"

    assert patiently(marked(cache.root), act) == "done"


def test_a_folder_that_stays_away_is_told(
    cache: PatientCache, root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cache.get("stage", KEY)
    monkeypatch.setattr(sharedfolder, "PATIENCE_SECONDS", 0.3)
    root.rename(root.with_name("away"))
    with pytest.raises(CacheError, match=r"cannot use the shared cache folder .* finished shards are kept"):
        cache.get("stage", KEY)
    assert len([record for record in caplog.records if "waited for" in record.message]) == 1
    assert not root.exists()


def test_another_folder_in_its_place_is_not_used(
    cache: PatientCache, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharedfolder, "PATIENCE_SECONDS", 0.3)
    monkeypatch.setattr(sharedfolder, "FIRST_SECONDS", 0.3)
    (root / MARK).write_text("of another machine")
    with pytest.raises(CacheError, match="is another folder"):
        cache.make("stage", KEY, lambda _: pytest.fail("written elsewhere"))
