import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff.errors import CacheError, SettingError
from bakeoff.storage import cache
from bakeoff.storage.cache import Cache, durable_folder, verify_folder, write_file

KEY = "ab" + "0" * 30
NAME = f"stage/{KEY}"


def hello(folder: Path) -> None:
    (folder / "hello.txt").write_text("hello")


def test_makes_once(tmp_path: Path) -> None:
    cache, calls = Cache(tmp_path), []

    def write(folder: Path) -> None:
        calls.append(1)
        hello(folder)

    for _ in range(2):
        assert (cache.make("stage", KEY, write) / "hello.txt").read_text() == "hello"
    assert Cache(tmp_path).make("stage", KEY, write).exists()
    assert calls == [1]


@pytest.mark.parametrize("damage", ["bytes", "size", "missing", "manifest"])
def test_a_damaged_artifact_is_made_again(tmp_path: Path, damage: str) -> None:
    folder = Cache(tmp_path).make("stage", KEY, hello)
    match damage:
        case "bytes":
            (folder / "hello.txt").write_text("jello")
        case "size":
            (folder / "hello.txt").write_text("hello!")
        case "missing":
            (folder / "hello.txt").unlink()
        case "manifest":
            (folder / "manifest.json").write_text("{")
    cache = Cache(tmp_path)
    assert cache.get("stage", KEY) is None
    assert (cache.make("stage", KEY, hello) / "hello.txt").read_text() == "hello"


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path)

    def write(folder: Path) -> None:
        hello(folder)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.make("stage", KEY, write)
    assert cache.get("stage", KEY) is None
    assert list((tmp_path / "aside").iterdir()) == []


def test_disk_full_is_said(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(CacheError):
        Cache(tmp_path).make("stage", KEY, write)


def test_no_permission_is_said(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        raise OSError(errno.EACCES, "Permission denied")

    with pytest.raises(SettingError, match="BAKEOFF_HOME"):
        Cache(tmp_path).make("stage", KEY, write)


def test_other_faults_pass_through(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "refused")

    with pytest.raises(ConnectionRefusedError):
        Cache(tmp_path).make("stage", KEY, write)


def test_info_and_clear(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.make("one", KEY, hello)
    cache.make("two", KEY, hello)
    assert [(use.stage, use.artifacts) for use in cache.use()] == [("one", 1), ("two", 1)]
    assert cache.clear("one") > 0
    assert cache.get("one", KEY) is None and cache.get("two", KEY) is not None
    cache.clear()
    assert cache.use() == []


SLOW = """
import os, sys, time
from pathlib import Path
from bakeoff.storage.cache import Cache

def write(folder):
    with open(sys.argv[2], "a") as log:
        log.write(f"{os.getpid()}\\n")
    time.sleep(0.3)
    (folder / "hello.txt").write_text("hello")

Cache(Path(sys.argv[1])).make("stage", sys.argv[3], write)
"""


def test_two_processes_make_it_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SLOW, str(tmp_path / "cache"), str(tmp_path / "log"), KEY]
    workers = [subprocess.Popen(command) for _ in range(3)]
    assert [worker.wait(300) for worker in workers] == [0, 0, 0]
    assert len((tmp_path / "log").read_text().splitlines()) == 1
    assert Cache(tmp_path / "cache").get("stage", KEY) is not None


def test_durable_folder_gives_way_to_one_that_is_there(tmp_path: Path) -> None:
    target = tmp_path / "target"
    with durable_folder(target, tmp_path / "aside", NAME) as folder:
        hello(folder)
    with durable_folder(target, tmp_path / "aside", NAME) as folder:
        hello(folder)
    assert verify_folder(target, NAME)


def test_write_file_replaces_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_file(path, b"old")
    write_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_another_process_made_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at a folder and its removal another process may have put a whole one there."""
    folder = Cache(tmp_path).make("stage", KEY, hello)
    (folder / "hello.txt").write_text("jello")
    look = cache._fault
    looked = []

    def slow_look(at: Path, name: str) -> str | None:
        fault = look(at, name)
        if not looked:
            looked.append(fault)
            Cache(tmp_path).drop("stage", KEY)
            Cache(tmp_path).make("stage", KEY, hello)
        return fault

    monkeypatch.setattr(cache, "_fault", slow_look)
    assert Cache(tmp_path).get("stage", KEY) == folder
    assert len(looked) == 1 and "(hello.txt)" in looked[0] and verify_folder(folder, NAME)


def test_an_artifact_that_appears_while_it_is_looked_for_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, is_dir = cache._fault, Path.is_dir
    folder = tmp_path / "stage" / KEY[:2] / KEY

    def appears(at: Path) -> None:
        if at == folder and not folder.exists():
            with durable_folder(folder, tmp_path / "other", NAME) as made:
                hello(made)

    def slow_look(at: Path, name: str) -> str | None:
        fault = look(at, name)
        appears(at)
        return fault

    def slow_is_dir(at: Path) -> bool:
        found = is_dir(at)
        appears(at)
        return found

    monkeypatch.setattr(cache, "_fault", slow_look)
    monkeypatch.setattr(Path, "is_dir", slow_is_dir)
    Cache(tmp_path).get("stage", KEY)
    monkeypatch.undo()
    assert verify_folder(folder, NAME)


def test_a_file_in_place_of_a_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="Set BAKEOFF_HOME"):
        Cache(tmp_path / "file" / "cache").make("stage", KEY, hello)


def test_what_another_finishes_while_rubbish_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the list of what is being written and the look at its age another process may have finished it."""
    listed = cache._folders
    monkeypatch.setattr(cache, "_folders", lambda root: [*listed(root), root / "finished meanwhile"])
    assert verify_folder(Cache(tmp_path).make("stage", KEY, hello), NAME)


def test_two_artifacts_that_were_swapped_are_rebuilt(tmp_path: Path) -> None:
    other = "cd" + "0" * 30
    one = Cache(tmp_path).make("stage", KEY, hello)
    two = Cache(tmp_path).make("stage", other, lambda folder: (folder / "bye.txt").write_text("bye") and None)
    one.rename(tmp_path / "held")
    two.rename(one)
    (tmp_path / "held").rename(two)
    again = Cache(tmp_path)
    assert again.get("stage", KEY) is None and again.get("stage", other) is None
    assert (again.make("stage", KEY, hello) / "hello.txt").read_text() == "hello"


def test_a_manifest_of_version_0_1_has_no_name_and_is_kept(tmp_path: Path) -> None:
    folder = Cache(tmp_path).make("stage", KEY, hello)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    del manifest["artifact"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert Cache(tmp_path).get("stage", KEY) == folder
