"""A real HTTP server on this machine that answers in the published shapes of embedding servers, and misbehaves on demand."""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]]


def vector(text: str, dims: int = 16) -> list[float]:
    """A bag of hashed words at unit length: texts with common words are near."""
    row = np.full(dims, 0.01)
    for word in text.lower().split():
        row[zlib.crc32(word.encode()) % dims] += 1
    return (row / np.linalg.norm(row)).tolist()


@dataclass
class Request:
    """What one client sent."""

    method: str
    path: str
    body: Any
    headers: dict[str, str]
    at: float


@dataclass
class Loopback:
    """`answer` decides every reply; `requests` is what came."""

    answer: Callable[[Request], Answer]
    requests: list[Request] = field(default_factory=list)

    def __enter__(self) -> Loopback:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    def posts(self, path: str) -> list[Request]:
        return [request for request in self.requests if (request.method, request.path) == ("POST", path)]


def _handler(server: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self._reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def do_GET(self) -> None:
            self._reply(None)

        do_PUT, do_DELETE = do_POST, do_GET  # noqa: N815 - what the base class calls

        def _reply(self, body: Any) -> None:
            request = Request(self.command, self.path, body, dict(self.headers), time.monotonic())
            server.requests.append(request)
            status, answer, *headers = server.answer(request)
            data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **(headers[0] if headers else {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def openai(request: Request) -> Answer:
    """What `POST /v1/embeddings` gives, rows in reverse order: `index` says which is which."""
    dims = request.body.get("dimensions", 16)
    rows = [
        {"object": "embedding", "index": i, "embedding": vector(text, dims)}
        for i, text in enumerate(request.body["input"])
    ]
    usage = {"prompt_tokens": 5, "total_tokens": 5}
    return 200, {"object": "list", "data": rows[::-1], "model": request.body["model"], "usage": usage}
