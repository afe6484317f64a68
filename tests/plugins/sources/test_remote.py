"""Tables and folders in an object store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fsspec", reason="needs bakeoff[s3]")
from fsspec.implementations.local import LocalFileSystem

from bakeoff.errors import CorpusError, DataError
from bakeoff.plugins.sources.remote import RemoteParams, RemoteSource
from bakeoff.plugins.sources.table import TableParams, TableSource
from bakeoff.types import Skipped, SourceFile, SourceItem


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An S3 server on loopback with one bucket, found through the environment as any client finds it."""
    for name in ("s3fs", "moto", "flask_cors"):
        pytest.importorskip(name, reason="needs bakeoff[s3] and moto[s3] with flask-cors")
    import botocore.session
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    settings = {
        "AWS_ENDPOINT_URL": "http://{}:{}".format(*server.get_host_and_port()),
        "AWS_ACCESS_KEY_ID": "anybody",
        "AWS_SECRET_ACCESS_KEY": "anything",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    for variable, value in settings.items():
        monkeypatch.setenv(variable, value)
    client = botocore.session.get_session().create_client("s3")
    client.create_bucket(Bucket="docs")
    yield client
    server.stop()


@pytest.mark.scale
def test_a_table_and_a_folder_in_s3(bucket: Any) -> None:
    bucket.put_object(Bucket="docs", Key="t/a.csv", Body=b"id,body\n1,first\n")
    bucket.put_object(Bucket="docs", Key="t/b.csv", Body=b"id,body\n2,second\n")
    source = TableSource(TableParams(table="s3://docs/t/*.csv", id="id", text=["body"]))
    assert [text for batch in source.batches() for text in batch.texts.to_pylist()] == ["first", "second"]
    version = source.content_version()
    bucket.put_object(Bucket="docs", Key="t/b.csv", Body=b"id,body\n2,another\n")
    assert TableSource(source._params).content_version() != version
    bucket.put_object(Bucket="docs", Key="files/guide/a.md", Body=b"# Guide\n")
    folder = RemoteSource(RemoteParams(remote="s3://docs/files"))
    (item,) = folder.items()
    assert isinstance(item, SourceItem)
    assert folder.read(item) == SourceFile("guide/a.md", b"# Guide\n")


@pytest.mark.scale
def test_what_is_not_there(bucket: Any) -> None:
    with pytest.raises(DataError, match=r"s3://docs/none\.csv"):
        list(TableSource(TableParams(table="s3://docs/none.csv", id="id", text=["body"])).batches())
    with pytest.raises(DataError, match=r"s3://nobody/t\.csv"):
        TableSource(TableParams(table="s3://nobody/t.csv", id="id", text=["body"])).content_version()
    with pytest.raises(CorpusError):
        list(RemoteSource(RemoteParams(remote="s3://docs/none")).items())


def write_files(folder: Path, **sizes: int) -> str:
    for name, size in sizes.items():
        (folder / name.replace("_", ".")).write_bytes(b"x" * size)
    return f"local://{folder}"


def test_a_folder_above_its_limit_is_refused_before_anything_is_copied(tmp_path: Path) -> None:
    url = write_files(tmp_path, a_md=600_000, b_md=600_000, big_md=2_000_000, film_mp4=9_000_000)
    source = RemoteSource(RemoteParams(remote=url, max_mb=1.5, max_total_mb=1))
    with pytest.raises(CorpusError, match=r"2 files .* 1\.2 MB.* max_total_mb is 1\."):
        source.items()
    assert not [path for path in source._copies.path.rglob("*") if path.read_bytes().strip(b"\0")]
    fewer = RemoteSource(RemoteParams(remote=url, max_mb=1.5, max_total_mb=1, include=["a.md"]))
    assert [item.id for item in fewer.items() if isinstance(item, SourceItem)] == ["a.md"]


def test_files_that_are_not_read_are_listed_and_not_copied(tmp_path: Path) -> None:
    url = write_files(tmp_path, a_md=5, big_md=2_000_000, film_mp4=70)
    source = RemoteSource(RemoteParams(remote=url, max_mb=1))
    found = {item.id: item for item in source.items()}
    assert isinstance(found["a.md"], SourceItem)
    assert isinstance(found["big.md"], Skipped) and "too large: 2.0 MB" in found["big.md"].reason
    assert isinstance(found["film.mp4"], Skipped)
    assert (source._copies.path / "big.md").stat().st_blocks == 0


def test_a_server_that_sends_more_than_it_reports_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = write_files(tmp_path, **{f"f{n}_md": 10_000 for n in range(300)})
    monkeypatch.setattr(
        LocalFileSystem,
        "find",
        lambda _self, path, **_: {str(one): {"size": 1} for one in sorted(Path(path).iterdir())},
    )
    with pytest.raises(CorpusError, match=r"200 files .* 2\.0 MB"):
        RemoteSource(RemoteParams(remote=url, max_total_mb=1)).items()


def test_a_name_that_leads_outside_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = write_files(tmp_path, a_md=5)
    monkeypatch.setattr(LocalFileSystem, "find", lambda _self, path, **_: {f"{path}/../../b.md": {"size": 1}})
    with pytest.raises(CorpusError, match="leads outside"):
        RemoteSource(RemoteParams(remote=url)).items()
