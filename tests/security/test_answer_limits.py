"""No answer of a server fills the memory or takes for ever: limits on decoded bytes and on total seconds."""

from __future__ import annotations

import gzip
import re
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from bakeoff import registry
from bakeoff.errors import BakeoffError, EmbedderError, StoreError
from bakeoff.runtime import http_client
from bakeoff.runtime.http_client import HttpClient, HttpFailure, TooLarge, TooSlow
from bakeoff.types import Role

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


class Raw:
    """A server that answers every request with bytes of the test's choice, in the pieces it yields."""

    def __init__(self, answer: Callable[[], Iterator[bytes]]) -> None:
        self._answer, self._stop = answer, threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while not self._stop.is_set():
            try:
                taken, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._reply, args=(taken,), daemon=True).start()

    def _reply(self, taken: socket.socket) -> None:
        with taken:
            try:
                self._read_request(taken)
                for piece in self._answer():
                    if self._stop.is_set():
                        return
                    taken.sendall(piece)
            except OSError:
                return

    def _read_request(self, taken: socket.socket) -> None:
        """All of it: a connection that is closed with bytes unread loses what was sent."""
        got = b""
        while b"\r\n\r\n" not in got:
            got += taken.recv(65_536)
        head, _, body = got.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        left = int(length[1]) - len(body) if length else 0
        while left > 0:
            left -= len(taken.recv(65_536))

    def close(self) -> None:
        self._stop.set()
        self._listener.close()


@pytest.fixture
def raw() -> Iterator[Callable[[Callable[[], Iterator[bytes]]], Raw]]:
    made: list[Raw] = []

    def serve(answer: Callable[[], Iterator[bytes]]) -> Raw:
        made.append(Raw(answer))
        return made[-1]

    yield serve
    for one in made:
        one.close()


def endless() -> Iterator[bytes]:
    """Ten gigabytes, as a chunked answer."""
    yield HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    piece = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    for _ in range(160_000):
        yield piece


def unlimited() -> Iterator[bytes]:
    """The same without any word on its length."""
    yield HEAD + b"Connection: close\r\n\r\n"
    for _ in range(160_000):
        yield b" " * 65_536


def bomb(encoding: str) -> Callable[[], Iterator[bytes]]:
    """A few kilobytes that expand to 32 megabytes."""

    def answer() -> Iterator[bytes]:
        packer = zlib.compressobj(9, zlib.DEFLATED, 31 if encoding == "gzip" else 15)
        body = b"".join(packer.compress(b" " * 2**20) for _ in range(32)) + packer.flush()
        yield HEAD + f"Content-Encoding: {encoding}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body

    return answer


def members() -> Iterator[bytes]:
    """Many gzip members one after the other: 512 megabytes of small ones."""
    body = gzip.compress(b" " * 2**20) * 512
    yield HEAD + f"Content-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def drip(begin: bytes) -> Callable[[], Iterator[bytes]]:
    """One byte at a time, each well within a timeout that starts again with every byte."""

    def answer() -> Iterator[bytes]:
        yield begin
        while True:
            threading.Event().wait(0.05)
            yield b"a"

    return answer


LARGE = {
    "chunked": endless,
    "no length": unlimited,
    "gzip": bomb("gzip"),
    "deflate": bomb("deflate"),
    "members": members,
}
SLOW = {
    "status line": drip(b"HTTP/1.1 200 "),
    "headers": drip(HEAD + b"X-Slow: "),
    "body": drip(HEAD + b"Content-Length: 100000\r\n\r\n"),
    "chunks": drip(HEAD + b"Transfer-Encoding: chunked\r\n\r\n186a0\r\n"),
    "no length": drip(HEAD + b"Connection: close\r\n\r\n["),
}


def openai(url: str) -> None:
    plugin = registry.load("embedders", "openai")
    plugin(plugin.Params(base_url=f"{url}/v1", model="m", retries=0, timeout=0.6)).embed(["a"], Role.QUERY)


def rerank(url: str) -> None:
    plugin = registry.load("rerankers", "rerank_api")
    plugin(plugin.Params(base_url=url, retries=0, timeout=0.6)).rerank("q", ["a"])


def opensearch(url: str) -> None:
    plugin = registry.load("stores", "opensearch")
    plugin(plugin.Params(url=url), Path()).engine_version()


def elasticsearch(url: str) -> None:
    plugin = registry.load("stores", "elasticsearch")
    plugin(plugin.Params(url=url), Path()).engine_version()


def weaviate(url: str) -> None:
    plugin = registry.load("stores", "weaviate")
    plugin(plugin.Params(url=url), Path()).engine_version()


def qdrant(url: str) -> None:
    plugin = registry.load("stores", "qdrant")
    plugin(plugin.Params(url=url), Path()).engine_version()


def chroma(url: str) -> None:
    plugin = registry.load("stores", "chroma")
    plugin(plugin.Params(url=url), Path()).engine_version()


