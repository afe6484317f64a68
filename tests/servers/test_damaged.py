"""Damaged downloads and strange health pages that once made a server's start fall over."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bakeoff.errors import SettingError
from bakeoff.runtime.servers.base import NOT_YET, get_json
from bakeoff.runtime.servers.maven import _unpack_jars


def test_a_plug_in_that_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "plugin.zip").write_bytes(b"half a downl")
    with pytest.raises(SettingError, match=r"plugin\.zip"):
        _unpack_jars(tmp_path / "plugin.zip", tmp_path)


class Deep(BaseHTTPRequestHandler):
    """Answers with brackets only."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"[" * 100_000)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Requests are no news."""


def test_a_health_page_of_nothing_but_brackets() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Deep) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        with pytest.raises(NOT_YET, match="health page"):
            get_json(f"http://127.0.0.1:{server.server_address[1]}")
        server.shutdown()
