"""Shards put into an S3 bucket by real processes: what the driver gets from there is what one process makes."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from doubling import KEY, WORDS, done, fill, hashes, here

from bakeoff.errors import CacheError, SettingError
from bakeoff.plugins.executors.local import LocalExecutor
from bakeoff.runs.run import run
from bakeoff.runtime import scheduler
from bakeoff.storage import shared_location
from bakeoff.storage.shared_cache import RemoteArtifactStore, RemoteBackedCache, open_cache
from bakeoff.storage.shared_location import ObjectStoreClient

pytestmark = [pytest.mark.slow, pytest.mark.scale]
TABLES = ("scores", "rankings", "queries", "passages", "losses")


@pytest.fixture
def url(s3: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A place of its own in the bucket, as the setting names it."""
    given = f"s3://shared/{uuid.uuid4().hex}"
    monkeypatch.setenv("BAKEOFF_CACHE", given)
    shared_location._client.cache_clear()
    yield given
    shared_location._client.cache_clear()


@pytest.fixture
def executor(trouble: Path, s3: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalExecutor]:
    """Two processes; on a busy machine none is taken for slow and has its work done once more."""
    monkeypatch.setattr(scheduler, "SLOW_SECONDS", 3600.0)
    made = LocalExecutor(LocalExecutor.Params(processes=2))
    yield made
    made.close()


def in_bucket(s3: Any, url: str) -> dict[str, tuple[str, datetime]]:
    """Name, hash and time of every object, as the server has it."""
    found = s3.client().list_objects_v2(Bucket="shared", Prefix=url.removeprefix("s3://shared/"))
    return {row["Key"]: (row["ETag"], row["LastModified"]) for row in found.get("Contents", [])}


def hashed(found: dict[str, tuple[str, datetime]]) -> dict[str, str]:
    return {name: tag for name, (tag, _) in found.items()}


def test_segments_are_those_of_one_process(
    executor: LocalExecutor, trouble: Path, s3: Any, url: str, tmp_path: Path
) -> None:
    fill(executor, open_cache(tmp_path / "apart"), WORDS)
    assert done(trouble) == sorted(WORDS)
    assert len(in_bucket(s3, url)) == 1 + 1 + len(WORDS) // 2, "the sign, the plan, and one object a batch"
    here(tmp_path / "here", WORDS)
    assert hashes(tmp_path / "apart") == hashes(tmp_path / "here")


def test_a_killed_worker_costs_its_shard_only(
    executor: LocalExecutor, trouble: Path, s3: Any, url: str, tmp_path: Path
) -> None:
    words, put = [*WORDS, "dies once"], {}

    def look() -> None:
        while not (trouble / "died").exists():
            time.sleep(0.01)
        put.update(in_bucket(s3, url))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    fill(executor, open_cache(tmp_path / "apart"), words)
    thread.join()
    assert put and put.items() <= in_bucket(s3, url).items(), "what was there when it died is not put again"
    assert set(done(trouble)) == set(words)
    here(tmp_path / "here", words)
    assert hashes(tmp_path / "apart") == hashes(tmp_path / "here")


def test_another_driver_gets_what_is_there(
    executor: LocalExecutor, trouble: Path, url: str, tmp_path: Path
) -> None:
    fill(executor, open_cache(tmp_path / "one"), WORDS[:20])
    pool = fill(executor, open_cache(tmp_path / "two"), WORDS)
    assert done(trouble) == sorted(WORDS) and pool.counts(WORDS).tolist() == [2] * 40


def test_a_line_that_is_cut_for_a_while(
    executor: LocalExecutor, trouble: Path, s3: Any, url: str, tmp_path: Path
) -> None:
    """Workers wait with what they computed, and the driver waits to get it."""
    words = ["a", "b", "waits", "c", "d", "e"]

    def cut_for_a_while() -> None:
        while not (trouble / "waiting").exists():
            time.sleep(0.01)
        s3.line.cut()
        (trouble / "go").touch()
        time.sleep(3)
        s3.line.mend()

    thread = threading.Thread(target=cut_for_a_while, daemon=True)
    thread.start()
    pool = fill(executor, open_cache(tmp_path), words)
    thread.join()
    assert pool.counts(words).tolist() == [2] * 6
    assert done(trouble) == sorted(words), "what was computed is not computed again"


def cut(s3: Any, act: Callable[[], Any]) -> Any:
    """What `act` gives if the line is cut before it and mended a second later."""
    s3.line.cut()
    timer = threading.Timer(1.0, s3.line.mend)
    timer.start()
    try:
        return act()
    finally:
        timer.join()


def test_the_driver_waits_for_the_line(trouble: Path, s3: Any, url: str, tmp_path: Path) -> None:
    def hello(folder: Path) -> None:
        (folder / "hello").write_text("hello")

    one, two = open_cache(tmp_path / "one"), open_cache(tmp_path / "two")
    cut(s3, lambda: one.keep("stage", KEY, hello))
    assert isinstance(two, RemoteBackedCache)
    assert cut(s3, lambda: two.remote.keys("stage", KEY[:4])) == [KEY]
    found = cut(s3, lambda: two.keep("stage", KEY, lambda _: pytest.fail("made twice")))
    assert (found / "hello").read_text() == "hello"


