"""Lines of JSON between the driver and a client, over TCP: messages are data, never code."""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import threading
import time

from bakeoff.errors import StoreError
from bakeoff.types import JsonObject

FIRST_BYTES = 4_096
"""The longest line accepted before authentication."""
MOST_BYTES = 256_000_000
PIECE = 1 << 16
QUIET_SECONDS = 15
"""After this silence, TCP keep-alive checks whether the other machine is still there."""


class LostError(StoreError):
    """The other side is gone or silent for too long."""


class Line:
    """One connection; `heard_at` is our clock when the last line arrived."""

    def __init__(self, link: socket.socket, longest: int = MOST_BYTES) -> None:
        self._link, self._rest, self.longest = link, bytearray(), longest
        self.heard_at = 0
        self._hearing, self._closed = threading.Lock(), False
        link.setblocking(True)  # one thread may send while another waits, so they share no timeout
        self._waiting = selectors.DefaultSelector()
        self._waiting.register(link, selectors.EVENT_READ)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (("TCP_KEEPIDLE", QUIET_SECONDS), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
            if hasattr(socket, name):
                link.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def say(self, value: JsonObject) -> None:
        """Send one line."""
        try:
            self._link.sendall(json.dumps(value).encode() + b"\n")
        except OSError as exc:
            raise LostError(f"the connection broke ({type(exc).__name__})") from exc

    def hear(self, seconds: float | None) -> dict[str, object]:
        """The next line, within a time limit."""
        try:
            with self._hearing:
                line = self._read(None if seconds is None else time.monotonic() + seconds)
        except TimeoutError as exc:
            raise LostError(f"it sent nothing for {seconds:g} s") from exc
        except OSError as exc:
            raise LostError(f"the connection broke ({type(exc).__name__})") from exc
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as exc:
            raise LostError("it sent invalid JSON") from exc
        if not isinstance(value, dict):
            raise LostError("it sent JSON that is not an object")
        return value

    def close(self) -> None:
        """Close the connection and wake up any waiting thread."""
        self._closed = True
        with contextlib.suppress(OSError):  # the other side closed it first
            self._link.shutdown(socket.SHUT_RDWR)
        with self._hearing:  # closing a socket does not wake a thread that is about to wait on it
            self._waiting.close()
            self._link.close()

    def _read(self, until: float | None) -> bytes:
        begin = 0
        while (end := self._rest.find(b"\n", begin)) < 0:
            begin = len(self._rest)
            if self._closed:
                raise LostError("its connection was closed here")
            if not self._waiting.select(None if until is None else max(until - time.monotonic(), 0.0)):
                raise TimeoutError
            piece = self._link.recv(PIECE)
            self.heard_at = time.perf_counter_ns()
            if not piece:
                raise LostError("its connection ended")
            self._rest += piece
            if len(self._rest) > self.longest:
                raise LostError(f"it sent a line of more than {self.longest:,} bytes")
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        return line
