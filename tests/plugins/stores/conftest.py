"""A service on this machine that answers as a test says, and remembers what it was asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.errors import StoreError
from bakeoff.types import Batch, Metric


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content) if self.content else None


Answer = Callable[[Asked], tuple[int, Any]]


@contextmanager
def service(answer: Answer) -> Iterator[tuple[str, list[Asked]]]:
    """The address of a running service, and its requests so far."""
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # an answer is two writes: without this each waits 40 ms

        def _any(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked.append(Asked(self.command, self.path, headers, content))
            status, said = answer(asked[-1])
            raw = b"" if said is None else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        do_GET = do_POST = do_PUT = do_DELETE = _any  # noqa: N815 - names the server looks for

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def loopback() -> Callable[[Answer], Any]:
    """How a test starts a service."""
    return service


@pytest.fixture
def refuses_another_length(tmp_path: Path) -> Callable[[str, str], None]:
    """Checks that a store tells a query of another length in its engine's own words."""

    def check(name: str, words: str) -> None:
        plugin = registry.load("stores", name)
        store = plugin(plugin.Params(), tmp_path)
        store.create("contract_length", 16, Metric.COSINE)
        store.insert(Batch(np.arange(20, dtype=np.int64), vectors=np.eye(20, 16, dtype=np.float32) + 0.1))
        store.ready()
        with pytest.raises(StoreError, match=words):
            store.search(np.ones(5, np.float32), 3, plugin.Query())
        store.close()

    return check