def test_nobody_answers(s3: Any, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_location, "FIRST_SECONDS", 0.0)
    s3.line.cut()
    try:
        with pytest.raises(CacheError, match=r"s3://shared/\w+: EndpointConn"):
            open_cache(tmp_path).keep("stage", KEY, lambda _: None)
    finally:
        s3.line.mend()


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_wrong_keys_are_refused_at_once(
    s3: Any, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "AKIAWRONGWRONGWRONGX")
    shared_location._client.cache_clear()
    monkeypatch.setattr(shared_location.time, "sleep", lambda _: pytest.fail("waited"))
    with pytest.raises(SettingError, match=r"s3://shared/\w+ .*\(PermissionError") as told:
        open_cache(tmp_path).keep("stage", KEY, lambda _: None)
    assert "WRONG" not in str(told.value) and s3.secret not in str(told.value)


def test_no_keys_at_all(s3: Any, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    shared_location._client.cache_clear()
    with pytest.raises(SettingError, match=r"refuses \(NoCredentialsError|refuses \(PermissionError"):
        open_cache(tmp_path).keep("stage", KEY, lambda _: None)


def test_a_bucket_that_is_not_there(s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAKEOFF_CACHE", "s3://nowhere/here")
    with pytest.raises(SettingError):
        open_cache(tmp_path).keep("stage", KEY, lambda _: None)


@pytest.mark.parametrize("damage", ["cut off", "foreign", "rubbish", "empty"])
def test_a_damaged_object_is_made_again_by_a_worker(
    executor: LocalExecutor, trouble: Path, s3: Any, url: str, tmp_path: Path, damage: str,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    fill(executor, open_cache(tmp_path / "one"), WORDS[:8])
    before = in_bucket(s3, url)
    victim, other = [name for name in sorted(before) if "/double/" in name][:2]
    client = s3.client()

    def body(name: str) -> bytes:
        return client.get_object(Bucket="shared", Key=name)["Body"].read()

    bad = {"cut off": body(victim)[:-5], "foreign": body(other), "rubbish": b"rubbish", "empty": b""}[damage]
    client.put_object(Bucket="shared", Key=victim, Body=bad)
    pool = fill(executor, open_cache(tmp_path / "two"), WORDS[:8])
    assert pool.counts(WORDS[:8]).tolist() == [2] * 8 and "rebuilding it" in caplog.text
    assert len(done(trouble)) == 8 + 2 and hashed(in_bucket(s3, url)) == hashed(before)


def test_two_processes_put_the_same_artifact(s3: Any, url: str) -> None:
    """Both put it again and again; who reads meanwhile finds it whole, always, and there is one at the end."""
    code = (
        "import sys\n"
        "from bakeoff.storage.shared_cache import RemoteArtifactStore\nfrom bakeoff.storage.shared_location import ObjectStoreClient\n"
        "def write(folder):\n"
        "    (folder / 'a').write_bytes(bytes(200_000))\n"
        "for _ in range(20):\n"
        "    RemoteArtifactStore(ObjectStoreClient(sys.argv[1])).keep('stage', sys.argv[2], write)\n"
    )
    one = RemoteArtifactStore(ObjectStoreClient(url))
    one.connect()
    writers = [subprocess.Popen([sys.executable, "-c", code, url, KEY]) for _ in range(2)]
    while any(writer.poll() is None for writer in writers):
        assert one.fetch("stage", KEY) in (None, {"a": bytes(200_000)})
    assert [writer.returncode for writer in writers] == [0, 0]
    assert one.has("stage", KEY) and len(in_bucket(s3, url)) == 2


def results(folder: Path) -> dict[str, bytes]:
    """The tables, and every vector."""
    tables = {name: (folder / "run" / f"{name}.parquet").read_bytes() for name in TABLES}
    vectors = {path.name: path.read_bytes() for path in (folder / "home/cache/vectors").rglob("vectors.npy")}
    assert vectors
    return tables | vectors


def test_a_run_is_the_same_byte_by_byte(
    s3: Any, url: str, tmp_path: Path, laid_out: Callable[..., Path], ran: Any
) -> None:
    """With two processes and the bucket; on a machine that has only the bucket; in one process that shares nothing."""
    found = []
    for name, executor in (("apart", "{local: {processes: 2}}"), ("later", None)):
        folder = tmp_path / name
        folder.mkdir()
        run(laid_out(folder), out=folder / "run", home=folder / "home", executor=executor)
        assert results(folder) == results(ran.result.path.parent)
        found.append(in_bucket(s3, url))
    stages = {name.split("/")[1] for name in found[0]}
    assert {"chunk", "embed", "tokens"} <= stages and not stages & {"vectors", "chunks", "index"}
    assert found[0] == found[1], "the second made nothing that the first had put"