@pytest.mark.parametrize("answer", ["chunked", "no length", "gzip"])
@pytest.mark.parametrize("ask", [qdrant, chroma, weaviate])
def test_a_huge_answer_to_an_official_client(
    ask: Callable[[str], None], answer: str, raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAKEOFF_SERVER_TIMEOUT", "60")
    monkeypatch.setattr(http_client, "LARGEST_ANSWER", 8 * 2**20)
    with pytest.raises(StoreError, match=r"8,388,608 bytes|compressed"):
        ask(raw(LARGE[answer]).url)


@pytest.mark.parametrize("answer", ["body", "chunks", "no length"])
@pytest.mark.parametrize("ask", [qdrant, chroma, weaviate])
def test_a_slow_answer_to_an_official_client(
    ask: Callable[[str], None], answer: str, raw: Callable[..., Raw]
) -> None:
    with pytest.raises(StoreError, match=r"timed out|within 0\.6 s"):
        ask(raw(SLOW[answer]).url)


ASKING: dict[str, Callable[[str], None]] = {
    "model": openai,
    "reranker": rerank,
    "opensearch": opensearch,
    "elasticsearch": elasticsearch,
}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("BAKEOFF_SERVER_TIMEOUT", "0.6")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.mark.parametrize("answer", LARGE)
@pytest.mark.parametrize("kind", ASKING)
def test_a_huge_answer_is_an_error_and_is_not_held(
    kind: str, answer: str, raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAKEOFF_SERVER_TIMEOUT", "60")
    monkeypatch.setattr(http_client, "LARGEST_ANSWER", 8 * 2**20)
    server = raw(LARGE[answer])
    client, before = HttpClient(server.url), psutil.Process().memory_info().rss
    with pytest.raises(TooLarge):
        client.send("GET", "/", None, {}, 60)
    assert psutil.Process().memory_info().rss - before < 100 * 2**20
    if kind in ("opensearch", "elasticsearch"):
        with pytest.raises(StoreError, match="8,388,608 bytes"):
            ASKING[kind](server.url)


@pytest.mark.parametrize("answer", SLOW)
@pytest.mark.parametrize("kind", ASKING)
def test_a_server_that_sends_one_byte_at_a_time_is_too_slow(
    kind: str, answer: str, raw: Callable[..., Raw]
) -> None:
    """Without a limit on the whole, this would not end."""
    with pytest.raises(BakeoffError, match=r"within 0\.6 s"):
        ASKING[kind](raw(SLOW[answer]).url)


def test_the_real_limit_holds_for_a_model(raw: Callable[..., Raw]) -> None:
    plugin = registry.load("embedders", "openai")
    model = plugin(plugin.Params(base_url=f"{raw(members).url}/v1", model="m", retries=0))
    with pytest.raises(EmbedderError, match="268,435,456 bytes"):
        model.embed(["a"], Role.QUERY)


def test_answers_that_are_compressed_are_read(raw: Callable[..., Raw]) -> None:
    body = gzip.compress(b'{"a": ') + gzip.compress(b"[1, 2]}")
    head = HEAD + f"Content-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    answer = HttpClient(raw(lambda: iter([head + body])).url).send("GET", "/", None, {}, 5)
    assert answer.content == b'{"a": [1, 2]}'


@pytest.mark.parametrize("head", [b"Content-Encoding: br\r\n", b"Content-Encoding: gzip, gzip\r\n"])
def test_other_encodings_are_refused(head: bytes, raw: Callable[..., Raw]) -> None:
    server = raw(lambda: iter([HEAD + head + b"Content-Length: 2\r\n\r\n{}"]))
    with pytest.raises(HttpFailure, match="encoded as"):
        HttpClient(server.url).send("GET", "/", None, {}, 5)


def test_a_connection_that_was_shut_is_not_used_again(raw: Callable[..., Raw]) -> None:
    answers = iter(
        [drip(HEAD + b"Content-Length: 9\r\n\r\n"), lambda: iter([HEAD + b"Content-Length: 2\r\n\r\n{}"])]
    )

    def each() -> Iterator[bytes]:
        yield from next(answers)()

    client = HttpClient(raw(each).url)
    with pytest.raises(TooSlow):
        client.send("GET", "/", None, {}, 0.3)
    assert client.send("GET", "/", None, {}, 5).content == b"{}"


def test_many_threads_each_have_their_own_deadline(raw: Callable[..., Raw]) -> None:
    client, seen = HttpClient(raw(SLOW["body"]).url), []

    def ask(seconds: float) -> None:
        try:
            client.send("GET", "/", None, {}, seconds)
        except TooSlow:
            seen.append(seconds)

    threads = [threading.Thread(target=ask, args=(seconds,)) for seconds in (0.9, 0.2, 0.5)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    assert seen == [0.2, 0.5, 0.9]
