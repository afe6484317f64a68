"""What servers answer: embedders and rerankers behind HTTP, vector databases, health pages."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bakeoff import registry
from bakeoff.plugins.kit.rest import refusal_reason
from bakeoff.runtime.servers.base import NOT_YET, get_json
from bakeoff.types import Metric, Role
from fuzzed.reader import Reader

ROW = [0.6, 0.8]


class Handler(BaseHTTPRequestHandler):
    """Gives every request the same answer, but where one page must be whole for the other to be asked."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    said = b""
    always = {"/embed": json.dumps([ROW]).encode()}

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        said = self.always.get(self.path, self.said)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Requests are no news."""


@cache
def address() -> str:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


def asked(ask: Callable[[str], object]) -> Callable[[Path], object]:
    """Reads a file as what a server answers."""

    def reading(path: Path) -> object:
        Handler.said = path.read_bytes()
        return ask(address())

    return reading


def embedder(name: str, answer: object, key: str = "base_url", **params: object) -> Reader:
    plugin = registry.load("embedders", name)

    def ask(url: str) -> object:
        made = plugin(plugin.Params(**{key: url}, retries=0, key_env="", **params))
        try:
            return made.embed(["a"], Role.QUERY)
        finally:
            made.close()

    return Reader(
        f"answer to {'-'.join((name, *map(str, params.values())))}",
        "answer.json",
        asked(ask),
        json.dumps(answer).encode(),
    )


def reranker(api: str, answer: object) -> Reader:
    plugin = registry.load("rerankers", "rerank_api")

    def ask(url: str) -> object:
        made = plugin(plugin.Params(base_url=url, api=api, retries=0, key_env=""))
        try:
            return made.rerank("a", ["b"])
        finally:
            made.close()

    return Reader(f"answer to the reranker of {api}", "answer.json", asked(ask), json.dumps(answer).encode())


def database(url: str) -> object:
    plugin = registry.load("stores", "vespa")
    store = plugin(plugin.Params(url=url), Path())
    try:
        return store.open("rows", 0, Metric.COSINE)
    finally:
        store.close()


OLLAMA = {"models": [{"name": "m:latest", "digest": "d"}], "embeddings": [ROW], "model_info": {"bert.context_length": 9},
          "details": {"quantization_level": "F16"}}  # fmt: skip
VOYAGE = {"data": [{"index": 0, "embedding": ROW}], "model": "m"}
TEI = {
    "model_id": "m",
    "model_sha": "s",
    "max_input_length": 9,
    "model_type": {"embedding": {"pooling": "cls"}},
}
READERS = [
    embedder("openai", VOYAGE),
    embedder("cohere", {"embeddings": {"float": [ROW]}}),
    embedder("cohere", VOYAGE, api="voyage"),
    embedder("ollama", OLLAMA, "url", model="m"),
    embedder("tei", TEI, "url"),
    reranker("cohere", {"results": [{"index": 0, "relevance_score": 0.5}]}),
    reranker("tei", [{"index": 0, "score": 0.5}]),
    reranker("voyage", {"data": [{"index": 0, "relevance_score": 0.5}]}),
    Reader("answer of a database", "answer.json", asked(database), b'{"root": {"fields": {"totalCount": 3}}}'),
    Reader(
        "reason of a database", "answer.json", lambda path: refusal_reason(path.read_bytes()), b'{"error": {"reason": "no index"}}'
    ),
    Reader("health page", "answer.json", asked(get_json), b'{"version": "1"}', NOT_YET),
]  # fmt: skip
