"""A depot in a folder: what one machine makes, another finds, whole or not at all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from bakeoff.errors import CacheError, MissingExtraError, SettingError
from bakeoff.storage import shared_location
from bakeoff.storage.row_cache import BatchRows, RowCache
from bakeoff.storage.shared_cache import (
    FetchCondition,
    RemoteArtifactStore,
    RemoteBackedCache,
    open_cache,
    pack,
    read_header,
    read_member,
    unpack,
)
from bakeoff.storage.shared_location import ObjectStoreClient, check_url

pytest.importorskip("fsspec", reason="needs bakeoff[s3]")
KEY = "ab" * 16
WORDS = [f"word {i}" for i in range(40)]


@pytest.fixture
def url(tmp_path: Path) -> str:
    (tmp_path / "depot").mkdir()
    return (tmp_path / "depot").as_uri()


def depot(url: str) -> RemoteArtifactStore:
    made = RemoteArtifactStore(ObjectStoreClient(url))
    made.connect()
    return made


def hello(folder: Path) -> None:
    (folder / "hello.txt").write_text("hello")


def objects(tmp_path: Path, stage: str = "*") -> list[Path]:
    return sorted((tmp_path / "depot").glob(f"{stage}/??/*"))


def fill(cache: RemoteBackedCache, words: list[str]) -> tuple[RowCache, list[str]]:
    """A pool with each word twice, and the words for which that was work."""
    pool, asked = RowCache(cache, "double", KEY), []

    def work(at: list[int]) -> BatchRows:
        asked.extend(words[i] for i in at)
        return BatchRows([2] * len(at), pa.table({"word": [words[i] for i in at for _ in range(2)]}))

    pool.fill(words, work, batch=4)
    return pool, asked


def machine(tmp_path: Path, name: str, url: str) -> RemoteBackedCache:
    return RemoteBackedCache(tmp_path / name, RemoteArtifactStore(ObjectStoreClient(url)))


def values(pool: RowCache, words: list[str]) -> list[str]:
    return [value for block in pool.gather(words) for value in block["word"].to_pylist()]


def test_another_machine_finds_what_was_made(tmp_path: Path, url: str) -> None:
    _, first = fill(machine(tmp_path, "one", url), WORDS)
    pool, again = fill(machine(tmp_path, "two", url), WORDS)
    assert (len(first), again) == (40, [])
    assert values(pool, WORDS) == [word for word in WORDS for _ in range(2)]
    one, two = ({p.relative_to(r): p.read_bytes() for p in (r / "double").rglob("*.arrow")}
                for r in (tmp_path / "one", tmp_path / "two"))  # fmt: skip
    assert one and one == two


def test_only_what_is_wanted_is_brought(tmp_path: Path, url: str) -> None:
    fill(machine(tmp_path, "one", url), WORDS)
    fill(machine(tmp_path, "one", url), ["other words"])
    pool, asked = fill(machine(tmp_path, "two", url), [*WORDS[:6], "new"])
    assert asked == ["new"]
    assert len(list((tmp_path / "two" / "double").glob("??/*"))) == 3, "two of ten segments, and the new one"
    assert values(pool, ["new", WORDS[5]]) == ["new", "new", WORDS[5], WORDS[5]]


def test_of_what_is_not_wanted_the_rest_is_not_read(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, big = depot(url), bytes(300_000)

    def write(folder: Path) -> None:
        (folder / "a").write_bytes(b"first")
        (folder / "b").write_bytes(big)

    one.keep("stage", KEY, write)
    read: list[int] = []
    once = ObjectStoreClient.read

    def counted(self: ObjectStoreClient, name: str, begin: int, end: int) -> bytes | None:
        data = once(self, name, begin, end)
        read.append(len(data or b"") if "/" in name else 0)
        return data

    monkeypatch.setattr(ObjectStoreClient, "read", counted)
    assert one.fetch("stage", KEY, FetchCondition("a", lambda first: first != b"first")) is None
    assert sum(read) == 65_536
    read.clear()
    assert one.fetch("stage", KEY, FetchCondition("a", lambda first: first == b"first")) == {
        "a": b"first",
        "b": big,
    }
    assert sum(read) == next((tmp_path / "depot" / "stage").glob("??/*")).stat().st_size
    assert one.fetch("stage", KEY, FetchCondition("b", lambda first: first == big)) is not None
    assert one.fetch("stage", KEY, FetchCondition("c", lambda _: True)) is None


@pytest.mark.parametrize("damage", ["cut off", "bytes", "foreign", "empty"])
def test_a_damaged_object_counts_as_none(
    tmp_path: Path, url: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    fill(machine(tmp_path, "one", url), WORDS)
    victim, other = objects(tmp_path, "double")[:2]
    whole = victim.read_bytes()
    match damage:
        case "cut off":
            victim.write_bytes(whole[:-10])
        case "bytes":
            victim.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        case "foreign":
            victim.write_bytes(other.read_bytes())
        case "empty":
            victim.write_bytes(b"")
    pool, asked = fill(machine(tmp_path, "two", url), WORDS)
    assert len(asked) == 4 and len(values(pool, WORDS)) == 80
    assert victim.read_bytes() == whole, "it was put again"
    assert "rebuilding it" in caplog.text


def test_a_killed_writer_leaves_nothing_that_counts(tmp_path: Path, url: str) -> None:
    code = (
        "import os, signal, sys, pathlib\n"
        "from bakeoff.storage.shared_cache import RemoteArtifactStore\nfrom bakeoff.storage.shared_location import ObjectStoreClient\n"
        "def write(folder):\n"
        "    (folder / 'half').write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "RemoteArtifactStore(ObjectStoreClient(sys.argv[1])).keep('stage', sys.argv[2], write)\n"
    )
    one = depot(url)
    assert subprocess.run([sys.executable, "-c", code, url, KEY], check=False, timeout=60).returncode < 0
    assert not one.has("stage", KEY) and one.keys("stage", KEY[:4]) == []


def test_two_processes_put_the_same_artifact(tmp_path: Path, url: str) -> None:
    """Both put it again and again; who reads meanwhile finds it whole, always."""
    code = (
        "import sys\n"
        "from bakeoff.storage.shared_cache import RemoteArtifactStore\nfrom bakeoff.storage.shared_location import ObjectStoreClient\n"
        "def write(folder):\n"
        "    (folder / 'a').write_bytes(bytes(200_000))\n"
        "for _ in range(40):\n"
        "    RemoteArtifactStore(ObjectStoreClient(sys.argv[1])).keep('stage', sys.argv[2], write)\n"
    )
    one = depot(url)
    writers = [subprocess.Popen([sys.executable, "-c", code, url, KEY]) for _ in range(2)]
    while any(writer.poll() is None for writer in writers):
        found = one.keys("stage", KEY[:4])
        assert not found or one.fetch("stage", KEY) == {"a": bytes(200_000)}
    assert [writer.returncode for writer in writers] == [0, 0]
    assert one.has("stage", KEY) and len(objects(tmp_path)) == 1


def test_what_cannot_be_put_is_not_here_either(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else this machine would think that the others have it."""
    cache = machine(tmp_path, "one", url)
    cache.keep("stage", "cd" * 16, hello)
    monkeypatch.setattr(shared_location, "PATIENCE_SECONDS", 0.3)
    (tmp_path / "depot").rename(tmp_path / "gone")
    with pytest.raises(CacheError, match="file://"):
        cache.keep("stage", KEY, hello)
    assert cache.get("stage", KEY) is None and not (tmp_path / "depot").exists()


