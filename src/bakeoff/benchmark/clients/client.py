"""A load client: it connects to the driver, opens the target and sends its share of the load.

It runs in a separate process, on this machine or another. It receives orders and reports over one connection, as
lines of JSON; what is measured is measured here, on this machine's clock.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.benchmark.clients.client_share import ClientShare
from bakeoff.benchmark.clients.messages import AnswerCount, ClientCommand, ClockReply, Hello, Message, Ready
from bakeoff.benchmark.clients.wire import Line, LostError
from bakeoff.benchmark.load.experiment_targets import SystemRecipe
from bakeoff.benchmark.session import ENGINE_FAULTS
from bakeoff.benchmark.targets import LoadTarget, TargetSpec, VectorRecipe
from bakeoff.errors import BakeoffError, DataError
from bakeoff.pipeline.loops.closed_loop import warm_up
from bakeoff.runtime.scheduler import installed_version
from bakeoff.runtime.signals import Terminated, TerminationGuard
from bakeoff.storage.temp_dir import TempDir
from bakeoff.types import JsonObject

RECIPES: dict[str, type[TargetSpec]] = {one.kind: one for one in (VectorRecipe, SystemRecipe)}
CALL_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Call:
    """The driver's address, the client's token, and the client's number."""

    host: str
    port: int
    word: str = field(repr=False)
    number: int


def main() -> int:
    """A client as a program; its invitation comes on standard input."""
    ending = TerminationGuard()
    ending.listen()
    try:
        call = Call(**json.loads(sys.stdin.readline()))
        work(call)
    except (Terminated, ConnectionRefusedError):  # terminated, or the driver ended before we connected
        return ending.code(1)
    return 0


def work(call: Call) -> None:
    """Serve in this process; a process with a hanging search is not reused."""
    if serve(call):
        os._exit(0)  # a hanging search ends with its process


def serve(call: Call) -> bool:
    """Follow the driver's orders until it releases the client; True if a search still hangs."""
    link = socket.create_connection((call.host, call.port), CALL_SECONDS)
    with TempDir("client") as home:
        client = Client(Line(link), home)
        try:
            client.say(
                Hello(
                    word=call.word,
                    number=call.number,
                    host=socket.gethostname(),
                    pid=os.getpid(),
                    version=installed_version(),
                )
            )
            client.obey()
        except LostError:
            pass  # the driver is gone
        finally:
            client.close()
    return client.hung


class Client:
    """One client's side of the conversation; a separate thread listens, so that a stop works during a load."""

    def __init__(self, line: Line, home: Path) -> None:
        self._line, self._home = line, home
        self._orders: queue.Queue[tuple[int, ClientCommand] | None] = queue.Queue()
        self._halt = threading.Event()
        self._target: LoadTarget | None = None
        self._asking: ClientShare | None = None
        self.hung = False
        threading.Thread(target=self._listen, daemon=True).start()

    def say(self, message: Message) -> None:
        """Send a message to the driver."""
        self._line.say(message.model_dump())

    def obey(self) -> None:
        """Run orders in turn; report a failure and let the driver decide."""
        while (heard := self._orders.get()) is not None and heard[1].do != "go":
            try:
                self._do(*heard)
            except BakeoffError as exc:
                self._line.say({"failed": str(exc)})
            except ENGINE_FAULTS as exc:
                self._line.say({"failed": f"{type(exc).__name__}: {exc}"})

    def close(self) -> None:
        """Close the target, unless a search still hangs in it, and the connection."""
        if self._target is not None and not self.hung:
            self._target.close()
        self._line.close()

    def _listen(self) -> None:
        try:
            while True:
                order = ClientCommand.read(self._line.hear(None))
                if order.do == "stop":
                    self._halt.set()
                else:
                    self._orders.put((self._line.heard_at, order))
        except LostError:
            self._halt.set()
            self._orders.put(None)

    def _do(self, heard_at: int, order: ClientCommand) -> None:
        if order.do == "clock":
            self.say(ClockReply(heard=heard_at, wall=time.time_ns(), said=time.perf_counter_ns()))
        elif order.do == "open":
            self._open(order)
        elif order.do == "take" and order.load is not None:
            self._asking = ClientShare(self._open_target(), order.load)
            self.say(Ready(ready=True))
        elif order.do == "begin":
            self._begin(order.at)
        elif order.do == "count" and self._asking is not None:
            self.say(AnswerCount(answered=self._asking.answered_in(order.at, order.until)))

    def _open(self, order: ClientCommand) -> None:
        self._target = target = open_recipe(dict(order.recipe), self._home)
        warm_up(target.search, target.others, target.k, target.query, timeout=order.timeout)
        self.say(Ready(ready=True))

    def _begin(self, at: int) -> None:
        assert self._asking is not None
        report = self._asking.run(at, self._halt)
        self.hung = self.hung or self._asking.hung
        self.say(report)

    def _open_target(self) -> LoadTarget:
        assert self._target is not None
        return self._target


def open_recipe(recipe: JsonObject, home: Path) -> LoadTarget:
    """The target of a recipe, opened in this process."""
    kind = recipe.pop("kind", None)
    if kind not in RECIPES:
        raise DataError(f"a client got a recipe of the kind {kind!r}.")
    return RECIPES[kind](**recipe).open(home)


if __name__ == "__main__":
    sys.exit(main())
