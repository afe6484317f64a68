"""The messages between the driver and its clients, validated on receipt."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bakeoff.benchmark.clients.wire import LostError
from bakeoff.benchmark.open_loop import Arrivals
from bakeoff.benchmark.resources.usage import ResourceUse
from bakeoff.benchmark.results.histogram import LAST, Histogram
from bakeoff.types import JsonObject

M = TypeVar("M", bound="Message")
Number = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""A whole number that fits into arrays; clients are not trusted."""
Times = Annotated[int, Field(ge=0, lt=2**53)]
"""A count."""


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


class ClientCommand(Message):
    """An order to a client: open the target, report the clock, prepare a load, start it, count, stop or leave."""

    do: Literal["open", "clock", "take", "begin", "count", "stop", "go"]
    recipe: JsonObject = Field(default_factory=dict)
    timeout: float = 0.0
    load: LoadShare | None = None
    at: int = 0
    until: int = 0


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


class Ready(Message):
    """The order is done; the client waits."""

    ready: bool


class ClockReply(Message):
    """A client's clock when it received the question and when it replied, and its wall clock."""

    heard: Number
    said: Number
    wall: Number


class ErrorCount(Message):
    """The number of answers in a window."""

    answered: Times


class Buckets(Message):
    """A histogram as plain numbers."""

    buckets: list[Annotated[int, Field(ge=0, lt=LAST)]]
    counts: list[Times]
    missing: Times

    @model_validator(mode="after")
    def _check_pairs(self) -> Buckets:
        if len(self.buckets) != len(self.counts):
            raise ValueError(f"{len(self.buckets)} buckets have {len(self.counts)} counts")
        return self

    @classmethod
    def of(cls, histogram: Histogram) -> Buckets:
        """The numbers of a histogram."""
        return cls(
            buckets=histogram.buckets.tolist(), counts=histogram.counts.tolist(), missing=histogram.missing
        )

    def histogram(self) -> Histogram:
        """The histogram of these numbers."""
        return Histogram(np.asarray(self.buckets, np.int64), np.asarray(self.counts, np.int64), self.missing)


class ClientReport(Message):
    """What one client measured; `began` and `ended` are readings of its clock.

    `due` and `sent_last` are seconds from the begin of an open loop: when its last query was due, and sent.
    """

    began: Number
    ended: Number
    intended: Times
    sent: Times
    answered: Times
    errors: Times
    error: str
    timeouts: Times
    unsent: Times
    short: Times
    total_ns: Number
    drift: float | None
    latency: Buckets
    lag: Buckets | None
    due: float
    sent_last: float
    stopped: str
    use: ResourceUse


ClientCommand.model_rebuild()