def test_the_depot_is_made_of_a_folder_that_is_there_only(tmp_path: Path) -> None:
    with pytest.raises(SettingError):
        machine(tmp_path, "one", (tmp_path / "nowhere").as_uri()).keep("stage", KEY, hello)
    assert not (tmp_path / "nowhere").exists()


def test_the_setting(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAKEOFF_CACHE", str(tmp_path / "depot"))
    cache = open_cache(tmp_path / "one")
    assert isinstance(cache, RemoteBackedCache)
    cache.keep("stage", KEY, hello)
    assert depot(url).has("stage", KEY) and [use.stage for use in depot(url).use()] == ["stage"]
    monkeypatch.delenv("BAKEOFF_CACHE")
    assert type(open_cache(tmp_path / "one")) is not RemoteBackedCache


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("s3://key:secret@bucket/here", "must not contain credentials"),
        ("s3://bucket/here?endpoint=x", "must not contain credentials"),
        ("here/and/there", "is not a location"),
        ("s3://[bucket", "is not a URL"),
    ],
)
def test_a_url_that_is_none_is_refused(given: str, said: str) -> None:
    with pytest.raises(SettingError, match=said) as told:
        check_url(given)
    assert "secret" not in str(told.value)


def test_an_unknown_place_and_a_missing_client(tmp_path: Path) -> None:
    with pytest.raises(SettingError):
        machine(tmp_path, "one", "nowhere://here").keep("stage", KEY, hello)
    pytest.importorskip("fsspec")
    if not _installed("gcsfs"):
        with pytest.raises(MissingExtraError, match="gcsfs"):
            machine(tmp_path, "one", "gs://bucket/here").keep("stage", KEY, hello)


