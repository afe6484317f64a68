"""Tables and folders in an object store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bakeoff.errors import CorpusError, DataError
from bakeoff.plugins.sources.remote import RemoteParams, RemoteSource
from bakeoff.plugins.sources.table import TableParams, TableSource
from bakeoff.types import SourceFile, SourceItem


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
    with pytest.raises(DataError, match=r"s3://nobody/t.csv cannot be read|does not exist"):
        TableSource(TableParams(table="s3://nobody/t.csv", id="id", text=["body"])).content_version()
    with pytest.raises(CorpusError):
        list(RemoteSource(RemoteParams(remote="s3://docs/none")).items())
