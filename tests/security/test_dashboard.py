"""The dashboard against web pages in the same browser: a foreign name that leads here, another origin, odd requests."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

BAKEOFF = Path(sysconfig.get_path("scripts")) / "bakeoff"
HOST = "127.0.0.1"
TOKEN = "a-token-of-the-test"
LONG = 120


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[socket.socket]:
    """The way to every other machine, on which somebody listens; who asks there shows."""
    with socket.create_server((HOST, 0)) as way:
        way.setblocking(False)
        yield way


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory, elsewhere: socket.socket) -> Iterator[int]:
    """Where a dashboard of a folder without runs answers."""
    pytest.importorskip("streamlit")
    folder = tmp_path_factory.mktemp("dashboard")
    with socket.socket() as knock:
        knock.bind((HOST, 0))
        free = int(knock.getsockname()[1])
    command = [BAKEOFF, "dashboard", folder, "--no-browser", "--port", str(free)]
    way = f"http://{HOST}:{elsewhere.getsockname()[1]}"
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), way)
    process = subprocess.Popen(
        command,
        env={**os.environ, **proxies, "BAKEOFF_PAGE_TOKEN": TOKEN},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    until = time.monotonic() + LONG
    while not _answers(free):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < until
        time.sleep(0.2)
    yield free
    process.terminate()
    process.communicate(timeout=LONG)


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError):
        return _status(port, f"{HOST}:{port}", "/_stcore/health") == 200
    return False


def _status(port: int, host: str, path: str = "/", *, token: str = TOKEN, **headers: str) -> int:
    link = http.client.HTTPConnection(HOST, port, timeout=LONG)
    try:
        link.request("GET", path, headers={"Host": host, "Cookie": f"bakeoff-{port}={token}", **headers})
        return link.getresponse().status
    finally:
        link.close()


def _talks(port: int, host: str, origin: str | None, token: str = TOKEN) -> bool:
    """Whether the socket over which a page gets all it shows is opened."""
    asked = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
             "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", **({"Origin": origin} if origin else {})}  # fmt: skip
    return _status(port, host, "/_stcore/stream", token=token, **asked) == 101


def test_another_user_of_the_machine_gets_nothing_without_the_token(port: int) -> None:
    own = f"{HOST}:{port}"
    for path in ("/", "/?token=guess", "/_stcore/host-config", "/media/x", "/static/index.html"):
        assert _status(port, own, path, token="guess") == 403, path
    assert _status(port, own, f"/?token={TOKEN}", token="guess") == 200
    assert not _talks(port, own, f"http://{own}", token="guess")


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_its_own_page_is_served(port: int, name: str) -> None:
    own = f"{name}:{port}"
    assert _status(port, own) == 200
    assert _talks(port, own, f"http://{own}")


@pytest.mark.parametrize(
    "name", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evil.example@127.0.0.1"]
)
def test_a_foreign_name_that_leads_here_gets_nothing(port: int, name: str) -> None:
    """DNS rebinding: to the browser it is the same origin, so only the Host tells."""
    foreign = f"{name}:{port}"
    assert not _talks(port, foreign, f"http://{foreign}")
    for path in ("/", "/_stcore/health", "/_stcore/host-config", "/media/x", "/static/index.html"):
        assert _status(port, foreign, path) == 403, path


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "https://{own}", "http://localhost:1", "null", "http://{own}.evil.example"],
)
def test_another_origin_gets_nothing(port: int, origin: str) -> None:
    """Also another port of this machine, where somebody else's page may be."""
    own = f"{HOST}:{port}"
    assert not _talks(port, own, origin.format(own=own))
    assert _status(port, own, Origin=origin.format(own=own)) == 403


def test_a_host_said_twice_is_refused(port: int) -> None:
    with socket.create_connection((HOST, port), LONG) as link:
        link.sendall(
            f"GET / HTTP/1.1\r\nHost: {HOST}:{port}\r\nHost: evil.example\r\nConnection: close\r\n\r\n".encode()
        )
        assert link.recv(64).split()[1] in (b"400", b"403")


@pytest.mark.parametrize(
    "path",
    ["/../../../../etc/passwd", "/static/../../../../../etc/passwd", "/media/..%2f..%2f..%2fetc%2fpasswd",
     "/app/static/..%2f..%2fapp.py", "/component/x/..%2f..%2f..%2f..%2fetc/passwd", "//etc/passwd"],
)  # fmt: skip
def test_no_path_leads_to_a_file(port: int, path: str) -> None:
    link = http.client.HTTPConnection(HOST, port, timeout=LONG)
    link.request("GET", path, headers={"Host": f"{HOST}:{port}"})
    body = link.getresponse().read()
    link.close()
    assert b"root:" not in body and b"import streamlit" not in body


def test_a_foreign_origin_makes_it_ask_nobody(port: int, elsewhere: socket.socket) -> None:
    """Streamlit would look up its public address at another company to compare the origin with."""
    assert not _talks(port, f"{HOST}:{port}", "http://evil.example")
    assert not _talks(port, f"evil.example:{port}", "http://other.example")
    with pytest.raises(BlockingIOError):
        elsewhere.accept()