def _installed(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


NAME = "stage/abcd"


@pytest.fixture
def packed(tmp_path: Path) -> bytes:
    (tmp_path / "below").mkdir()
    (tmp_path / "b.txt").write_bytes(b"bee\n")
    (tmp_path / "below" / "a.bin").write_bytes(bytes(range(256)))
    (tmp_path / "empty").write_bytes(b"")
    return pack(NAME, tmp_path)


def test_gives_back_what_went_in(packed: bytes) -> None:
    assert unpack(NAME, packed) == {"b.txt": b"bee\n", "below/a.bin": bytes(range(256)), "empty": b""}


def test_equal_files_make_equal_bytes(packed: bytes, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for name, content in reversed(unpack(NAME, packed).items()):
        (other / name).parent.mkdir(exist_ok=True)
        (other / name).write_bytes(content)
    assert pack(NAME, other) == packed


def test_a_file_is_had_from_the_beginning_alone(packed: bytes) -> None:
    items = read_header(NAME, packed)
    assert read_member(items, "b.txt", packed[: items["b.txt"].end]) == b"bee\n"


def test_a_packed_that_is_not_whole_is_refused_wherever_it_ends(packed: bytes) -> None:
    for end in range(len(packed)):
        with pytest.raises(ValueError, match=r"not an artifact|damaged file"):
            unpack(NAME, packed[:end])


def test_a_changed_byte_is_seen(packed: bytes) -> None:
    for at in range(packed.index(b"\n") + 1, len(packed)):
        changed = packed[:at] + bytes([packed[at] ^ 1]) + packed[at + 1 :]
        with pytest.raises(ValueError, match="damaged file"):
            unpack(NAME, changed)


def test_another_artifact_is_refused(packed: bytes) -> None:
    with pytest.raises(ValueError, match="is another artifact"):
        unpack("stage/other", packed)


@pytest.mark.parametrize("file", ["../out", "/etc/x", "", "a\\..\\b"])
def test_a_file_that_would_leave_its_folder_is_refused(file: str) -> None:
    header = json.dumps({"artifact": NAME, "files": {file: [0, "00"]}}).encode() + b"\n"
    with pytest.raises(ValueError, match="invalid name"):
        unpack(NAME, header)


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"[1]\n", b"{}\n", b'{"artifact": "stage/abcd", "files": [1]}\n', b"\xff\n"]
)
def test_foreign_bytes_are_not_an_artifact(data: bytes) -> None:
    with pytest.raises(ValueError, match="not an artifact"):
        unpack(NAME, data)
