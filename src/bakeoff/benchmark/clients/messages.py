"""The messages between the driver and its clients: lines of JSON over TCP, validated on receipt, never code."""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import threading
import time
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bakeoff.benchmark.open_loop import Arrivals
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

    def send(self, value: JsonObject) -> None:
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


Clock = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""A reading of a clock that fits into arrays; clients are not trusted."""
Count = Annotated[int, Field(ge=0, lt=2**53)]


class Message(BaseModel):
    """One line."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def read(cls, value: JsonObject) -> Self:
        """The message in a line; a client that cannot continue sends `failed`."""
        try:
            return cls.model_validate(value)
        except ValidationError as exc:
            first = exc.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise LostError(f"it sent an unknown message ({where}: {first['msg']})") from exc


class Hello(Message):
    """A client's first line: its token, its number, and its version and host."""

    word: str
    number: int
    host: str
    pid: int
    version: str


class LoadShare(Message):
    """A load and a client's part of it; `null` queries the null store, to measure the harness overhead.

    A closed loop lasts `seconds`, or asks `requests` queries, with `threads` over all clients; an open one has a rate
    for `seconds` and `threads` in each client.
    """

    number: int
    clients: int
    threads: int
    timeout: float
    deadline: float
    requests: int = 0
    rate: float | None = None
    seconds: float = 0.0
    arrivals: Arrivals = "poisson"
    seed: int = 0
    null: bool = False


class ClientCommand(Message):
    """An order to a client: open the target, report the clock, prepare a load, start it, count, stop or leave."""

    do: Literal["open", "clock", "take", "begin", "count", "stop", "go"]
    recipe: JsonObject = Field(default_factory=dict)
    timeout: float = 0.0
    load: LoadShare | None = None
    at: int = 0
    until: int = 0


class Ready(Message):
    """The order is done; the client waits."""

    ready: bool


class ClockReply(Message):
    """A client's clock when it received the question and when it replied, and its wall clock."""

    heard: Clock
    said: Clock
    wall: Clock


class AnswerCount(Message):
    """The number of answers in a window."""

    answered: Count
