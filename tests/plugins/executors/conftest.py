"""Trouble for workers that are processes of their own: plug-ins that misbehave on request, an S3 server that goes."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(
    0, str(Path(__file__).parent)
)  # test modules share doubling.py, which importlib mode does not find

MODULE = '''\
import os
import signal
import time
from pathlib import Path

import pyarrow as pa

from bakeoff.errors import EmbedderError
from bakeoff.storage.row_cache import BatchRows
from bakeoff.runtime.shards import LoadedPlugin

TROUBLE = Path(os.environ["TROUBLE"])


def once(name):
    """Whether this is the first time, over all processes."""
    try:
        os.close(os.open(TROUBLE / name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


class Doubled:
    """Each word twice; some words are trouble."""

    def open(self):
        (TROUBLE / f"opened-{os.getpid()}-{time.monotonic_ns()}").touch()
        return LoadedPlugin(self.work)

    def work(self, table):
        words = table["word"].to_pylist()
        if "dies once" in words and once("died"):
            os.kill(os.getpid(), signal.SIGKILL)
        if "fails once" in words and once("failed"):
            raise ConnectionError("the line went dead")
        if "fails" in words:
            with (TROUBLE / "fails").open("a") as file:
                file.write("x")
            raise EmbedderError("it never works.")
        if "waits" in words or "slow" in words and once("slow"):
            (TROUBLE / "waiting").touch()
            while not (TROUBLE / "go").exists():
                time.sleep(0.01)
        with (TROUBLE / "done").open("a") as file:
            file.write("".join(f"{word}\\n" for word in words))
        doubled = [word for word in words for _ in range(2)]
        return BatchRows([2] * len(words), pa.table({"word": doubled}))
'''


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str, str], Path]]:
    """How a test gives its workers a module, and the variable that names the folder where they leave notes."""
    names: list[str] = []

    def write(name: str, text: str, variable: str) -> Path:
        code, notes = tmp_path / "code", tmp_path / "notes"
        code.mkdir()
        notes.mkdir()
        (code / f"{name}.py").write_text(text)
        monkeypatch.setenv(variable, str(notes))
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(code), os.environ.get("PYTHONPATH", "")]))
        monkeypatch.syspath_prepend(str(code))
        sys.modules.pop(name, None)
        names.append(name)
        return notes

    yield write
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture
def trouble(written: Callable[[str, str, str], Path]) -> Path:
    """The folder where workers leave notes; the module is `troublesome`."""
    return written("troublesome", MODULE, "TROUBLE")


class Line:
    """A line to a server that can be cut and mended: what is behind it does not notice."""

    def __init__(self, target: int) -> None:
        self._target, self._open = target, False
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._ends: set[socket.socket] = set()
        self.mend()

    def mend(self) -> None:
        self._server = socket.create_server(("127.0.0.1", self.port))
        self._open = True
        threading.Thread(target=self._accept, args=(self._server,), daemon=True).start()

    def cut(self) -> None:
        self._open = False
        _hang_up(self._server)
        for end in list(self._ends):
            _hang_up(end)

    def _accept(self, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while self._open:
                near, _ = server.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
                self._ends |= {near, far}
                for a, b in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(a, b), daemon=True).start()

    def _carry(self, a: socket.socket, b: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := a.recv(65_536):
                b.sendall(data)
        for end in (a, b):
            _hang_up(end)
            self._ends.discard(end)


def _hang_up(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


POLICY = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}'


@dataclass(frozen=True)
class S3:
    """An S3 server in a process of its own that checks keys, and the line to it."""

    line: Line
    key: str
    secret: str

    def client(self) -> Any:
        """To look behind bakeoff's back."""
        return _client("s3", self.line.port, self.key, self.secret)


def _client(service: str, port: int, key: str = "anybody", secret: str = "anything") -> Any:
    import botocore.session

    return botocore.session.get_session().create_client(
        service,
        region_name="us-east-1",
        endpoint_url=f"http://127.0.0.1:{port}",
        aws_access_key_id=key,
        aws_secret_access_key=secret,
    )


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """Four requests set up a user and a bucket; after them no request passes without a good signature."""
    for name in ("s3fs", "moto", "flask_cors"):
        pytest.importorskip(name, reason="needs bakeoff[s3] and moto[s3] with flask-cors")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("s3") / "log"
    with log.open("w") as told:
        server = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            env=os.environ | {"INITIAL_NO_AUTH_ACTION_COUNT": "4"},
            stdout=told,
            stderr=told,
        )
    line = None
    try:
        _until_open(port, server)
        iam = _client("iam", port)
        iam.create_user(UserName="bakeoff")
        iam.put_user_policy(UserName="bakeoff", PolicyName="s3", PolicyDocument=POLICY)
        made = iam.create_access_key(UserName="bakeoff")["AccessKey"]
        _client("s3", port).create_bucket(Bucket="shared")
        line = Line(port)
        yield S3(line, made["AccessKeyId"], made["SecretAccessKey"])
    finally:
        if line is not None:
            line.cut()
        server.terminate()
        server.wait(60)


def _until_open(port: int, server: subprocess.Popen[bytes]) -> None:
    while server.poll() is None:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        time.sleep(0.1)
    pytest.fail("the S3 server did not start")


@pytest.fixture
def s3(s3_server: S3, monkeypatch: pytest.MonkeyPatch) -> S3:
    """The server, with the environment that reaches it."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{s3_server.line.port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3_server.key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3_server.secret)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return s3_server
