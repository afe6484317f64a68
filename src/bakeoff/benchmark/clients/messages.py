"""The messages between the driver and its clients, validated on receipt."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bakeoff.benchmark.clients.wire import LostError
from bakeoff.benchmark.open_loop import Arrivals
from bakeoff.types import JsonObject

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
