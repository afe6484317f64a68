"""The closed loop with client processes: each opens the target for itself, and all begin at one moment."""

from __future__ import annotations

import contextlib
import json
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bakeoff.errors import StoreError
from bakeoff.load.clock import Loop
from bakeoff.load.resources import Sampler
from bakeoff.load.targets import Recipe
from bakeoff.load.workers import INTERRUPTED, PATIENCE_SECONDS

OPENING_SECONDS = 300.0
LEAD_SECONDS = 0.2
"""Between the word to begin and the begin, so that every client has heard it."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A loop of several processes; `short` answers had fewer rows than asked for."""

    loop: Loop
    short: int


def process_loop(
    recipe: Recipe,
    requests: int,
    clients: int,
    *,
    timeout: float,
    deadline: float,
    sampler: Sampler | None = None,
) -> Shared:
    """So many requests, shared by client processes; opening and warming up are not in the time."""
    task = {
        "recipe": recipe.to_dict(), "requests": requests, "clients": clients, "timeout": timeout, "deadline": deadline,
    }  # fmt: skip
    with _team(task, clients, sampler) as team:
        for client in team:
            client.hear(OPENING_SECONDS)
        begin = time.perf_counter_ns() + int(LEAD_SECONDS * 1e9)
        for client in team:
            client.say({"begin": begin})
        answers = _collected(team, deadline + timeout + OPENING_SECONDS)
    return _joined(answers, requests, clients)


class _Client:
    """One process and the lines it says."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bakeoff.load.client"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C comes to us, and we tell them
        )
        self._heard: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self.say(task)

    def say(self, value: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it ended; what it said is heard below
            self.process.stdin.write(json.dumps(value) + "\n")
            self.process.stdin.flush()

    def hear(self, seconds: float) -> dict[str, Any]:
        """The next line; an end without one, or a failure it tells, is the store's failure."""
        try:
            line = self._heard.get(timeout=seconds)
        except queue.Empty as exc:
            raise StoreError(f"a client process did not answer within {seconds:g} s.") from exc
        if not line:
            raise StoreError(f"a client process ended with exit code {self.process.wait()}.")
        said: dict[str, Any] = json.loads(line)
        if "failed" in said:
            raise StoreError(f"a client process could not go on: {said['failed']}")
        return said

    def stop(self) -> None:
        """End the process, whatever it does."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with contextlib.suppress(ValueError):  # the pipe was closed on our side
            for line in self.process.stdout:
                self._heard.put(line)
        self._heard.put("")


@contextlib.contextmanager
def _team(task: dict[str, Any], clients: int, sampler: Sampler | None) -> Iterator[list[_Client]]:
    team: list[_Client] = []
    try:
        for number in range(clients):
            team.append(_Client({**task, "number": number}))
            if sampler is not None:
                sampler.is_client(team[-1].process.pid)
        yield team
    finally:
        for client in team:
            client.stop()


def _collected(team: list[_Client], seconds: float) -> list[dict[str, Any]]:
    """Every client's result; Ctrl-C is passed on, and what they have by then is kept."""
    found: list[dict[str, Any]] = []
    try:
        for client in team:
            found.append(client.hear(seconds))
    except KeyboardInterrupt:
        for client in team:
            client.process.send_signal(signal.SIGINT)
        for client in team[len(found) :]:
            with contextlib.suppress(StoreError):
                found.append(client.hear(PATIENCE_SECONDS * 2))
        if not found:
            raise
        found[-1]["stopped"] = INTERRUPTED
    return found


def _joined(answers: list[dict[str, Any]], requests: int, clients: int) -> Shared:
    """One loop of the clients' loops; wall time is from the first begin to the last end."""
    nanoseconds = np.concatenate([np.asarray(one["nanoseconds"], np.int64) for one in answers])
    began = min(one["began"] for one in answers)
    ended = max(one["began"] + one["seconds"] * 1e9 for one in answers)
    loop = Loop(
        nanoseconds,
        (None,) * min(requests, len(nanoseconds)),
        (ended - began) / 1e9,
        clients,
        tuple(error for one in answers for error in one["errors"]),
        sum(one["timeouts"] for one in answers),
        next((one["stopped"] for one in answers if one["stopped"]), ""),
        began,
    )
    return Shared(loop, sum(one["short"] for one in answers))
